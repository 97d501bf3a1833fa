// Package view has what the page of plimsoll ui shows, as its server sends it: JSON, times in milliseconds since 1970.
// What is not known is absent.
package view

import (
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
)

// Overview are the autoscalers of a cluster, or those that have changed since an earlier revision.
type Overview struct {
	// Context is the kubeconfig's context, Namespace the one namespace that is shown; empty for all.
	Context   string `json:"context"`
	Namespace string `json:"namespace,omitempty"`
	Now       int64  `json:"now"`
	Revision  int64  `json:"revision"`
	// IsWhole says that all rows are here, and what is not here is not there.
	IsWhole bool  `json:"whole"`
	Rows    []Row `json:"rows"`
	// Removed are the IDs of rows that are gone since.
	Removed []string `json:"removed"`
	Notes   []Note   `json:"notes"`
}

// Note says what is not shown, and why.
type Note struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Health is how well an autoscaler does, by its conditions.
type Health string

// What Health may be, from best to worst.
const (
	OK      Health = "ok"
	Unknown Health = "unknown"
	Warning Health = "warning"
	Problem Health = "problem"
)

// Row is an autoscaler.
type Row struct {
	// ID is Kind/Namespace/Name.
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Target is as Deployment/web.
	Target string `json:"target"`
	Min    *int32 `json:"min,omitempty"`
	Max    *int32 `json:"max,omitempty"`
	// Desired is the count that was last decided, Current the one that the target had then.
	Desired *int32 `json:"desired,omitempty"`
	Current *int32 `json:"current,omitempty"`
	// Load is the metric that is highest against its target.
	Load *Load `json:"load,omitempty"`
	// Mode is a VerticalPodAutoscaler's updateMode, or a WorkloadAutoscaler's mode if that is not Active.
	Mode   string `json:"mode,omitempty"`
	Health Health `json:"health"`
	// Says is the message of the condition that Health comes from.
	Says string `json:"says,omitempty"`
	// Scaled is when the count was last changed.
	Scaled int64 `json:"scaled,omitempty"`
	// Counts are the desired counts since this server has watched, each from its time on.
	Counts []Count `json:"counts,omitempty"`
}

// Load is a metric's current value against its target.
type Load struct {
	Metric string `json:"metric,omitempty"`
	// Ratio is 1 at the target.
	Ratio *float64 `json:"ratio,omitempty"`
	// Text is as kubectl prints it: 83%/50%; all metrics where Metric is empty.
	Text string `json:"text"`
}

// Count is a desired count, and the load that was seen with it.
type Count struct {
	At      int64    `json:"at"`
	Desired int32    `json:"desired"`
	Current int32    `json:"current"`
	Ratio   *float64 `json:"ratio,omitempty"`
}

// Object is all about one autoscaler.
type Object struct {
	Row Row   `json:"row"`
	Now int64 `json:"now"`
	// Lines are what plimsoll explain prints; Unexplained is why there are none.
	Lines       []Line `json:"lines"`
	Unexplained string `json:"unexplained,omitempty"`
	// History is what plimsoll explain --last prints; Unrecorded is why there is none.
	History    *loadreport.Output `json:"history,omitempty"`
	Unrecorded string             `json:"unrecorded,omitempty"`
	// Manifest is YAML, without managedFields.
	Manifest string `json:"manifest,omitempty"`
}

// Line is one of an explanation: what it is about, and what it says.
type Line struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}
