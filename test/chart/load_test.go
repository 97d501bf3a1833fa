//go:build helm

package chart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// The loads, in requests per second. A pod bears ten at the target of the HPAs. The loads are between two multiples of
// that, so that jitter does not change the counts.
const (
	low, high, highest                         = 15, 55, 95
	lowReplicas, highReplicas, highestReplicas = 2, 6, 10
	steadyLoad, steadyReplicas                 = 35, 4
)

// quiet is how long counts must hold after a new version has begun to decide: longer than a sync period, and than
// what the averages of CPU use reach back.
const quiet = 20 * time.Second

// TestUpgradeUnderLoad: an upgrade and a rollback scale nothing that one version alone would not have scaled.
//
// Processes stand for the controller's pods, and the rollout is real: kube-controller-manager replaces the pods one by
// one, the Lease goes from an old one to a new one, and each decides with the arguments and the rights of its version.
//
// The load of one HPA's target is steady. One has fallen right before the upgrade, which either version alone answers
// after the stabilization window of five minutes. One rises in the middle of the upgrade and of the rollback: as
// another that rose as much with one version alone, it gets what it needs, no more, and is never scaled down meanwhile.
func TestUpgradeUnderLoad(t *testing.T) {
	r := newRelease(t, namespace)
	t.Cleanup(r.deleteDefinitions)
	older, newer := packages(t, r.helm)
	const values = "vertical: {enabled: false}\nhorizontalPodAutoscalers: act\nlogging: {verbosity: 1}\n"
	r.apply("install", older, values)
	controllers := followPods(t, r.cluster, "plimsoll-controller")
	s := harness.NewNamespace(t, r.cluster)
	for name, is := range map[string]struct {
		load     float64
		replicas int32
	}{
		"steady": {steadyLoad, steadyReplicas}, "falling": {high, highReplicas},
		"rising": {low, lowReplicas}, "alone": {low, lowReplicas},
	} {
		w := harness.Workload{Name: name, Replicas: ptr.To(is.replicas)}
		s.Create(w.Service(is.load), w.Deployment(), harness.Autoscaler(name,
			harness.Resource(corev1.ResourceCPU, harness.Utilization(100))))
	}
	steady, falling, rising := s.WatchChanges("steady"), s.WatchChanges("falling"), s.WatchChanges("rising")
	alone := s.WatchChanges("alone")
	checkDecides(s, "alone", lowReplicas)
	s.HoldsReplicas(quiet, harness.Deployment, "alone", lowReplicas)
	s.SetLoad("alone", high)
	s.AwaitReplicas(harness.Deployment, "alone", highReplicas)
	s.HoldsReplicas(quiet, harness.Deployment, "alone", highReplicas)
	checkRise(t, "with one version", alone.All(), lowReplicas, highReplicas)

	s.SetLoad("falling", low)
	fell := time.Now()
	rollout := func(what string, change func(), load float64, to int64) {
		before, leader := controllers.pods(), r.leader()
		change()
		s.SetLoad("rising", load)
		r.awaitTakeover(controllers, before, leader)
		s.AwaitReplicas(harness.Deployment, "rising", to)
		s.HoldsReplicas(quiet, harness.Deployment, "rising", to)
		t.Logf("%s: over %s after the load of falling fell", what, time.Since(fell).Round(time.Second))
	}
	rollout("upgrade", func() { r.upgrade(newer, values) }, high, highReplicas)
	rollout("rollback", func() { r.run("rollback", "plimsoll", "1", "--namespace="+namespace) }, highest, highestReplicas)
	if took := time.Since(fell); took > 5*time.Minute {
		t.Errorf("this machine took %s: the stabilization window is over, and shows nothing", took)
	}
	if all := append(steady.All(), falling.All()...); len(all) > 0 {
		t.Errorf("the steady and the fallen load were scaled: %+v", all)
	}
	checkRise(t, "during the rollouts", rising.All(), lowReplicas, highestReplicas)
	checkDecides(s, "steady", steadyReplicas)
}

// upgrade begins a rollout, and does not wait for it.
func (r *release) upgrade(chart, values string) {
	r.t.Helper()
	r.run("upgrade", "plimsoll", chart, "--namespace="+namespace, "--values="+r.file(values))
}

// checkRise: each change is Plimsoll's and adds replicas, and the last one is to the count that the load needs.
func checkRise(t *testing.T, when string, changes []harness.Change, from, to int32) {
	t.Helper()
	at := from
	for _, change := range changes {
		if change.From != at || change.To <= change.From || change.To > to || change.By != "plimsoll" {
			t.Errorf("%s: %+v of %+v", when, change, changes)
		}
		at = change.To
	}
	if at != to {
		t.Errorf("%s: %+v do not lead to %d", when, changes, to)
	}
	t.Logf("%s: %+v", when, changes)
}

// checkDecides: that nothing was scaled is because of decisions, not for want of them.
func checkDecides(s *harness.Namespace, name string, count int32) {
	s.AwaitHPA(name, "decisions", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		if hpa.Status.DesiredReplicas != count {
			return fmt.Errorf("%d desired replicas", hpa.Status.DesiredReplicas)
		}
		return harness.Has(hpa, harness.Condition{
			Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound",
		})
	})
}

// leader is who holds the Lease.
func (r *release) leader() string {
	r.t.Helper()
	leases := r.cluster.Client().CoordinationV1().Leases(namespace)
	lease, err := leases.Get(r.t.Context(), "plimsoll-controller", metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// awaitTakeover waits until the processes are all of new pods, and one of them leads.
func (r *release) awaitTakeover(controllers *podProcesses, before []string, leader string) {
	r.t.Helper()
	eventually(r.t, "new controllers", func(context.Context) error {
		now := controllers.pods()
		isOld := func(name string) bool { return slices.Contains(before, name) }
		if len(now) != len(before) || slices.ContainsFunc(now, isOld) {
			return fmt.Errorf("controllers of %q, before of %q", now, before)
		}
		if holder := r.leader(); holder == leader || holder == "" {
			return errors.New("the Lease is still held by " + holder)
		}
		return nil
	})
}
