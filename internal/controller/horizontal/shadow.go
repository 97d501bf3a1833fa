package horizontal

import (
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/report"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// The values of the label result: in what a decision differs from the other
// controller's.
const (
	shadowAgrees     = "agree"
	shadowReplicas   = "replicas"
	shadowConditions = "conditions"
)

// shadow is what shadow mode remembers of an object.
type shadow struct {
	// fresh says that the other controller has just written status. It is
	// guarded by Controller.mu.
	fresh bool
	// known says that scaledAt is known; scaledAt is status.lastScaleTime.
	known    bool
	scaledAt *metav1.Time
	// differsSince is when the other's last word began to differ; zero if it
	// does not. It may only not have looked yet.
	differsSince time.Time
	// remembered is when a recommendation was last added to the history.
	remembered time.Time
	// told is the last difference that was logged.
	told string
}

// actual is what the other controller did, as the object's status tells.
type actual struct {
	// known says that its last word is about the count as it is now.
	known bool
	// fresh says that it has only just decided.
	fresh bool
	// scaled says that it changed the count since the last look.
	scaled           bool
	current, desired int32
}

// follow sees what the other controller did since the last look. Where it has
// scaled, the decision is made on the count that it started from, and on the
// pods of that time: its write came milliseconds before.
func (c *Controller) follow(p *pass) actual {
	status := &p.hpa.Status
	c.mu.Lock()
	a := actual{fresh: p.track.shadow.fresh, current: status.CurrentReplicas, desired: status.DesiredReplicas}
	p.track.shadow.fresh = false
	c.mu.Unlock()
	s := &p.track.shadow
	a.scaled = s.known && !status.LastScaleTime.Equal(s.scaledAt)
	s.known, s.scaledAt = true, status.LastScaleTime
	if !succeeded(status) {
		// What status says is wanted is from an earlier time; this time it kept what
		// there was.
		a.desired = a.current
	}
	current := status.ObservedGeneration == nil || *status.ObservedGeneration == p.hpa.Generation
	if a.scaled {
		p.observation.Target.SpecReplicas = a.current
	}
	a.known = current && len(status.Conditions) > 0 && p.targetErr == nil && p.observation.Target.SpecReplicas == a.current
	return a
}

// succeeded reports whether the other controller's last decision came to a count.
func succeeded(status *autoscalingv2.HorizontalPodAutoscalerStatus) bool {
	for i := range status.Conditions {
		switch c := &status.Conditions[i]; c.Type {
		case autoscalingv2.ScalingLimited, autoscalingv2.ScaledToZero, conflict.Condition:
			// They are false where all is well.
		default:
			if c.Status == corev1.ConditionFalse {
				return false
			}
		}
	}
	return true
}

// before leaves out the pods that came with the scaling or after it.
func before(pods []*observe.Pod, scaled *metav1.Time) []*observe.Pod {
	var earlier []*observe.Pod
	for _, pod := range pods {
		if created := metav1.Unix(0, pod.Created); created.Before(scaled) {
			earlier = append(earlier, pod)
		}
	}
	return earlier
}

// shadow decides and compares with the other controller's decision instead of
// carrying it out. The history follows what really happened to the scale.
func (c *Controller) shadow(p *pass) {
	now, a, s := time.Now(), p.actual, &p.track.shadow
	state := p.track.state
	// The other one's windows hold one recommendation for each of its turns. One
	// more between two of them would hold a count longer than it does; but where
	// it had nothing to write for a period, its recommendation was as before.
	between := !a.fresh && !a.scaled && now.Sub(s.remembered) < c.config.SyncPeriod
	if between {
		state = state.Clone()
	}
	// The other one decides by its sync period alone.
	p.observation.Trigger, p.observation.NewerAwaited = trigger.Periodic, false
	step := c.prepare(p)
	d, state := horizontal.Decide(now, &p.policy, state, &p.observation)
	c.inspect(p, step, &d)
	if !between {
		state.Pending = nil
		if a.scaled && a.desired != a.current {
			pending := behavior.PendingOf(p.policy.Behavior, a.desired-a.current)
			state.Pending = &pending
			state = horizontal.Settle(state, horizontal.Outcome{At: p.hpa.Status.LastScaleTime.Time})
		}
		p.track.state, s.remembered = state, now
	}
	report := d.Report(horizontal.Outcome{At: now})
	c.measure(p, &d, &report, nil)
	if result, certain := c.compare(p, &d, &report); certain {
		c.metrics.shadow.WithLabelValues(result).Inc()
		c.tellShadow(p, &d, &report, result)
	}
}

// compare says how the two decisions differ. It is not certain while the other
// controller may not have looked at what this one has seen.
func (c *Controller) compare(p *pass, d *horizontal.Decision, r *report.Report) (result string, certain bool) {
	a, s := p.actual, &p.track.shadow
	if !a.known {
		s.differsSince = time.Time{}
		return "", false
	}
	now := time.Now()
	if d.Desired != a.desired {
		if s.differsSince.IsZero() {
			s.differsSince = now
		}
		waited := now.Sub(s.differsSince) >= c.config.SyncPeriod
		return shadowReplicas, a.fresh || a.scaled || waited
	}
	s.differsSince = time.Time{}
	if a.fresh && differingCondition(p.hpa, r) != "" {
		return shadowConditions, true
	}
	return shadowAgrees, true
}

// differingCondition names the first condition of which the two say different
// things; those that tell how things went with the write are not compared.
func differingCondition(hpa *autoscalingv2.HorizontalPodAutoscaler, r *report.Report) string {
	for i := range r.Conditions {
		own := &r.Conditions[i]
		if own.Type != string(autoscalingv2.ScalingActive) && own.Type != string(autoscalingv2.ScalingLimited) {
			continue
		}
		for j := range hpa.Status.Conditions {
			other := &hpa.Status.Conditions[j]
			if string(other.Type) == own.Type && (other.Reason != own.Reason || (other.Status == corev1.ConditionTrue) != own.True) {
				return own.Type
			}
		}
	}
	return ""
}

// tellShadow logs changes of scale and what has not been logged before; the rest
// is for those who ask for more.
func (c *Controller) tellShadow(p *pass, d *horizontal.Decision, r *report.Report, result string) {
	a, s := p.actual, &p.track.shadow
	message := "shadow agrees"
	difference := ""
	if result != shadowAgrees {
		message = "shadow differs in " + result
		difference = fmt.Sprint(result, d.Desired, a.desired, differingCondition(p.hpa, r))
	}
	log := c.log
	if !a.scaled && (difference == "" || difference == s.told) {
		log = log.V(1)
	}
	s.told = difference
	log.Info(message, "object", nameOf(p.hpa).String(), "target", targetName(p), "current", d.Current,
		"desired", d.Desired, "actual", a.desired, "reason", because(r), "actualReason", becauseOther(p.hpa))
}

// because is why the count is what it is, in the words of the conditions.
func because(r *report.Report) string {
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

// shadowPods are the pods of the decision.
func (p *pass) shadowPods(pods []*observe.Pod) []*observe.Pod {
	if p.actual.scaled {
		return before(pods, p.hpa.Status.LastScaleTime)
	}
	return pods
}
