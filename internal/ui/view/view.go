// Package view has what the page of plimsoll ui shows, as its server sends it: JSON, times in milliseconds since 1970.
// What is not known is absent. Types and conversions alone: it reads nothing.
//
//   - GET /api/overview?since=REVISION answers with an Overview.
//   - GET /api/object?kind=KIND&namespace=NAMESPACE&name=NAME&last=DURATION answers with an Object.
//   - POST /api/whatif takes a WhatIfRequest and answers with a WhatIf; its Content-Type is application/json.
//
// An error is text: one sentence for the reader, with a status of 4xx or 5xx.
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
	// IsWhole is set if all rows are here, and what is not here is not there.
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
	// IsPending is set if it is being read.
	IsPending bool `json:"pending,omitempty"`
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
	// Desired is the count that was last decided, Current the one that the target had then; absent where none was.
	Desired *int32 `json:"desired,omitempty"`
	Current *int32 `json:"current,omitempty"`
	// Ready is how many pods of the target are ready; absent where that is not known.
	Ready *int32 `json:"ready,omitempty"`
	// Load is the metric that is highest against its target.
	Load *Load `json:"load,omitempty"`
	// Limit is what keeps the desired count from what the metrics ask for; absent where nothing does.
	Limit *Limit `json:"limit,omitempty"`
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

