//go:build keda

package keda

import (
	"context"
	"fmt"
	"slices"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

const comparisons = "plimsoll_shadow_comparisons_total"

// replicas are wanted one after the other, each far enough from the one before to be outside of the tolerance.
var replicas = []int{4, 11, 3, 7, 1}

// The HPAs that KEDA makes are decided by Plimsoll as by upstream's loop: beside it, in mode shadow, with the same
// counts and conditions, also while a metric cannot be read and while KEDA has the target at zero; and in its place,
// with the same counts one after the other.
func TestHPAsOfKEDA(t *testing.T) {
	kinds := []string{byCron, byPrometheus, byScaler, byPush}
	s := newScaled(t, 0, kinds...)
	flags := append(slices.Clone(syncFlags), "--leader-elect=false", "--components=horizontal", "--divergences=none")
	shadow := program.StartInstance(t, "keda-shadow", append(flags, "--horizontal-pod-autoscalers=shadow")...)
	for _, n := range replicas {
		for _, kind := range kinds {
			s.want(kind, n)
		}
		for _, kind := range kinds {
			s.AwaitReplicas(harness.Deployment, kind, int64(n))
			s.awaitAgreement(shadow, kind, n)
		}
	}
	s.loseScaler(shadow)
	changes := 0
	for _, kind := range kinds {
		all := s.changes[kind].All()
		t.Logf("%s: %v", kind, all)
		changes += len(all)
		if !slices.Equal(counts(all), replicas) || len(s.changes[kind].By(upstream)) != len(all) {
			t.Errorf("%s: %v, want %v by %s", kind, all, replicas, upstream)
		}
	}
	agreed, differed := shadow.Metric(comparisons, `result="agree"`), shadow.Metric(comparisons, `result="replicas"`)
	conditions := shadow.Metric(comparisons, `result="conditions"`)
	t.Logf("%v decisions as upstream's; %v differ in replicas, %v in conditions; %d changes", agreed, differed, conditions,
		changes)
	// The two do not read at the same moment: a change may make them differ twice in its count, and once in its
	// conditions.
	if differed > float64(2*changes) || conditions > float64(changes) || agreed < 10*(differed+conditions) {
		t.Errorf("%v decisions agree, %v differ in replicas, %v in conditions", agreed, differed, conditions)
	}
	s.zero(shadow)
	shadow.Stop()
	s.act(flags, kinds)
}

// zero has KEDA scale to zero and back, beside which both leave the target alone.
func (s *scaled) zero(shadow *harness.Instance) {
	s.t.Helper()
	for _, kind := range []string{byPrometheus, byPush} {
		before := len(s.changes[kind].All())
		load.set(s.queue(kind), 0)
		s.AwaitReplicas(harness.Deployment, kind, 0)
		s.AwaitConditions(hpaOf(kind), harness.Condition{
			Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "ScalingDisabled"})
		s.awaitAgreement(shadow, kind, 0)
		s.want(kind, 3)
		s.AwaitReplicas(harness.Deployment, kind, 3)
		s.awaitAgreement(shadow, kind, 3)
		s.want(kind, 1)
		s.AwaitReplicas(harness.Deployment, kind, 1)
		s.awaitAgreement(shadow, kind, 1)
		s.t.Logf("%s, to zero and back: %v", kind, s.changes[kind].All()[before:])
	}
}

func counts(changes []harness.Change) []int {
	var all []int
	for _, c := range changes {
		all = append(all, int(c.To))
	}
	return all
}

// awaitAgreement waits until the shadow wants the count that upstream's loop wants.
func (s *scaled) awaitAgreement(shadow *harness.Instance, kind string, n int) {
	s.t.Helper()
	count := func() int {
		lines, err := s.LogLinesOf(shadow.Name, s.Name+"/"+hpaOf(kind))
		if err != nil {
			s.t.Fatal(err)
		}
		return len(slices.DeleteFunc(lines, func(line map[string]string) bool {
			return line["msg"] != "shadow agrees" || line["desired"] != fmt.Sprint(n) || line["actual"] != fmt.Sprint(n)
		}))
	}
	before := count()
	s.Eventually(fmt.Sprintf("%d replicas of %s wanted by both", n, kind), func(context.Context) error {
		if count() <= before {
			return fmt.Errorf("no decision of both")
		}
		return nil
	})
}

// loseScaler makes a scaler fail. Both report that, and scale nothing.
func (s *scaled) loseScaler(shadow *harness.Instance) {
	s.t.Helper()
	load.lose(s.queue(byScaler))
	s.AwaitConditions(hpaOf(byScaler), harness.Condition{
		Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "FailedGetExternalMetric"})
	before := shadow.Metric(comparisons, `result="agree"`)
	s.Eventually("agreement that the metric cannot be read", func(context.Context) error {
		lines, err := s.LogLinesOf(shadow.Name, s.Name+"/"+hpaOf(byScaler))
		if err != nil || len(lines) == 0 {
			return fmt.Errorf("%v: %w", lines, err)
		}
		last := lines[len(lines)-1]
		if shadow.Metric(comparisons, `result="agree"`) < before+3 || last["msg"] != "shadow agrees" {
			return fmt.Errorf("%v", last)
		}
		return nil
	})
	s.want(byScaler, 1)
	s.awaitAgreement(shadow, byScaler, 1)
}

// act has Plimsoll act in place of upstream's loop, on the same loads.
func (s *scaled) act(flags, kinds []string) {
	s.t.Helper()
	off := append(slices.Clone(syncFlags), "--controllers=*,-horizontal-pod-autoscaler-controller")
	if err := s.Cluster.RestartControllerManager(s.t.Context(), off...); err != nil {
		s.t.Fatal(err)
	}
	if err := program.Start(s.t.Context(), append(flags, "--horizontal-pod-autoscalers=act")...); err != nil {
		s.t.Fatal(err)
	}
	before := map[string]int{}
	for _, kind := range kinds {
		before[kind] = len(s.changes[kind].All())
	}
	for _, n := range replicas {
		for _, kind := range kinds {
			s.want(kind, n)
		}
		for _, kind := range kinds {
			s.AwaitReplicas(harness.Deployment, kind, int64(n))
			s.awaitHPA(kind, int32(n))
		}
	}
	for _, kind := range kinds {
		all := s.changes[kind].All()[before[kind]:]
		s.t.Logf("%s: %v", kind, all)
		if !slices.Equal(counts(all), replicas) || slices.ContainsFunc(all,
			func(c harness.Change) bool { return c.By != plimsoll && c.By != nobody }) {
			s.t.Errorf("%s: %v, want %v by %s", kind, all, replicas, plimsoll)
		}
	}
	program.Stop(s.t.Context())
	if err := s.Cluster.RestartControllerManager(s.t.Context(), syncFlags...); err != nil {
		s.t.Fatal(err)
	}
}
