package summary

import (
	"fmt"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// TestRollout: pods that start with another template than older pods of the workload are those of a rollout, and the
// sentence has what the value would be if they shared the load.
func TestRollout(t *testing.T) {
	of := func(revisions ...string) Input {
		p := upTo(10, source.Spec{
			Type: source.Resource, Name: "cpu", Target: source.Target{Type: source.Utilization, Percent: 50},
		})
		o := horizontal.Observation{Target: horizontal.Target{SpecReplicas: 4}, Pods: readyPods(5)}
		r := metric.Reading{Samples: samples(67, 67, 67, 0, 0)}
		for i := range o.Pods {
			pod := &o.Pods[i]
			pod.Name, pod.Revision = fmt.Sprintf("%s-pod%d", revisions[i], i), metric.RevisionOf(revisions[i][len("web-"):])
			r.Requests = append(r.Requests, metric.Request{Milli: 100})
			if i >= 3 {
				pod.Ready, pod.StartTime, pod.ReadyTransition = metric.ReadyFalse, noon.Add(-time.Minute), noon.Add(-time.Minute)
			}
		}
		o.Readings = []metric.Reading{r}
		return played(&p, []int{0}, o)
	}
	const shared = "Stays at 4: CPU is at 67 % (target 50 %) on 3 ready pods, but would be at 40 % on all 5; "
	another := of("web-1", "web-1", "web-1", "api-2", "api-2")
	unknown := of("web-1", "web-1", "web-1", "web-2", "web-2")
	unknown.Pods = nil
	checkSentences(t, map[string]Input{
		shared + "web-2-pod3 and web-2-pod4 are still starting as new pods of a rollout.": of("web-1", "web-1", "web-1",
			"web-2", "web-2"),
		shared + "web-1-pod3 and web-1-pod4 are still starting.":                                                        of("web-1", "web-1", "web-1", "web-1", "web-1"),
		shared + "web-2-pod3 and web-1-pod4 are still starting.":                                                        of("web-1", "web-1", "web-1", "web-2", "web-1"),
		shared + "api-2-pod3 and api-2-pod4 are still starting.":                                                        another,
		"Stays at 4: CPU is at 67 % (target 50 %) on 3 pods, but would be at 40 % on all 5; 2 pods are still starting.": unknown,
	})
}

// TestWorkloadOf: the pods of a Deployment and of a StatefulSet have the name of that in theirs.
func TestWorkloadOf(t *testing.T) {
	for pod, want := range map[metric.Pod]string{
		{Name: "web-7d9f8b6c5d-mktjg", Revision: metric.RevisionOf("7d9f8b6c5d")}: "web",
		{Name: "web-0", Revision: metric.RevisionOf("web-6cd8b")}:                 "web",
		{Name: "web", Revision: metric.RevisionOf("1")}:                           "",
	} {
		if got := workloadOf(&pod); got != want {
			t.Errorf("%+v: %s, want %s", pod, got, want)
		}
	}
}
