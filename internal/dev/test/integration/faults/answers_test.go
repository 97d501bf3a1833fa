package faults

import (
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/adapter"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

func TestBadAnswersOfAMetricsAPI(t *testing.T) {
	t.Parallel()
	var (
		pods     = harness.PodRequests(harness.AverageValue("10"))
		object   = harness.ServiceRequests("web", harness.AverageValue("10"))
		external = harness.QueueLength("jobs", harness.AverageValue("10"))
	)
	for name, c := range map[string]struct {
		metric autoscalingv2.MetricSpec
		fault  adapter.Fault
		words  []string
	}{
		"pods down": {pods, adapter.Fault{Err: "the database is gone"},
			[]string{"the database is gone", adapter.MetricPodRequests}},
		"object down": {object, adapter.Fault{Err: "the database is gone"},
			[]string{"the database is gone", "requests_per_second on Service", "/web"}},
		"external down": {external, adapter.Fault{Err: "the database is gone"},
			[]string{"the database is gone", "queue_length", "jobs"}},

		"pods negative": {pods, adapter.Fault{Value: ptr.To(-5.0)},
			[]string{"negative value of pod web-", "-5000m", adapter.MetricPodRequests}},
		"object negative": {object, adapter.Fault{Value: ptr.To(-5.0)},
			[]string{"negative value: -5000m", "requests_per_second on Service", "/web"}},
		"external negative": {external, adapter.Fault{Value: ptr.To(-5.0)},
			[]string{"negative value: -5000m", "queue_length", "jobs"}},

		"pods empty": {pods, adapter.Fault{Empty: true},
			[]string{"no metrics returned from custom metrics API", adapter.MetricPodRequests}},
		"object empty": {object, adapter.Fault{Empty: true},
			[]string{"could not find the metric requests_per_second", "services web"}},
		"external empty": {external, adapter.Fault{Empty: true},
			[]string{"no metrics returned from external metrics API", "queue_length", "jobs"}},

		// A few more than are plausible: an answer of megabytes every second takes longer than the deadline of a request
		// on a busy machine, and that is another error.
		"pods far too many": {pods, adapter.Fault{Items: 1100},
			[]string{"1102 items for 2 pods", adapter.MetricPodRequests}},

		"pods undecodable": {pods, adapter.Fault{Body: adapter.UndecodableList(false)},
			[]string{"the answer of the custom metrics API cannot be read", adapter.MetricPodRequests}},
		"object undecodable": {object, adapter.Fault{Body: adapter.UndecodableList(false)},
			[]string{"the answer of the custom metrics API cannot be read", "requests_per_second on Service", "/web"}},
		"external undecodable": {external, adapter.Fault{Body: adapter.UndecodableList(true)},
			[]string{"the answer of the external metrics API cannot be read", "queue_length", "jobs"}},
		"external no JSON": {external, adapter.Fault{Body: []byte("<html>busy</html>")},
			[]string{"the answer of the external metrics API cannot be read", "queue_length", "jobs"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.Namespace(t)
			web(s, c.metric)
			metric := metricName(c.metric)
			ordeal{
				breaks:    func(s *harness.Namespace) { s.Fault(metric, c.fault) },
				heals:     func(s *harness.Namespace) { s.Fault(metric, adapter.Fault{}) },
				condition: inactive("FailedGet" + string(c.metric.Type) + "Metric"),
				event:     "FailedGet" + string(c.metric.Type) + "Metric",
				words:     c.words,
			}.undergo(t, s)
		})
	}
}

// The series of other objects lack the labels of any selector, so this object has no selector.
func TestFarTooManySeries(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	metric := harness.QueueLength("jobs", harness.AverageValue("10"))
	metric.External.Metric.Selector = nil
	w := harness.Workload{Replicas: ptr.To[int32](2)}
	s.Create(w.Deployment(), harness.Queue("jobs", 15), harness.Autoscaler("web", metric))
	awaitFine(s, "web")
	record := s.WatchCounts("web")
	o := ordeal{
		condition: inactive("FailedGetExternalMetric"),
		words:     []string{"10001 series where at most 10000 are plausible", "queue_length"},
	}
	s.Fault(adapter.MetricQueueLength, adapter.Fault{Items: 10000})
	s.AwaitHPA("web", "the symptom", o.shown)
	s.AwaitEvent("web", "FailedGetExternalMetric", o.words[0])
	s.SetQueue("jobs", 35)
	s.AwaitDecisions("web", 3)
	wantCounts(t, record, 2)
	s.Fault(adapter.MetricQueueLength, adapter.Fault{})
	s.AwaitReplicas(harness.Deployment, "web", 4)
	awaitFine(s, "web")
	wantCounts(t, record, 2, 4)
}

// While one of two metrics fails, the other may raise the count but not lower it.
func TestOneOfTwoMetricsFails(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	hpa := harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10")),
		harness.ServiceRequests("web", harness.AverageValue("10")))
	hpa.Spec.Behavior = harness.DownAtOnce()
	w := harness.Workload{Replicas: ptr.To[int32](2)}
	s.Create(w.Deployment(), w.Service(15), harness.Queue("jobs", 15), hpa)
	awaitFine(s, "web")
	record := s.WatchCounts("web")

	s.Fault(adapter.MetricServiceRequests, adapter.Fault{Err: "the database is gone"})
	s.AwaitEvent("web", "FailedGetObjectMetric", "the database is gone")
	s.SetQueue("jobs", 35)
	s.AwaitReplicas(harness.Deployment, "web", 4)
	s.SetQueue("jobs", 5)
	s.AwaitHPA("web", "the block of the scale-down", ordeal{
		condition: inactive("FailedGetObjectMetric"), words: []string{"the database is gone"},
	}.shown)
	s.AwaitDecisions("web", 3)
	wantCounts(t, record, 2, 4)

	s.Fault(adapter.MetricServiceRequests, adapter.Fault{})
	s.AwaitReplicas(harness.Deployment, "web", 2) // the count of the Service's load
	awaitFine(s, "web")
	wantCounts(t, record, 2, 4, 2)
}

