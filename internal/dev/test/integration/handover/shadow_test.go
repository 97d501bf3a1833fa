package handover

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

const comparisons = "plimsoll_shadow_comparisons_total"

// Two shadows beside kube-controller-manager's loop: one with its settings, which agrees with it up and down, and one
// with another tolerance, which logs where it would have decided otherwise and why. Neither writes anything.
func TestShadowDecidesAndWritesNothing(t *testing.T) {
	s, p := namespace(t)
	settings := []string{often, "--horizontal-pod-autoscaler-downscale-stabilization=10s"}
	restart(t, s, append(settings, loopOn)...)
	s.Create(harness.Workload{Replicas: ptr.To[int32](2)}.Deployment(), harness.Queue("jobs", 15),
		harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	s.AwaitConditions("web", validMetric())
	awaitAverage(s, "web", 8) // of both pods, 7.5
	changes := s.WatchChanges("web")

	before := len(writesBy(t, plimsollUser))
	settings = append(settings, "--horizontal-pod-autoscalers=shadow", "--leader-elect=false")
	twin := p.StartInstance(t, "shadow-twin", settings...)
	lazy := p.StartInstance(t, "shadow-lazy", append(settings, "--horizontal-pod-autoscaler-tolerance=0.5")...)
	awaitAgreement(s, twin)
	awaitAgreement(s, lazy)
	if n := lazy.Metric(comparisons, `result="replicas"`); n != 0 {
		t.Errorf("%v differences in replicas at rest", n)
	}

	provokeDifference(s, lazy)
	awaitAgreement(s, twin)
	if n := lazy.Metric(comparisons, `result="replicas"`); n == 0 {
		t.Error("the difference in replicas is logged and not counted")
	}

	s.SetQueue("jobs", 65)
	s.AwaitReplicas(harness.Deployment, "web", 7)
	awaitAgreement(s, twin)
	awaitAgreement(s, lazy)
	s.SetQueue("jobs", 15)
	s.AwaitReplicas(harness.Deployment, "web", 2)
	awaitAgreement(s, twin)
	awaitAgreement(s, lazy)

	agreed, differed := twin.Metric(comparisons, `result="agree"`), twin.Metric(comparisons, `result="replicas"`)
	t.Logf("the twin agreed %v times and differed %v times in replicas; changes: %v", agreed, differed, changes.All())
	// The two do not read at the same moment: each change may make them differ twice.
	if differed > agreed/10+float64(2*len(changes.All())) {
		t.Errorf("the twin agreed %v times and differed %v times", agreed, differed)
	}
	for _, c := range changes.All() {
		if c.By != "kube-controller-manager" {
			t.Errorf("%s has scaled from %d to %d", c.By, c.From, c.To)
		}
	}
	// No scale, no status, no event, no Lease.
	if writes := writesBy(t, plimsollUser)[before:]; len(writes) > 0 {
		t.Errorf("the shadows have written: %v", writes)
	}
	if len(writesBy(t, loopUser)) == 0 {
		t.Error("the audit log does not show the writes of kube-controller-manager's loop")
	}
}

// awaitAgreement waits until the shadow has agreed three times more.
func awaitAgreement(s *harness.Namespace, shadow *harness.Instance) {
	before := shadow.Metric(comparisons, `result="agree"`)
	s.Eventually("agreement of "+shadow.Name, func(context.Context) error {
		if now := shadow.Metric(comparisons, `result="agree"`); now < before+3 {
			return fmt.Errorf("%v agreements before, %v now", before, now)
		}
		return nil
	})
}

// provokeDifference scales from 2 to 3 until the lazy one's log has the difference that it would have stayed at 2. The
// status with kube-controller-manager's last decision stays until its next one, two seconds later: on a busy machine a
// shadow may come too late for it, and rightly compares with the next one.
func provokeDifference(s *harness.Namespace, lazy *harness.Instance) {
	s.EventuallyWithin(2*harness.Long, "the difference in the log", func(context.Context) error {
		s.SetQueue("jobs", 28) // 1.4 times what two pods shall have
		s.AwaitReplicas(harness.Deployment, "web", 3)
		awaitComparisons(s, lazy, 3)
		err := differenceLogged(s, lazy)
		if err != nil {
			s.SetQueue("jobs", 15)
			s.AwaitReplicas(harness.Deployment, "web", 2)
			awaitComparisons(s, lazy, 3)
		}
		return err
	})
}

// awaitComparisons waits until the shadow has compared so many times more, whatever came of it.
func awaitComparisons(s *harness.Namespace, shadow *harness.Instance, more float64) {
	before := shadow.Metric(comparisons)
	s.Eventually("comparisons of "+shadow.Name, func(context.Context) error {
		if now := shadow.Metric(comparisons); now < before+more {
			return fmt.Errorf("%v comparisons before, %v now", before, now)
		}
		return nil
	})
}

// differenceLogged returns nil if the log has the difference that the shadow would have stayed at 2, with the reason.
func differenceLogged(s *harness.Namespace, shadow *harness.Instance) error {
	lines, err := s.LogLinesOf(shadow.Name, s.Name+"/web")
	if err != nil {
		return err
	}
	for _, line := range lines {
		const valid = "ScalingActive: ValidMetricFound"
		if line["level"] == "INFO" && line["msg"] == "shadow differs in replicas" &&
			line["desired"] == "2" && line["actual"] == "3" &&
			strings.Contains(line["reason"], valid) && strings.Contains(line["actualReason"], valid) {
			return nil
		}
	}
	return fmt.Errorf("lines %v", lines)
}
