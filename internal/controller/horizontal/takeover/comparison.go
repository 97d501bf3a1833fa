package takeover

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// The values of the label result: how a decision differs from the other controller's.
const (
	resultAgree      = "agree"
	resultReplicas   = "replicas"
	resultConditions = "conditions"
)

// Comparison is the state of an HPA in mode shadow. The HPA's worker owns it, except isFresh.
type Comparison struct {
	// isFresh is set when the other controller writes the status. The informer sets it.
	isFresh atomic.Bool
	history history
}

// history is the state from the last decisions.
type history struct {
	// isKnown is set once scaledAt is known; scaledAt is status.lastScaleTime.
	isKnown  bool
	scaledAt *metav1.Time
	// differsSince is when the other's last decision started to differ; zero if it does not. The other may only not have
	// decided again yet.
	differsSince time.Time
	// recorded is when the HPA's state last got a recommendation.
	recorded time.Time
	// logged is the last difference that was logged.
	logged string
}

// StatusWritten records that the other controller has written the status.
func (c *Comparison) StatusWritten() { c.isFresh.Store(true) }

// Reset drops the state of a deleted HPA of the same name.
func (c *Comparison) Reset() {
	c.isFresh.Store(false)
	c.history = history{}
}

// Actual is the other controller's decision, according to the HPA's status.
type Actual struct {
	// isKnown is set if its last decision is about the current replica count.
	isKnown bool
	// isFresh is set if it has decided since the last decision here.
	isFresh bool
	// hasScaled is set if it changed the replica count since the last decision here, at scaledAt.
	hasScaled        bool
	scaledAt         *metav1.Time
	current, desired int32
}

// Follow reads from the status what the other controller did since the last decision. If it has scaled, the decision
// here uses the replica count and the pods from before that: the write came only milliseconds earlier.
func (c *Comparison) Follow(
	hpa *autoscalingv2.HorizontalPodAutoscaler, hasTarget bool, o *horizontal.Observation,
) Actual {
	status, h := &hpa.Status, &c.history
	a := Actual{
		isFresh: c.isFresh.Swap(false), current: status.CurrentReplicas, desired: status.DesiredReplicas,
		scaledAt: status.LastScaleTime,
	}
	a.hasScaled = h.isKnown && !status.LastScaleTime.Equal(h.scaledAt)
	h.isKnown, h.scaledAt = true, status.LastScaleTime
	if !succeeded(status) {
		// The status has the desired replicas of an earlier decision: a failed one keeps the replica count.
		a.desired = a.current
	}
	isCurrent := status.ObservedGeneration == nil || *status.ObservedGeneration == hpa.Generation
	if a.hasScaled {
		o.Target.SpecReplicas = a.current
	}
	a.isKnown = isCurrent && len(status.Conditions) > 0 && hasTarget && o.Target.SpecReplicas == a.current
	return a
}

// Pods returns the pods for the decision.
func (a *Actual) Pods(pods []*observe.Pod) []*observe.Pod {
	if a.hasScaled {
		return beforeScaling(pods, a.scaledAt)
	}
	return pods
}

// succeeded reports whether the other controller's last decision has a count.
func succeeded(status *autoscalingv2.HorizontalPodAutoscalerStatus) bool {
	for i := range status.Conditions {
		switch condition := &status.Conditions[i]; condition.Type {
		case autoscalingv2.ScalingLimited, autoscalingv2.ScaledToZero, conflict.Condition, statusreport.ReplicasOverridden:
			// These are false if all is well.
		default:
			if condition.Status == corev1.ConditionFalse {
				return false
			}
		}
	}
	return true
}

// beforeScaling drops the pods that were created with the scaling or after it.
func beforeScaling(pods []*observe.Pod, scaled *metav1.Time) []*observe.Pod {
	var left []*observe.Pod
	for _, pod := range pods {
		if created := metav1.Unix(0, pod.Created); created.Before(scaled) {
			left = append(left, pod)
		}
	}
	return left
}

// Comparer compares decisions with the other controller's.
type Comparer struct {
	SyncPeriod time.Duration
	Count      *prometheus.CounterVec
	Log        logr.Logger
}

