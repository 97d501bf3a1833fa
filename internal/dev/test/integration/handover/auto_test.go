package handover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// delay is the takeover delay. The HPAs that the other controller wrote are checked after a quarter of it.
const delay = 16 * time.Second

// states is the series of HPAs by who acts on them.
const states = "plimsoll_horizontal_pod_autoscalers"

// Mode auto, with kube-controller-manager's loop on, off and on again. While it is on, changing load and silence lead
// to no write by Plimsoll. When it is off, Plimsoll takes over after the delay, and then has new HPAs at once.
func TestAutoActsWhereTheLoopDoesNot(t *testing.T) {
	s, p := namespace(t)
	restart(t, s, often, loopOn)
	create(s, "web", 15)
	s.AwaitConditions("web", validMetric())
	changes := s.WatchChanges("web")
	before := len(writesBy(t, plimsollUser))
	auto := p.StartInstance(t, "plimsoll", "--horizontal-pod-autoscalers=auto", "--leader-elect=false",
		"--horizontal-pod-autoscaler-takeover-delay="+delay.String())
	for _, step := range []struct {
		length int
		want   int64
	}{{35, 4}, {38, 4}, {75, 8}, {72, 8}} {
		s.SetQueue("jobs-web", step.length)
		s.AwaitReplicas(harness.Deployment, "web", step.want)
	}
	// From here on its loop has nothing to write.
	s.HoldsReplicas(2*delay, harness.Deployment, "web", 8)
	if writes := writesBy(t, plimsollUser)[before:]; len(writes) > 0 {
		t.Errorf("beside the loop Plimsoll has written: %v", writes)
	}
	byOne(t, changes, "kube-controller-manager")

	restart(t, s, loopOff)
	off := time.Now()
	s.SetQueue("jobs-web", 95)
	s.EventuallyWithin(4*delay, "10 replicas after the delay", func(context.Context) error {
		if n := s.Replicas(harness.Deployment, "web"); n != 10 {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
	if after := time.Since(off); after < delay {
		t.Errorf("Plimsoll scaled %s after the loop ended, want %s at least", after, delay)
	}
	if all := changes.All(); all[len(all)-1] != (harness.Change{From: 8, To: 10, By: "plimsoll"}) {
		t.Errorf("changes %v", all)
	}
	s.HoldsReplicas(delay+2*time.Second, harness.Deployment, "web", 10)
	created := time.Now()
	create(s, "new", 35)
	s.AwaitReplicas(harness.Deployment, "new", 4)
	if after := time.Since(created); after >= delay {
		t.Errorf("Plimsoll scaled a new HPA after %s, want at once", after)
	}
	givesBack(t, s, auto)
}

// givesBack turns the loop on again, while Plimsoll acts on the HPA "web" with 10 replicas.
func givesBack(t *testing.T, s *harness.Namespace, auto *harness.Instance) {
	t.Helper()
	restart(t, s, often, loopOn)
	length := 95
	s.Eventually("the contest", func(context.Context) error {
		if len(s.Events("web", "ScalingContested")) > 0 {
			return nil
		}
		length = 191 - length // 95 and 96 by turns, within the tolerance
		s.SetQueue("jobs-web", length)
		return fmt.Errorf("no event ScalingContested")
	})
	s.AwaitEvent("web", "ScalingContested", "kube-controller-manager writes the status of this object too; "+
		"plimsoll leaves it to that controller")
	before := len(writesBy(t, plimsollUser))
	later := s.WatchChanges("web")
	s.SetQueue("jobs-web", 125)
	s.AwaitReplicas(harness.Deployment, "web", 13)
	s.HoldsReplicas(2*delay, harness.Deployment, "web", 13)
	byOne(t, later, "kube-controller-manager")
	for _, write := range writesBy(t, plimsollUser)[before:] {
		if write.ObjectRef.Name == "web" {
			t.Errorf("Plimsoll has written after it gave the HPA back: %v", write)
		}
	}
	if n := auto.Metric(states, `state="left"`) + auto.Metric(states, `state="undecided"`); n < 1 {
		t.Errorf("%v HPAs are not acted on", n)
	}
}

// create makes a Deployment with one replica, and its HPA for a queue of this length, ten entries for each replica.
func create(s *harness.Namespace, name string, length int) {
	hpa := harness.Autoscaler(name, harness.QueueLength("jobs-"+name, harness.AverageValue("10")))
	hpa.Spec.MaxReplicas = 20
	s.Create(harness.Workload{Name: name, Replicas: ptr.To[int32](1)}.Deployment(), harness.Queue("jobs-"+name, length),
		hpa)
}

// byOne is an error for each change by another controller, and if there is no change.
func byOne(t *testing.T, changes *harness.Changes, who string) {
	t.Helper()
	all := changes.All()
	other := slices.ContainsFunc(all, func(c harness.Change) bool { return !strings.HasPrefix(c.By, who) })
	if len(all) == 0 || other {
		t.Errorf("changes %v, want some and all by %s", all, who)
	}
}
