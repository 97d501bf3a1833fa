// Package view has the data of the page of plimsoll ui, as its server sends it: JSON, with times in milliseconds since
// 1970. Unknown values are absent. The package has only types and conversions: it reads nothing.
//
//   - GET /api/overview?since=REVISION answers with an Overview.
//   - GET /api/object?kind=KIND&namespace=NAMESPACE&name=NAME&last=DURATION answers with an Object.
//   - POST /api/whatif takes a WhatIfRequest and answers with a WhatIf; its Content-Type is application/json.
//
// An error is text: one sentence for the reader, with a status of 4xx or 5xx.
package view

import (
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// Overview has the autoscalers of a cluster, or those that have changed since an earlier revision.
type Overview struct {
	// Context is the kubeconfig's context, Namespace the one namespace that is shown; empty for all.
	Context   string `json:"context"`
	Namespace string `json:"namespace,omitempty"`
	Now       int64  `json:"now"`
	Revision  int64  `json:"revision"`
	// IsWhole is set if all rows are included, so that any other row is gone.
	IsWhole bool  `json:"whole"`
	Rows    []Row `json:"rows"`
	// Removed has the IDs of rows that are gone since.
	Removed []string `json:"removed"`
	Notes   []Note   `json:"notes"`
}

// Note describes data that is not shown, and why.
type Note struct {
	What string `json:"what"`
	Why  string `json:"why"`
	// IsPending is set if it is being read.
	IsPending bool `json:"pending,omitempty"`
}

// Health is the state of an autoscaler by its conditions.
type Health string

// The values of Health, from best to worst.
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
	// Target is in the form Deployment/web.
	Target string `json:"target"`
	Min    *int32 `json:"min,omitempty"`
	Max    *int32 `json:"max,omitempty"`
	// Desired is the last decided count, Current the one that the target had then; absent without a decision.
	Desired *int32 `json:"desired,omitempty"`
	Current *int32 `json:"current,omitempty"`
	// Ready is the number of ready pods of the target; absent if unknown.
	Ready *int32 `json:"ready,omitempty"`
	// Load is the metric with the highest ratio to its target.
	Load *Load `json:"load,omitempty"`
	// Limit is the limit that keeps the desired count from the metrics' proposal; absent if there is none.
	Limit *Limit `json:"limit,omitempty"`
	// Mode is a VerticalPodAutoscaler's updateMode, or a WorkloadAutoscaler's mode if that is not Active.
	Mode   string `json:"mode,omitempty"`
	Health Health `json:"health"`
	// Says is the message of the condition that determines Health.
	Says string `json:"says,omitempty"`
	// Scaled is when the count was last changed.
	Scaled int64 `json:"scaled,omitempty"`
	// Counts has the desired counts since this server has watched, each with its start time.
	Counts []Count `json:"counts,omitempty"`
}

// Limit is a limit of a count: a reason of an HPA's conditions, or the name of a WorkloadAutoscaler's limit, and its
// message.
type Limit struct {
	Name string `json:"name"`
	Says string `json:"says,omitempty"`
}

// Load is a metric's current value in relation to its target.
type Load struct {
	Metric string `json:"metric,omitempty"`
	// Ratio is 1 at the target.
	Ratio *float64 `json:"ratio,omitempty"`
	// Text is in kubectl's format: 83%/50%; it has all metrics if Metric is empty.
	Text string `json:"text"`
}

// Count is a desired count, and the load at that time.
type Count struct {
	At      int64    `json:"at"`
	Desired int32    `json:"desired"`
	Current int32    `json:"current"`
	Ratio   *float64 `json:"ratio,omitempty"`
}

