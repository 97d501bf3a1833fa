package rate_test

import (
	"fmt"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
)

// TestNewest: the use of a pod by its newest interval alone, for all its containers together; a pod that the round
// lacks is left out.
func TestNewest(t *testing.T) {
	s := rate.New(rate.Config{})
	ingest := func(second float64, lines string) {
		if _, err := s.Ingest("node-1", at(second), []byte(lines)); err != nil {
			t.Fatal(err)
		}
	}
	line := func(container string, second, cpu float64, memory int64) string {
		labels := fmt.Sprintf(`{container=%q,namespace="shop",pod="web-1"}`, container)
		millis := at(second).UnixMilli()
		return fmt.Sprintf("container_cpu_usage_seconds_total%s %f %d\ncontainer_memory_working_set_bytes%s %d %d\n",
			labels, cpu, millis, labels, memory, millis)
	}
	ingest(0, line("app", 0, 10, 100)+line("proxy", 0, 5, 7))
	ingest(1, line("app", 1, 10.1, 100)+line("proxy", 1, 5, 7))
	ingest(1.25, line("app", 1.25, 10.35, 200)+line("proxy", 1.25, 5.05, 7))
	want := []rate.PodUse{{Namespace: "shop", Pod: "web-1", CPUMilli: 1000 + 200, MemoryMilli: 207_000}}
	same(t, "both", want, s.Newest("node-1", nil))
	ingest(1.5, line("app", 1.5, 10.35, 200))
	want[0].CPUMilli, want[0].MemoryMilli = 0, 200_000
	same(t, "one", want, s.Newest("node-1", nil))
	if got := s.Newest("node-2", nil); got != nil {
		t.Errorf("an unknown node has %v", got)
	}
}
