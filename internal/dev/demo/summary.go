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
	Seconds float64 `json:"seconds"`
	// ComputedSurge and ComputedFinal are the counts that the loads ask for,
	// Surge and Final those at the end of the surge and of the
	// demo.
	ComputedSurge int32        `json:"computedSurgeReplicas"`
	ComputedFinal int32        `json:"computedFinalReplicas"`
	Surge         int32        `json:"surgeReplicas"`
	Final         int32        `json:"finalReplicas"`
	Scales        []ScaleEvent `json:"scaleEvents"`
	// LoadToFirstScaleUpSeconds is from the step of the load to the first write.
	LoadToFirstScaleUpSeconds float64 `json:"loadToFirstScaleUpSeconds"`
	// StartToFirstScaleUpSeconds is from the start of the program to that write,
	// builds included.
	StartToFirstScaleUpSeconds float64 `json:"startToFirstScaleUpSeconds"`
	// Failures says what was not as computed; empty when all was.
	Failures []string `json:"failures,omitempty"`
}

// summarize judges a run.
func summarize(plan Plan, began time.Time, samples []Sample, scales []ScaleEvent) Summary {
	s := Summary{ComputedSurge: Computed(peakLoad), ComputedFinal: Computed(baseLoad), Scales: scales}
	for _, sample := range samples {
		s.Seconds = sample.Elapsed.Seconds()
		s.Final = sample.Wanted
		if sample.Elapsed < plan.Fall {
			s.Surge = sample.Wanted
		}
	}
	for _, e := range scales {
		if e.To > e.From && e.ElapsedSeconds >= plan.Rise.Seconds() {
			s.LoadToFirstScaleUpSeconds = e.ElapsedSeconds - plan.Rise.Seconds()
			s.StartToFirstScaleUpSeconds = e.Time.Sub(began).Seconds()
			break
		}
	}
	if s.Surge != s.ComputedSurge {
		s.Failures = append(s.Failures,
			fmt.Sprintf("held %d replicas under the surge, computed are %d", s.Surge, s.ComputedSurge))
	}
	if s.Final != s.ComputedFinal {
		s.Failures = append(s.Failures, fmt.Sprintf("ended at %d replicas, computed are %d", s.Final, s.ComputedFinal))
	}
	for _, e := range scales {
		if e.Reason == "" {
			s.Failures = append(s.Failures, fmt.Sprintf("the scaling %d -> %d has no reason", e.From, e.To))
		}
	}
	return s
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
	fmt.Fprintf(&b, "\n%8s  %-8s  %s\n", "after", "replicas", "reason")
	for _, e := range s.Scales {
		fmt.Fprintf(&b, "%7.1fs  %2d -> %-2d  %s\n", e.ElapsedSeconds, e.From, e.To, e.Reason)
	}
	fmt.Fprintf(&b, "\n%-28s %8s %6s\n", "load", "computed", "held")
	fmt.Fprintf(&b, "%-28s %8d %6d\n", fmt.Sprintf("%g requests/s (surge)", peakLoad), s.ComputedSurge, s.Surge)
	fmt.Fprintf(&b, "%-28s %8d %6d\n\n", fmt.Sprintf("%g requests/s (end)", baseLoad), s.ComputedFinal, s.Final)
	fmt.Fprintf(&b, "First scale-up %.1f s after the load rose, %.0f s after the start of this program.\n",
		s.LoadToFirstScaleUpSeconds, s.StartToFirstScaleUpSeconds)
	for _, f := range s.Failures {
		fmt.Fprintf(&b, "NOT AS COMPUTED: %s\n", f)
	}
	return b.String()
}