// Limit is what limits a count: a reason of an HPA's conditions, or the name of a WorkloadAutoscaler's limit, and what
// that says.
type Limit struct {
	Name string `json:"name"`
	Says string `json:"says,omitempty"`
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

// Object is all about one autoscaler. What could not be read is absent, and Notes say why.
type Object struct {
	Row Row   `json:"row"`
	Now int64 `json:"now"`
	// Summary is the decision in one sentence; absent where there is none.
	Summary string `json:"summary,omitempty"`
	// Lines are what plimsoll explain prints; Unexplained is why there are none.
	Lines       []Line `json:"lines"`
	Unexplained string `json:"unexplained,omitempty"`
	// History is what plimsoll explain --last prints; Unrecorded is why there is none.
	History    *loadreport.Output `json:"history,omitempty"`
	Unrecorded string             `json:"unrecorded,omitempty"`
	// Metrics are those of the decision that Lines explain, in the order of the object's spec.
	Metrics []Metric `json:"metrics,omitempty"`
	// Forecast is what is expected of the load; absent where there is no forecast.
	Forecast *Forecast `json:"forecast,omitempty"`
	// Until is where the time axis ends: a while after Now.
	Until int64 `json:"until"`
	// Bounds are minReplicas and maxReplicas from the begin of the history to Until, by the object as it is now, oldest
	// first.
	Bounds []Bound `json:"bounds,omitempty"`
	// Ahead are the replica counts to come if the load stays as it is, oldest first.
	Ahead []Ahead `json:"ahead,omitempty"`
	// Events are those of the API about the object, oldest first. A scale has its reason in its message.
	Events []Event `json:"events,omitempty"`
	// Findings are those of plimsoll advise about the object and its target, the worst first; absent where they are not
	// known, and empty where nothing was found.
	Findings *[]Finding `json:"findings,omitempty"`
	// Vertical is set for a VerticalPodAutoscaler, and for nothing else.
	Vertical *Vertical `json:"vertical,omitempty"`
	// Notes say what could not be read.
	Notes []Note `json:"notes"`
	// Manifest is YAML, without managedFields.
	Manifest string `json:"manifest,omitempty"`
}

// Metric is one metric of a decision.
type Metric struct {
	Name string `json:"name"`
	// Ratio is the value against the target, 1 at the target.
	Ratio *float64 `json:"ratio,omitempty"`
	// Replicas is the count that the metric asks for.
	Replicas *int32 `json:"replicas,omitempty"`
	// Failure is why there is no value.
	Failure string `json:"failure,omitempty"`
	// Counted is how many pods count, if the metric counts them. SetAside are those that do not.
	Counted  *int       `json:"counted,omitempty"`
	SetAside []SetAside `json:"setAside,omitempty"`
}

// SetAside is a pod that does not count for a metric, and why.
type SetAside struct {
	Pod string `json:"pod"`
	Why string `json:"why"`
}

// Bound are the least and the most replicas from a time on, and the names of the schedules in force then.
type Bound struct {
	At        int64    `json:"at"`
	Min       int32    `json:"min"`
	Max       int32    `json:"max"`
	Schedules []string `json:"schedules,omitempty"`
}

// Expected is what is expected of the load in the minute that begins then, in pods at the target. Upper has the mean
// error of that minute of the day on top.
type Expected struct {
	At    int64   `json:"at"`
	Mean  float64 `json:"mean"`
	Upper float64 `json:"upper"`
}

// Forecast is what is expected of the load of a horizontal autoscaler.
type Forecast struct {
	Mode string `json:"mode"`
	// Text is the reason of the forecast, as plimsoll explain prints it.
	Text string `json:"text"`
	// Until is up to when Expected is the most load, in pods at the target; absent while the forecast learns.
	Until    int64    `json:"until"`
	Expected *float64 `json:"expected,omitempty"`
	// Replicas is what the forecast proposes, 0 if it proposes nothing.
	Replicas int32 `json:"replicas"`
	// Curve is what is expected of each minute up to the end of the time axis; absent where that is not known.
	Curve []Expected `json:"curve,omitempty"`
}

// Ahead is a replica count to come, and the name of what limits it.
type Ahead struct {
	At       int64  `json:"at"`
	Replicas int32  `json:"replicas"`
	Limit    string `json:"limit"`
}

// Event is one of the API server's about the object.
type Event struct {
	At int64 `json:"at"`
	// Type is Normal or Warning.
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Count is how often it happened, at least 1; At is the last time.
	Count int32 `json:"count"`
}

// Finding is one of plimsoll advise.
type Finding struct {
	Rule string `json:"rule"`
	// Level is error, warning or advice.
	Level  string `json:"level"`
	Title  string `json:"title"`
	Object string `json:"object"`
	Field  string `json:"field,omitempty"`
	Why    string `json:"why"`
	Remedy string `json:"remedy,omitempty"`
	// Command mends it as it is; empty where it is no object of the cluster that is to be changed. Patch is the same as
	// YAML; empty where there is none.
	Command string `json:"command,omitempty"`
	Patch   string `json:"patch,omitempty"`
}

// Vertical is what a VerticalPodAutoscaler recommends, and what becomes of its pods.
type Vertical struct {
	Mode       string              `json:"mode"`
	Containers []VerticalContainer `json:"containers"`
	Pods       []VerticalPod       `json:"pods"`
	// Updater is what is known of the updater and its next pass, one sentence in each line.
	Updater []string `json:"updater,omitempty"`
}

// VerticalContainer is a container of the target.
type VerticalContainer struct {
	Name string `json:"name"`
	// Samples is how many samples of CPU the recommendation is made of.
	Samples   int                `json:"samples"`
	Resources []VerticalResource `json:"resources"`
}

// VerticalResource is the CPU, in cores, or the memory, in bytes, of a container.
type VerticalResource struct {
	// Name is cpu or memory.
	Name string `json:"name"`
	// Target, Lower, Upper and Uncapped are what the object's status publishes.
	Target   *float64 `json:"target,omitempty"`
	Lower    *float64 `json:"lower,omitempty"`
	Upper    *float64 `json:"upper,omitempty"`
	Uncapped *float64 `json:"uncapped,omitempty"`
	// Histogram is of the use; absent where no checkpoint has one. Bars are in the order of their bounds.
	Histogram []Bar `json:"histogram,omitempty"`
	// Percentiles are of the use that the histogram is of.
	Percentiles []Percentile `json:"percentiles,omitempty"`
	// Requests are what the pods request now, each value once.
	Requests []float64 `json:"requests,omitempty"`
}

// Bar is a bucket of a histogram: what was above From and not above To, in cores or bytes. Weight is the part of all
// samples, from 0 to 1.
type Bar struct {
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Weight float64 `json:"weight"`
}

// Percentile is how much was not exceeded by a part of the samples, in cores or bytes.
type Percentile struct {
	// Percent is from 0 to 100.
	Percent float64 `json:"percent"`
	Value   float64 `json:"value"`
}

// VerticalPod is a pod, and what the updater would do with it.
type VerticalPod struct {
	Name string `json:"name"`
	// Requests is what its containers request, as text.
	Requests string `json:"requests"`
	// Says are the sentences of plimsoll explain about it.
	Says []string `json:"says"`
}

// WhatIfRequest is the body of POST /api/whatif: other settings for a HorizontalPodAutoscaler or a WorkloadAutoscaler.
type WhatIfRequest struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// LastSeconds is how much of the recorded load is played, up to now; 0 is a day. It is 60 s to 15 days.
	LastSeconds int64   `json:"lastSeconds,omitempty"`
	Changes     Changes `json:"changes"`
}

