package demo

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// Summary is the result of a run of the demo, as in demo-summary.json.
type Summary struct {
	Seconds   float64           `json:"seconds"`
	Workloads []WorkloadSummary `json:"workloads"`
	Scales    []ScaleEvent      `json:"scaleEvents"`
	// Failures are the differences from the computed counts; empty without any.
	Failures []string `json:"failures,omitempty"`
}

// WorkloadSummary is the result of one workload.
type WorkloadSummary struct {
	Name string `json:"name"`
	// ComputedSurge and ComputedFinal are the computed counts of the loads, Surge and Final those at the end of the surge
	// and of the demo.
	ComputedSurge int32 `json:"computedSurgeReplicas"`
	ComputedFinal int32 `json:"computedFinalReplicas"`
	Surge         int32 `json:"surgeReplicas"`
	Final         int32 `json:"finalReplicas"`
	// LoadToFirstScaleUpSeconds is from the step of the load to the first write.
	LoadToFirstScaleUpSeconds float64 `json:"loadToFirstScaleUpSeconds"`
	// StartToFirstScaleUpSeconds is from the start of the program to that write,
	// builds included.
	StartToFirstScaleUpSeconds float64 `json:"startToFirstScaleUpSeconds"`
}

// summarize judges a run.
func summarize(plan Plan, began time.Time, samples []Sample, scales []ScaleEvent) Summary {
	s := Summary{Scales: scales}
	if len(samples) == 0 {
		return s
	}
	last := samples[len(samples)-1]
	s.Seconds = last.Elapsed.Seconds()
	for i := range last.Workloads {
		w := WorkloadSummary{
			Name: last.Workloads[i].Name, ComputedSurge: Computed(peakLoad), ComputedFinal: Computed(baseLoad),
			Final: last.Workloads[i].Wanted,
		}
		for _, sample := range samples {
			if sample.Elapsed < plan.Fall {
				w.Surge = sample.Workloads[i].Wanted
			}
		}
		w.addFirst(plan, began, scales)
		s.Workloads = append(s.Workloads, w)
		s.Failures = append(s.Failures, w.failures()...)
	}
	for _, e := range scales {
		if e.Reason == "" {
			s.Failures = append(s.Failures, fmt.Sprintf("%s: the scaling %d -> %d has no reason", e.Workload, e.From, e.To))
		}
	}
	return s
}

// addFirst adds when the workload was first scaled up.
func (w *WorkloadSummary) addFirst(plan Plan, began time.Time, scales []ScaleEvent) {
	for _, e := range scales {
		if e.Workload == w.Name && e.To > e.From && e.ElapsedSeconds >= plan.Rise.Seconds() {
			w.LoadToFirstScaleUpSeconds = e.ElapsedSeconds - plan.Rise.Seconds()
			w.StartToFirstScaleUpSeconds = e.Time.Sub(began).Seconds()
			return
		}
	}
}

func (w *WorkloadSummary) failures() []string {
	var failures []string
	if w.Surge != w.ComputedSurge {
		failures = append(failures,
			fmt.Sprintf("%s: held %d replicas under the surge, computed are %d", w.Name, w.Surge, w.ComputedSurge))
	}
	if w.Final != w.ComputedFinal {
		failures = append(failures,
			fmt.Sprintf("%s: ended at %d replicas, computed are %d", w.Name, w.Final, w.ComputedFinal))
	}
	return failures
}

// write keeps the summary as a file.
func (s Summary) write(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the summary: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// text is the summary as a person reads it.
func (s Summary) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%8s  %s  %-8s  %s\n", "after", "   ", "replicas", "reason")
	for _, e := range s.Scales {
		fmt.Fprintf(&b, "%7.1fs  %s  %2d -> %-2d  %s\n", e.ElapsedSeconds, e.Workload, e.From, e.To, e.Reason)
	}
	fmt.Fprintf(&b, "\n     %-28s %8s %6s\n", "load", "computed", "held")
	for _, w := range s.Workloads {
		surge, end := fmt.Sprintf("%g requests/s (surge)", peakLoad), fmt.Sprintf("%g requests/s (end)", baseLoad)
		fmt.Fprintf(&b, "%s  %-28s %8d %6d\n", w.Name, surge, w.ComputedSurge, w.Surge)
		fmt.Fprintf(&b, "%s  %-28s %8d %6d\n", w.Name, end, w.ComputedFinal, w.Final)
	}
	b.WriteString("\n")
	for _, w := range s.Workloads {
		fmt.Fprintf(&b, "First scale-up of %s %.1f s after the load rose, %.0f s after the start of this program.\n",
			w.Name, w.LoadToFirstScaleUpSeconds, w.StartToFirstScaleUpSeconds)
	}
	for _, f := range s.Failures {
		fmt.Fprintf(&b, "NOT AS COMPUTED: %s\n", f)
	}
	return b.String()
}
