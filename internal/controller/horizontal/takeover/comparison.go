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

// The values of the label result: in what a decision differs from the other
// controller's.
const (
	resultAgree      = "agree"
	resultReplicas   = "replicas"
	resultConditions = "conditions"
)

// Comparison is what shadow mode remembers of an HPA. The worker that has the HPA owns it,
// apart from isFresh.
type Comparison struct {
	// isFresh says that the other controller has just written status. The informer sets it.
	isFresh atomic.Bool
	history history
}

// history is what the last decisions have seen.
type history struct {
	// isKnown says that scaledAt is known; scaledAt is status.lastScaleTime.
	isKnown  bool
	scaledAt *metav1.Time
	// differsSince is when the other's last decision began to differ; zero if it does not. It
	// may only not have been made yet.
	differsSince time.Time
	// recorded is when a recommendation was last added to the HPA's state.
	recorded time.Time
	// logged is the last difference that was logged.
	logged string
}

// StatusWritten notes that the other controller has written status.
func (c *Comparison) StatusWritten() { c.isFresh.Store(true) }

// Reset forgets all, for another HPA of the same name.
func (c *Comparison) Reset() {
	c.isFresh.Store(false)
	c.history = history{}
}

// Actual is what the other controller did, according to the HPA's status.
type Actual struct {
	// isKnown says that its last decision is about the replica count as it is now.
	isKnown bool
	// isFresh says that it has only just decided.
	isFresh bool
	// hasScaled says that it changed the replica count since the last decision here, scaledAt when.
	hasScaled        bool
	scaledAt         *metav1.Time
	current, desired int32
}

// Follow reads from status what the other controller did since the last decision. Where it has
// scaled, the decision is made on the replica count that it started from, and on the pods of that
// time: its write came milliseconds before.
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
		// The desired replicas in status are from an earlier decision; the last one kept the
		// replica count.
		a.desired = a.current
	}
	isCurrent := status.ObservedGeneration == nil || *status.ObservedGeneration == hpa.Generation
	if a.hasScaled {
		o.Target.SpecReplicas = a.current
	}
	a.isKnown = isCurrent && len(status.Conditions) > 0 && hasTarget && o.Target.SpecReplicas == a.current
	return a
}

// Pods are those of the decision.
func (a *Actual) Pods(pods []*observe.Pod) []*observe.Pod {
	if a.hasScaled {
		return beforeScaling(pods, a.scaledAt)
	}
	return pods
}

// succeeded reports whether the other controller's last decision came to a count.
func succeeded(status *autoscalingv2.HorizontalPodAutoscalerStatus) bool {
	for i := range status.Conditions {
		switch condition := &status.Conditions[i]; condition.Type {
		case autoscalingv2.ScalingLimited, autoscalingv2.ScaledToZero, conflict.Condition, statusreport.ReplicasOverridden:
			// They are false where all is well.
		default:
			if condition.Status == corev1.ConditionFalse {
				return false
			}
		}
	}
	return true
}

// beforeScaling leaves out the pods that came with the scaling or after it.
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

// IsBetween reports whether a decision falls between two of the other controller's, and must
// leave no trace in the HPA's state. The other one's windows hold one recommendation for each of
// its decisions. One more between two of them would hold a replica count longer than it does;
// but where it had nothing to write for a period, its recommendation was as before.
func (c *Comparer) IsBetween(now time.Time, with *Comparison, a *Actual) bool {
	return !a.isFresh && !a.hasScaled && now.Sub(with.history.recorded) < c.SyncPeriod
}

// Record is the state after a decision. It follows what really happened to the scale.
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

// Compared is a decision that is compared.
type Compared struct {
	Autoscaler observehorizontal.Autoscaler
	Policy     *horizontal.Policy
	Actual     *Actual
	Decision   *horizontal.Decision
	Report     *statusreport.Report
}

// Compare counts and logs how the two decisions differ, where that is certain.
func (c *Comparer) Compare(with *Comparison, d *Compared) {
	if result, isCertain := c.compare(&with.history, d); isCertain {
		c.Count.WithLabelValues(result).Inc()
		c.log(&with.history, d, result)
	}
}

// compare says how the two decisions differ. It is not certain while the other controller may
// not have seen what this one has seen.
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

// differingCondition names the first condition in which the two differ. Those about the write
// are not compared.
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

// log writes changes of scale and what has not been logged before at the default level, the
// rest at level 1.
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

// because is why the replica count is what it is, from the conditions.
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
