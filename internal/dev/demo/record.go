package demo

import (
	"fmt"
	"sync"
	"time"
)

// Sample is the state of the demo at one moment.
type Sample struct {
	Elapsed time.Duration
	// Load is offered to each workload, in requests per second.
	Load      float64
	Workloads []WorkloadSample
}

// WorkloadSample is one workload in a sample.
type WorkloadSample struct {
	Name          string
	Wanted, Ready int32
	// Metric is the metric in the autoscaler's status, and the target.
	Metric string
	// Conditions are the last reasons, a line each.
	Conditions []string
	// Status has the other lines of the autoscaler's status.
	Status []string
}

// ScaleEvent is one scaling as seen through the API server.
type ScaleEvent struct {
	Time           time.Time `json:"time"`
	ElapsedSeconds float64   `json:"elapsedSeconds"`
	Workload       string    `json:"workload"`
	From           int32     `json:"from"`
	To             int32     `json:"to"`
	Reason         string    `json:"reason"`
}

// String is the event as the demo prints it.
func (e ScaleEvent) String() string {
	return fmt.Sprintf("%s %2d -> %-2d %s", e.Workload, e.From, e.To, e.Reason)
}

// record has the events so far.
type record struct {
	mu      sync.Mutex
	samples []Sample     // guarded by mu
	scales  []ScaleEvent // guarded by mu
}

func (r *record) sample(s Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, s)
}

func (r *record) scaled(e ScaleEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scales = append(r.scales, e)
}

// snapshot copies what the views and the summary read.
func (r *record) snapshot() ([]Sample, []ScaleEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Sample(nil), r.samples...), append([]ScaleEvent(nil), r.scales...)
}
