package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
)

// Tests here that break what all tests share do not call t.Parallel: those that do wait for them.

// All three metrics APIs are unreachable.
func TestMetricsAPIsAreDown(t *testing.T) {
	s := shared.Namespace(t)
	metrics := map[string]autoscalingv2.MetricSpec{
		"resource": harness.Resource(corev1.ResourceCPU, harness.Utilization(100)),
		"pods":     harness.PodRequests(harness.AverageValue("10")),
		"object":   harness.ServiceRequests("object", harness.AverageValue("10")),
		"external": harness.QueueLength("jobs", harness.AverageValue("10")),
	}
	records := map[string]*harness.Record{}
	s.Create(harness.Queue("jobs", 15))
	for name := range metrics {
		w := harness.Workload{Name: name, Replicas: ptr.To[int32](2)}
		s.Create(w.Deployment(), w.Service(15))
	}
	awaitMeasured(s, 2*len(metrics))
	for name, metric := range metrics {
		s.Create(harness.Autoscaler(name, metric))
		awaitFine(s, name)
		records[name] = s.WatchCounts(name)
	}
	restore := []func(){
		parts.CutOff(t, s.Cluster, "metrics.k8s.io", "v1beta1"),
		parts.CutOff(t, s.Cluster, "custom.metrics.k8s.io", "v1beta2"),
		parts.CutOff(t, s.Cluster, "custom.metrics.k8s.io", "v1beta1"),
		parts.CutOff(t, s.Cluster, "external.metrics.k8s.io", "v1beta1"),
	}
	for name, metric := range metrics {
		reason := "FailedGet" + string(metric.Type) + "Metric"
		s.AwaitHPA(name, "the symptom", ordeal{
			condition: inactive(reason), words: []string{"the server is currently unable to handle the request"},
		}.shown)
		if event := s.AwaitEvent(name, reason, "unable to handle the request"); event.Type != corev1.EventTypeWarning {
			t.Errorf("%s: event of type %s", name, event.Type)
		}
	}
	// The proposal of the unreadable metric would be higher.
	s.SetQueue("jobs", 35)
	for name := range metrics {
		s.SetLoad(name, 35)
	}
	for name := range metrics {
		s.AwaitDecisions(name, 3)
		wantCounts(t, records[name], 2)
	}
	for _, r := range restore {
		r()
	}
	for name := range metrics {
		s.AwaitReplicas(harness.Deployment, name, 4)
		awaitFine(s, name)
		if name == "resource" {
			// A sample that began before the load led to a lower proposal at first.
			wantAscent(t, records[name], 2, 4)
			continue
		}
		wantCounts(t, records[name], 2, 4)
	}
}

// Plimsoll is killed with -9 in the middle of a surge, and the load falls before the next instance leads. That one has
// no history: it keeps the count, as five minutes of stabilization demand, and continues from there.
func TestKilledInTheMiddleOfASurge(t *testing.T) {
	s := shared.Namespace(t)
	plimsoll := shared.Plimsoll(t)
	hpa := harness.Autoscaler("web", jobs())
	hpa.Spec.MaxReplicas = 20
	hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
		Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 2, PeriodSeconds: 2}},
	}}
	s.Create(harness.Workload{Replicas: ptr.To[int32](2)}.Deployment(), harness.Queue("jobs", 15), hpa)
	awaitFine(s, "web")
	record := s.WatchCounts("web")
	s.SetQueue("jobs", 250)
	awaitAtLeast(s, 8)
	plimsoll.Kill()
	killed := int32(s.Replicas(harness.Deployment, "web"))
	s.SetQueue("jobs", 15)

	began := time.Now()
	if err := plimsoll.Start(t.Context(), shared.Flags...); err != nil {
		t.Fatal(err)
	}
	s.AwaitDecisions("web", 5)
	t.Logf("the next instance decides %s after the start", time.Since(began).Round(time.Second))
	if got := int32(s.Replicas(harness.Deployment, "web")); got != killed {
		t.Errorf("%d replicas soon after the restart, want the %d that there were", got, killed)
	}
	s.SetQueue("jobs", 250)
	s.AwaitReplicas(harness.Deployment, "web", 20)
	awaitFine(s, "web")
	checkClimb(t, record, 2)
}

// The API server is killed with -9 and started again in the middle of a surge. It is not that of the other tests.
func TestAPIServerIsKilled(t *testing.T) {
	t.Parallel()
	cluster := devclustertest.Start(t, devcluster.Config{MetricsServer: true})
	plimsoll, err := harness.NewPlimsoll(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	// An API server may take longer to start than a leader has by default to renew its lease. A leader that cannot ends,
	// and the kubelet starts it again; here it is to live.
	err = plimsoll.Start(t.Context(), "--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=100s")
	if err != nil {
		t.Fatal(err)
	}
	s := harness.NewNamespace(t, cluster)
	s.Refused = true // until the API server has read RBAC's objects
	hpa := harness.Autoscaler("web", jobs())
	hpa.Spec.MaxReplicas = 20
	hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
		Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 2, PeriodSeconds: 2}},
	}}
	s.Create(harness.Workload{Replicas: ptr.To[int32](2)}.Deployment(), harness.Queue("jobs", 15), hpa)
	awaitFine(s, "web")
	s.SetQueue("jobs", 250)
	awaitAtLeast(s, 6)
	if err := s.Cluster.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	record := s.WatchCounts("web")
	s.AwaitReplicas(harness.Deployment, "web", 20)
	awaitFine(s, "web")
	s.SetQueue("jobs", 15)
	s.AwaitDecisions("web", 3)
	checkClimb(t, record, 2)
}

func awaitAtLeast(s *harness.Namespace, least int64) {
	s.Eventually(fmt.Sprintf("%d replicas", least), func(context.Context) error {
		if n := s.Replicas(harness.Deployment, "web"); n < least {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
}

// checkClimb checks that the count has only grown, by no more than the step that the policy permits, to 20.
func checkClimb(t *testing.T, record *harness.Record, step int32) {
	t.Helper()
	counts, err := record.Replicas()
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(counts); i++ {
		if grown := counts[i] - counts[i-1]; grown <= 0 || grown > step {
			t.Errorf("from %d to %d: counts %s", counts[i-1], counts[i], record)
		}
	}
	if counts[len(counts)-1] != 20 {
		t.Errorf("counts %s do not end at 20", record)
	}
}