// IsBetween reports whether a decision falls between two of the other controller's, and must not change the HPA's
// state. The other one's windows hold one recommendation for each of its decisions. One more between two of them would
// hold a replica count longer than the other does; but if it wrote nothing for a period, its recommendation was as
// before.
func (c *Comparer) IsBetween(now time.Time, with *Comparison, a *Actual) bool {
	return !a.isFresh && !a.hasScaled && now.Sub(with.history.recorded) < c.SyncPeriod
}

// Record returns the state after a decision, with what the other controller did to the scale.
func (c *Comparison) Record(now time.Time, d *Compared, state horizontal.State) horizontal.State {
	a := d.Actual
	state.Pending = nil
	if a.hasScaled && a.desired != a.current {
		pending := behavior.PendingOf(d.Policy.Behavior, a.current, a.desired)
		state.Pending = &pending
		state = horizontal.Settle(state, horizontal.Outcome{At: a.scaledAt.Time})
	}
	c.history.recorded = now
	return state
}

// Compared is a decision to compare.
type Compared struct {
	Autoscaler observehorizontal.Autoscaler
	Policy     *horizontal.Policy
	Actual     *Actual
	Decision   *horizontal.Decision
	Report     *statusreport.Report
}

// Compare counts and logs how the two decisions differ, if that is certain.
func (c *Comparer) Compare(with *Comparison, d *Compared) {
	if result, isCertain := c.compare(&with.history, d); isCertain {
		c.Count.WithLabelValues(result).Inc()
		c.log(&with.history, d, result)
	}
}

// compare returns how the two decisions differ. That is not certain while the other controller may not have the same
// inputs.
func (c *Comparer) compare(h *history, d *Compared) (result string, isCertain bool) {
	a := d.Actual
	if !a.isKnown {
		h.differsSince = time.Time{}
		return "", false
	}
	now := time.Now()
	if d.Decision.Desired != a.desired {
		if h.differsSince.IsZero() {
			h.differsSince = now
		}
		hasWaited := now.Sub(h.differsSince) >= c.SyncPeriod
		return resultReplicas, a.isFresh || a.hasScaled || hasWaited
	}
	h.differsSince = time.Time{}
	if a.isFresh && differingCondition(d.Autoscaler.HPA, d.Report) != "" {
		return resultConditions, true
	}
	return resultAgree, true
}

// differingCondition returns the first condition in which the two differ. Conditions about the write are not compared.
func differingCondition(hpa *autoscalingv2.HorizontalPodAutoscaler, r *statusreport.Report) string {
	for i := range r.Conditions {
		own := &r.Conditions[i]
		if own.Type != string(autoscalingv2.ScalingActive) && own.Type != string(autoscalingv2.ScalingLimited) {
			continue
		}
		for j := range hpa.Status.Conditions {
			other := &hpa.Status.Conditions[j]
			if string(other.Type) == own.Type &&
				(other.Reason != own.Reason || string(other.Status) != string(own.Status)) {
				return own.Type
			}
		}
	}
	return ""
}

// log logs changes of scale and new differences at the default level, the rest at level 1.
func (c *Comparer) log(h *history, d *Compared, result string) {
	a := d.Actual
	message := "shadow agrees"
	difference := ""
	if result != resultAgree {
		message = "shadow differs in " + result
		difference = fmt.Sprint(result, d.Decision.Desired, a.desired, differingCondition(d.Autoscaler.HPA, d.Report))
	}
	log := c.Log
	if !a.hasScaled && (difference == "" || difference == h.logged) {
		log = log.V(1)
	}
	h.logged = difference
	log.Info(message, "object", nameOf(d.Autoscaler), "target", d.Autoscaler.TargetName(),
		"current",
		d.Decision.Current,
		"desired", d.Decision.Desired, "actual", a.desired, "reason", because(d.Report), "actualReason",
		becauseOther(d.Autoscaler.HPA))
}

// because returns the reasons of the replica count in the conditions.
func because(r *statusreport.Report) string {
	text := r.Reason
	for _, c := range r.Conditions {
		text = joined(text, c.Type, c.Reason)
	}
	return text
}

func becauseOther(hpa *autoscalingv2.HorizontalPodAutoscaler) string {
	text := ""
	for i := range hpa.Status.Conditions {
		text = joined(text, string(hpa.Status.Conditions[i].Type), hpa.Status.Conditions[i].Reason)
	}
	return text
}

func joined(text, kind, reason string) string {
	if text != "" {
		text += "; "
	}
	return text + kind + ": " + reason
}