// Object has all data about one autoscaler. Data that could not be read is absent, and Notes say why.
type Object struct {
	Row Row   `json:"row"`
	Now int64 `json:"now"`
	// Summary is the decision in one sentence; absent if there is none.
	Summary string `json:"summary,omitempty"`
	// Lines has the output of plimsoll explain; Unexplained is why there is none.
	Lines       []output.Line `json:"lines"`
	Unexplained string        `json:"unexplained,omitempty"`
	// History has the output of plimsoll explain --last; Unrecorded is why there is none.
	History    *loadreport.Output `json:"history,omitempty"`
	Unrecorded string             `json:"unrecorded,omitempty"`
	// Metrics has those of the decision that Lines explain, in the order of the object's spec.
	Metrics []Metric `json:"metrics,omitempty"`
	// Forecast is the expected load; absent without a forecast.
	Forecast *Forecast `json:"forecast,omitempty"`
	// Until is the end of the time axis, some time after Now.
	Until int64 `json:"until"`
	// Bounds has minReplicas and maxReplicas from the start of the history to Until, by the present object, oldest first.
	Bounds []Bound `json:"bounds,omitempty"`
	// Ahead has the future replica counts if the load does not change, oldest first.
	Ahead []Ahead `json:"ahead,omitempty"`
	// Events has the API's events about the object, oldest first. The event of a scale has the reason in its message.
	Events []Event `json:"events,omitempty"`
	// Findings has those of plimsoll advise about the object and its target, the worst first; absent if unknown, and empty
	// if there are none.
	Findings *[]Finding `json:"findings,omitempty"`
	// Vertical is set for a VerticalPodAutoscaler only.
	Vertical *Vertical `json:"vertical,omitempty"`
	// Notes lists data that could not be read.
	Notes []Note `json:"notes"`
	// Manifest is YAML, without managedFields.
	Manifest string `json:"manifest,omitempty"`
}

// Metric is one metric of a decision.
type Metric struct {
	Name string `json:"name"`
	// Ratio is the value divided by the target.
	Ratio *float64 `json:"ratio,omitempty"`
	// Replicas is the metric's proposal.
	Replicas *int32 `json:"replicas,omitempty"`
	// Failure is why there is no value.
	Failure string `json:"failure,omitempty"`
	// Counted is the number of pods that count, if the metric counts them. SetAside has those that do not.
	Counted  *int       `json:"counted,omitempty"`
	SetAside []SetAside `json:"setAside,omitempty"`
}

// SetAside is a pod that does not count for a metric, and why.
type SetAside struct {
	Pod string `json:"pod"`
	Why string `json:"why"`
}

// Bound has minReplicas and maxReplicas from a time on, and the names of the schedules in force then.
type Bound struct {
	At        int64    `json:"at"`
	Min       int32    `json:"min"`
	Max       int32    `json:"max"`
	Schedules []string `json:"schedules,omitempty"`
}

// Expected is the expected load in the minute that begins then, in pods at the target. Upper adds the mean error of
// that minute of the day.
type Expected struct {
	At    int64   `json:"at"`
	Mean  float64 `json:"mean"`
	Upper float64 `json:"upper"`
}

// Forecast is the forecast of a horizontal autoscaler.
type Forecast struct {
	Mode string `json:"mode"`
	// Text is the reason of the forecast, as plimsoll explain prints it.
	Text string `json:"text"`
	// Until is the end of the time in which Expected is the highest load, in pods at the target; absent while the forecast
	// learns.
	Until    int64    `json:"until"`
	Expected *float64 `json:"expected,omitempty"`
	// Replicas is the forecast's proposal, 0 if it has none.
	Replicas int32 `json:"replicas"`
	// Curve is the expected load of each minute up to the end of the time axis; absent if unknown.
	Curve []Expected `json:"curve,omitempty"`
}

// Ahead is a future replica count, and the name of its limit.
type Ahead struct {
	At       int64  `json:"at"`
	Replicas int32  `json:"replicas"`
	Limit    string `json:"limit"`
}

// Event is an event of the API about the object.
type Event struct {
	At int64 `json:"at"`
	// Type is Normal or Warning.
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Count is the number of times it happened, at least 1; At is the last time.
	Count int32 `json:"count"`
}

// Finding is a finding of plimsoll advise.
type Finding struct {
	Rule string `json:"rule"`
	// Level is error, warning or advice.
	Level  string `json:"level"`
	Title  string `json:"title"`
	Object string `json:"object"`
	Field  string `json:"field,omitempty"`
	Why    string `json:"why"`
	Remedy string `json:"remedy,omitempty"`
	// Command is a complete command that fixes it; empty if the fix changes no object of the cluster. Patch is the same as
	// YAML; empty if there is none.
	Command string `json:"command,omitempty"`
	Patch   string `json:"patch,omitempty"`
}

// Vertical has the recommendations of a VerticalPodAutoscaler, and their effect on its pods.
type Vertical struct {
	Mode       string              `json:"mode"`
	Containers []VerticalContainer `json:"containers"`
	Pods       []VerticalPod       `json:"pods"`
	// Updater describes the updater and its next pass, one sentence in each line.
	Updater []string `json:"updater,omitempty"`
}

// VerticalContainer is a container of the target.
type VerticalContainer struct {
	Name string `json:"name"`
	// Samples is the number of CPU samples behind the recommendation.
	Samples   int                `json:"samples"`
	Resources []VerticalResource `json:"resources"`
}

