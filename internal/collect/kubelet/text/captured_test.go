package text_test

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
)

// TestCaptured parses the response of a kubelet 1.37.1 with containerd 1.6 at /metrics/resource while eight pods ran on
// its node, some of them for two seconds. The text is unchanged, so that the test covers what a real one writes.
func TestCaptured(t *testing.T) {
	captured, err := os.ReadFile("testdata/kubelet-v1.37.1.txt")
	if err != nil {
		t.Fatal(err)
	}
	check(t, captured)
	got, err := parse(captured, text.Lines(text.All, 0), noGuess)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for family, samples := range byFamily(got) {
		counts[family] = len(samples)
	}
	want := map[string]int{
		"container_cpu_usage_seconds_total": 8, "container_memory_working_set_bytes": 8, "container_start_time_seconds": 8,
		"node_cpu_usage_seconds_total": 1, "node_memory_working_set_bytes": 1, "pod_cpu_usage_seconds_total": 8,
		"pod_memory_working_set_bytes": 8, "resource_scrape_error": 1,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
	first := read{
		Family: "container_cpu_usage_seconds_total",
		Labels: []string{"container", "controller", "namespace", "plimsoll-system", "pod",
			"plimsoll-controller-7c58467fd5-jhwjz"},
		Value: 0.077214531, Timestamp: 1795253872300, Timed: true,
	}
	if i := slices.IndexFunc(got, func(r read) bool { return r.Family == first.Family }); i < 0 ||
		cmp.Diff(first, got[i]) != "" {
		t.Errorf("the first sample: %s", cmp.Diff(first, got[max(i, 0)]))
	}
}