// A metrics API that hangs costs its own objects their deadline and others nothing, also when more objects wait for it
// than there are workers and slots.
func TestSlowMetricsAPIDelaysOnlyItsObjects(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	const waiting = 18 // more than 5 workers and 16 slots
	name := func(i int) string { return fmt.Sprintf("slow-%d", i) }
	one := ptr.To[int32](1)
	for i := range waiting {
		w := harness.Workload{Name: name(i), Replicas: one}
		s.Create(w.Deployment(), harness.Autoscaler(name(i), harness.QueueLength("jobs", harness.AverageValue("10"))))
	}
	quick := harness.Workload{Name: "quick", Replicas: one}
	s.Create(harness.Queue("jobs", 5), quick.Deployment(), quick.Service(5),
		harness.Autoscaler("quick", harness.ServiceRequests("quick", harness.AverageValue("10"))))
	for i := range waiting {
		awaitFine(s, name(i))
	}
	awaitFine(s, "quick")
	record := s.WatchCounts(name(0))

	s.Fault(adapter.MetricQueueLength, adapter.Fault{Delay: time.Hour})
	s.SetQueue("jobs", 25)
	began := time.Now()
	o := ordeal{
		condition: inactive("FailedGetExternalMetric"),
		words:     []string{"the external metrics API did not answer within 10s", "queue_length", "jobs"},
	}
	s.AwaitHPA(name(0), "the symptom", o.shown)
	s.AwaitHPA(name(waiting-1), "the symptom", o.shown)
	s.AwaitEvent(name(0), "FailedGetExternalMetric", o.words[0])
	wantCounts(t, record, 1)
	// Waiting for the slow API once would take its deadline.
	if gap := longestGap(s.Decisions("quick"), began); gap > 9*time.Second {
		t.Errorf("%s between two decisions of the object that does not use the slow API, whose period is 1 s", gap)
	}

	s.Fault(adapter.MetricQueueLength, adapter.Fault{})
	for i := range waiting {
		s.AwaitReplicas(harness.Deployment, name(i), 3)
		awaitFine(s, name(i))
	}
	wantCounts(t, record, 1, 3)
}

// longestGap is the longest time without a decision from began until now.
func longestGap(decisions []harness.Decision, began time.Time) time.Duration {
	var longest time.Duration
	last := began
	for _, d := range decisions {
		if d.At.After(began) {
			longest, last = max(longest, d.At.Sub(last)), d.At
		}
	}
	return max(longest, time.Since(last))
}

func metricName(m autoscalingv2.MetricSpec) string {
	switch m.Type {
	case autoscalingv2.PodsMetricSourceType:
		return m.Pods.Metric.Name
	case autoscalingv2.ObjectMetricSourceType:
		return m.Object.Metric.Name
	default:
		return m.External.Metric.Name
	}
}