// Changes are what is different. What is absent stays as it is.
type Changes struct {
	MinReplicas *int32         `json:"minReplicas,omitempty"`
	MaxReplicas *int32         `json:"maxReplicas,omitempty"`
	Targets     []TargetChange `json:"targets,omitempty"`
	// Behavior is YAML: spec.behavior. Schedules is YAML: spec.schedules, of a WorkloadAutoscaler alone.
	Behavior  string `json:"behavior,omitempty"`
	Schedules string `json:"schedules,omitempty"`
}

// TargetChange is another target of a metric.
type TargetChange struct {
	// Metric is the index in spec.metrics.
	Metric int `json:"metric"`
	// Value is a percentage as a number where the target is a utilization, and a quantity everywhere else.
	Value string `json:"value"`
}

// WhatIf is the recorded load, played against the object as it is and against the changed one.
type WhatIf struct {
	// From is when the load begins; StepMillis is the time between two points of the series.
	From       int64 `json:"from"`
	StepMillis int64 `json:"stepMillis"`
	// Load is in pods at the target of the object as it is.
	Load    []float64 `json:"load"`
	AsIs    Played    `json:"asIs"`
	Changed Played    `json:"changed"`
	// Patch is a JSON patch, Command the kubectl command that applies it.
	Patch   string `json:"patch"`
	Command string `json:"command"`
	// Warning is why the measures do not answer the question, or why they are the same; empty if neither is so.
	Warning string `json:"warning,omitempty"`
	// Notes are what is assumed, as plimsoll simulate prints them.
	Notes []string `json:"notes"`
}

// Played is a setting, and what became of it under the load.
type Played struct {
	Desired []int32 `json:"desired"`
	Ready   []int32 `json:"ready"`
	// PodHours is the cost in pod-hours. ShortPercent is the part of the time, 0 to 100, in which the load was more than
	// the ready pods serve with all that they request; LongestShortSeconds the longest such time. AboveTargetPercent is
	// the part in which it was more than a tenth above what they serve at the target of the object as it is.
	PodHours            float64 `json:"podHours"`
	AboveTargetPercent  float64 `json:"aboveTargetPercent"`
	ShortPercent        float64 `json:"shortPercent"`
	LongestShortSeconds float64 `json:"longestShortSeconds"`
	// Actions are changes of the wanted count.
	Actions int `json:"actions"`
}

// Line is one of an explanation: what it is about, and what it says. Labels of details begin with two blanks.
type Line struct {
	Label string `json:"label"`
	Text  string `json:"text"`
	// IsStrong is set if it is of those that are read first, and IsHeading that it has no label.
	IsStrong  bool `json:"strong,omitempty"`
	IsHeading bool `json:"heading,omitempty"`
}
