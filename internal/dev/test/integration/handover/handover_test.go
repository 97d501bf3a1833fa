package handover

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

func validMetric() harness.Condition {
	return harness.Condition{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound"}
}

// From kube-controller-manager's loop to Plimsoll and back under steady load: no write of another count. One object's
// count matches its load. The other's load has fallen, and only the stabilization of the previous controller keeps its
// count up: the next one lacks that history and must not scale down at once.
func TestHandoverUnderSteadyLoad(t *testing.T) {
	s, p := namespace(t)
	restart(t, s, often, loopOn)
	names := []string{"steady", "fallen"}
	for _, name := range names {
		s.Create(harness.Workload{Name: name, Replicas: ptr.To[int32](2)}.Deployment(), harness.Queue("jobs-"+name, 15),
			harness.Autoscaler(name, harness.QueueLength("jobs-"+name, harness.AverageValue("10"))))
		s.AwaitConditions(name, validMetric())
	}
	s.SetQueue("jobs-fallen", 45)
	s.AwaitReplicas(harness.Deployment, "fallen", 5)
	s.SetQueue("jobs-fallen", 15)
	awaitAverage(s, "fallen", 3)
	changes := map[string]*harness.Changes{}
	for _, name := range names {
		changes[name] = s.WatchChanges(name)
	}

	restart(t, s, loopOff)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		s.AwaitDecisions(name, 10)
		if contests := s.Events(name, "ScalingContested"); len(contests) > 0 {
			t.Errorf("taking over from one who has stopped is no fight: %s", contests[0].Message)
		}
	}
	p.Stop(t.Context())
	restart(t, s, often, loopOn)
	// Within the tolerance: only a controller that is at work shows it.
	s.SetQueue("jobs-steady", 16)
	s.SetQueue("jobs-fallen", 20)
	awaitAverage(s, "steady", 8)
	awaitAverage(s, "fallen", 4)
	s.HoldsReplicas(6*time.Second, harness.Deployment, "fallen", 5)
	for _, name := range names {
		if all := changes[name].All(); len(all) > 0 {
			t.Errorf("%s was scaled: %v", name, all)
		}
	}
	s.SetQueue("jobs-steady", 35)
	s.AwaitReplicas(harness.Deployment, "steady", 4)
	want := []harness.Change{{From: 2, To: 4, By: "kube-controller-manager"}}
	s.Eventually("the last change", func(context.Context) error {
		if got := changes["steady"].All(); !slices.Equal(got, want) {
			return fmt.Errorf("%v, want %v", got, want)
		}
		return nil
	})
}

// awaitAverage waits until the status shows the average of the external metric.
func awaitAverage(s *harness.Namespace, name string, want int64) {
	s.AwaitHPA(name, fmt.Sprintf("an average of %d", want), func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		if len(hpa.Status.CurrentMetrics) == 0 || hpa.Status.CurrentMetrics[0].External == nil ||
			hpa.Status.CurrentMetrics[0].External.Current.AverageValue.Value() != want {
			return fmt.Errorf("not there yet")
		}
		return nil
	})
}

// silence is the takeover delay: less than the two minutes that it is without the flag, and more than the other loop
// takes for a write on a busy machine.
const silence = 40 * time.Second

// Both loops are on. Plimsoll reports that, leaves the objects alone, and acts on them some time after the other's last
// write.
func TestRefusesToFight(t *testing.T) {
	s, p := namespace(t)
	restart(t, s, often, loopOn)
	s.Create(harness.Workload{Replicas: ptr.To[int32](2)}.Deployment(), harness.Queue("jobs", 15),
		harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	s.AwaitConditions("web", validMetric())
	awaitAverage(s, "web", 8) // of both pods, 7.5: from here on its loop has nothing to write
	changes := s.WatchChanges("web")
	const name = "plimsoll" // whose log the harness reads
	rival := p.StartInstance(t, name, "--horizontal-pod-autoscaler-takeover-delay="+silence.String())
	s.AwaitDecisions("web", 3)
	// Each change of the metric makes both write the status, neither scale.
	provoke(s)
	contest := s.AwaitEvent("web", "ScalingContested", "kube-controller-manager writes the status of this object too")
	if contest.Type != corev1.EventTypeWarning {
		t.Errorf("event of type %s", contest.Type)
	}
	if lines, err := s.LogLines("another controller writes the status"); err != nil || len(lines) == 0 ||
		lines[0]["writer"] != "kube-controller-manager" {
		t.Errorf("the log says %v %v", lines, err)
	}
	// An object of a test before may not be gone yet.
	if n := rival.Metric("plimsoll_contested_horizontal_pod_autoscalers"); n < 1 {
		t.Errorf("%v contested objects", n)
	}
	s.SetQueue("jobs", 35)
	s.AwaitReplicas(harness.Deployment, "web", 4)
	s.SetQueue("jobs", 55)
	s.AwaitReplicas(harness.Deployment, "web", 6)
	awaitAverage(s, "web", 10) // 9.17, rounded up
	restart(t, s, loopOff)
	last := lastWord(s.HPA("web"))
	decided := len(s.Decisions("web"))

	s.SetQueue("jobs", 75)
	s.AwaitReplicas(harness.Deployment, "web", 8)
	// The API server's times count whole seconds.
	if after := time.Since(last); after < silence-time.Second || after > silence+20*time.Second {
		t.Errorf("Plimsoll scaled %s after the other's last write, want %s", after, silence)
	}
	s.AwaitEvent("web", "ScalingResumed", "plimsoll scales it again")
	s.Eventually("the end of all contests", func(context.Context) error {
		if n := rival.Metric("plimsoll_contested_horizontal_pod_autoscalers"); n != 0 {
			return fmt.Errorf("%v contested objects", n)
		}
		return nil
	})
	if d := s.Decisions("web")[decided]; d.At.Before(last.Add(silence - time.Second)) {
		t.Errorf("Plimsoll decided %s after the other's last write", d.At.Sub(last))
	}
	want := []harness.Change{{From: 2, To: 4, By: "kube-controller-manager"},
		{From: 4, To: 6, By: "kube-controller-manager"}, {From: 6, To: 8, By: "plimsoll"}}
	if got := changes.All(); !slices.Equal(got, want) {
		t.Errorf("changes %v, want %v", got, want)
	}
}

// provoke changes the metric within the tolerance until Plimsoll has noticed the other's write.
func provoke(s *harness.Namespace) {
	length := 15
	s.Eventually("the contest", func(context.Context) error {
		if len(s.Events("web", "ScalingContested")) > 0 {
			return nil
		}
		length = 31 - length // 15 and 16 by turns
		s.SetQueue("jobs", length)
		return fmt.Errorf("no event ScalingContested")
	})
}

// lastWord is the time of kube-controller-manager's last status write.
func lastWord(hpa *autoscalingv2.HorizontalPodAutoscaler) time.Time {
	var last time.Time
	for i := range hpa.ManagedFields {
		entry := &hpa.ManagedFields[i]
		if entry.Manager == "kube-controller-manager" && entry.Subresource == "status" && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}