// VerticalResource is the CPU, in cores, or the memory, in bytes, of a container.
type VerticalResource struct {
	// Name is cpu or memory.
	Name string `json:"name"`
	// Target, Lower, Upper and Uncapped are those in the object's status.
	Target   *float64 `json:"target,omitempty"`
	Lower    *float64 `json:"lower,omitempty"`
	Upper    *float64 `json:"upper,omitempty"`
	Uncapped *float64 `json:"uncapped,omitempty"`
	// Histogram is that of the use; absent if no checkpoint has one. Bars are in the order of their bounds.
	Histogram []Bar `json:"histogram,omitempty"`
	// Percentiles are those of the histogram's use.
	Percentiles []Percentile `json:"percentiles,omitempty"`
	// Requests has the present requests of the pods, each value once.
	Requests []float64 `json:"requests,omitempty"`
}

// Bar is a bucket of a histogram: samples above From and not above To, in cores or bytes. Weight is their part of all
// samples, from 0 to 1.
type Bar struct {
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Weight float64 `json:"weight"`
}

// Percentile is the amount, in cores or bytes, that a part of the samples did not exceed.
type Percentile struct {
	// Percent is from 0 to 100.
	Percent float64 `json:"percent"`
	Value   float64 `json:"value"`
}

// VerticalPod is a pod, and the updater's decision on it.
type VerticalPod struct {
	Name string `json:"name"`
	// Requests has the requests of its containers, as text.
	Requests string `json:"requests"`
	// Says has the sentences of plimsoll explain about it.
	Says []string `json:"says"`
}

// WhatIfRequest is the body of POST /api/whatif: other settings for a HorizontalPodAutoscaler or a WorkloadAutoscaler.
type WhatIfRequest struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// LastSeconds is the length of the simulated load, up to now: 60 s to 15 days; 0 means a day.
	LastSeconds int64   `json:"lastSeconds,omitempty"`
	Changes     Changes `json:"changes"`
}

// Changes has the changed settings. Absent ones stay the same.
type Changes struct {
	MinReplicas *int32         `json:"minReplicas,omitempty"`
	MaxReplicas *int32         `json:"maxReplicas,omitempty"`
	Targets     []TargetChange `json:"targets,omitempty"`
	// Behavior is spec.behavior in YAML. Schedules is spec.schedules in YAML, for a WorkloadAutoscaler only.
	Behavior  string `json:"behavior,omitempty"`
	Schedules string `json:"schedules,omitempty"`
}

// TargetChange is another target of a metric.
type TargetChange struct {
	// Metric is the index in spec.metrics.
	Metric int `json:"metric"`
	// Value is a percentage as a number if the target is a utilization, and a quantity otherwise.
	Value string `json:"value"`
}

// WhatIf is a simulation of the recorded load with the present object and with the changed one.
type WhatIf struct {
	// From is when the load begins; StepMillis is the time between two points of the series.
	From       int64 `json:"from"`
	StepMillis int64 `json:"stepMillis"`
	// Load is in pods at the target of the present object.
	Load    []float64 `json:"load"`
	AsIs    Played    `json:"asIs"`
	Changed Played    `json:"changed"`
	// Patch is a JSON patch, Command the kubectl command that applies it.
	Patch   string `json:"patch"`
	Command string `json:"command"`
	// Warning is why the measures may mislead, or why they are the same; empty otherwise.
	Warning string `json:"warning,omitempty"`
	// Notes has the assumptions, as plimsoll simulate prints them.
	Notes []string `json:"notes"`
}

// Played is a setting, and its result under the load.
type Played struct {
	Desired []int32 `json:"desired"`
	Ready   []int32 `json:"ready"`
	// PodHours is the cost in pod-hours. ShortPercent is the part of the time, 0 to 100, in which the load exceeded the
	// capacity of the ready pods by their requests; LongestShortSeconds the longest such time. AboveTargetPercent is the
	// part in which the load was above the target of the present object by more than its tolerance, and AboveAtMaxPercent
	// the part in which it was although as many pods as maxReplicas were ready.
	PodHours            float64 `json:"podHours"`
	AboveTargetPercent  float64 `json:"aboveTargetPercent"`
	AboveAtMaxPercent   float64 `json:"aboveAtMaxPercent"`
	ShortPercent        float64 `json:"shortPercent"`
	LongestShortSeconds float64 `json:"longestShortSeconds"`
	// Actions are changes of the wanted count.
	Actions int `json:"actions"`
}
