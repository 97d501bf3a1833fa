package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// selectorField is the field that a WorkloadAutoscaler's errors of selectors name, and an HPA's do not.
var selectorField = regexp.MustCompile(`spec\.metrics\[\d+\]\.[a-zA-Z]+\.metric\.selector[a-zA-Z0-9.\[\]]*: `)

// likeHPA returns a WorkloadAutoscaler's text as an HPA's.
func likeHPA(text string) string { return selectorField.ReplaceAllString(sameText.Replace(text), "") }

// sameText are the beginnings of a WorkloadAutoscaler's texts that name its kind, and what an HPA's
// begin with. Nothing else may differ, but for the fields of selectors.
var sameText = strings.NewReplacer(
	"the WorkloadAutoscaler controller was ", "the HPA controller was ",
	"the WorkloadAutoscaler controller scaled ", "the HPA controller scaled ",
	"the WorkloadAutoscaler controller did not scale ", "the HPA controller did not scale ",
	"the WorkloadAutoscaler was ", "the HPA was ",
	"the WorkloadAutoscaler target's scale ", "the HPA target's scale ",
)

// purpose is why a WorkloadAutoscaler decides otherwise than the HPA whose spec it has.
type purpose string

// The purposes. All are about zero replicas, where a WorkloadAutoscaler has KEDA's rules.
const (
	lastReplicaGoes   purpose = "minReplicas is 0: the last replica goes by activity and cooldown"
	firstReplicaComes purpose = "minReplicas is 0: the first replica comes by activity"
	belowMin          purpose = "0 replicas are fewer than minReplicas: corrected at once"
	// Upstream knows that it scaled to zero by the status alone, and stays there if that write was lost.
	belowMinUnseen purpose = "0 replicas are fewer than minReplicas: corrected although the status write was lost"
)

// replay decides a timeline's steps with the HPA's spec in a WorkloadAutoscaler. What happened
// before is upstream's history: the HPA's own, decided beside.
type replay struct {
	line *Timeline
	// state is the history, idleSince the part that only a WorkloadAutoscaler has.
	state     *horizontal.State
	idleSince time.Time
	status    autoscalingv2.HorizontalPodAutoscalerStatus
}

// ComparePasted compares what a WorkloadAutoscaler with the HPA's spec decides with what upstream
// did, without divergences. It returns the step of an unexplained difference, or -1.
func (l *Timeline) ComparePasted(t *testing.T, tally *Tally) int {
	t.Helper()
	tally.Timelines++
	r := &replay{line: l}
	for i, s := range l.Situations {
		if s.Restart {
			r.state, r.idleSince = nil, time.Time{}
		}
		if s.Recreate {
			r.status = autoscalingv2.HorizontalPodAutoscalerStatus{}
		}
		tally.reach(s, &l.Upstream[i])
		if !s.hasReference() {
			// No scale can be read, so nothing is decided.
			tally.Unreadable++
			r.status = l.Upstream[i].Status
			continue
		}
		tally.Steps++
		what, why := r.step(i)
		switch {
		case what == "":
			tally.Equal++
		case why != "":
			tally.OnPurpose[why]++
		default:
			tally.unexplained(l, i, "a WorkloadAutoscaler decides otherwise (- upstream, + WorkloadAutoscaler):\n"+what)
			return i
		}
		r.status = l.Upstream[i].Status
	}
	return -1
}

// hasReference reports whether the spec's reference to its target can be read.
func (s *Situation) hasReference() bool {
	version := s.Spec.ScaleTargetRef.APIVersion
	return version == "v1" || version == "apps/v1"
}

// step is the difference in one step, and its purpose if it has one.
func (r *replay) step(i int) (difference string, why purpose) {
	s, upstream := r.line.Situations[i], &r.line.Upstream[i]
	snapshot := s.snapshot(&r.status)
	snapshot.Snapshot.ScaleError = s.Scale.GetError
	if r.state == nil {
		first := observehorizontal.FirstState(snapshot.Autoscaler())
		r.state = &first
	}
	mine := r.state.Clone()
	mine.IdleSince = r.idleSince
	hpa := observehorizontal.HPA(snapshot.HPA)
	other, theirs := r.decide(snapshot, hpa, *r.state, i)
	wla := observehorizontal.WorkloadAutoscaler(pasted(snapshot.HPA))
	got, mine := r.decide(snapshot, wla, mine, i)
	*r.state, r.idleSince = theirs, mine.IdleSince
	want := without(*upstream, s)
	if want.Status.DesiredReplicas == 0 && got.Status.DesiredReplicas == got.desired {
		// Where no count was ever computed, a WorkloadAutoscaler's status has the count that stays.
		want.Status.DesiredReplicas = got.desired
	}
	return diff(&want, &got.Result), r.purposeOf(s, &other, &got)
}

// decided is what becomes of a decision.
type decided struct {
	Result
	// asksForNone says that no replica is proposed or decided on.
	asksForNone bool
	desired     int32
	// isIdle says that no metric is active where there may be no replicas.
	isIdle bool
	// isOwnZero says that the object itself scaled the target to zero.
	isOwnZero bool
}

// decide is a decision and what becomes of it. The scale is written as upstream's write went.
func (r *replay) decide(
	snapshot *snapshothorizontal.Step, a observehorizontal.Autoscaler, state horizontal.State, i int,
) (decided, horizontal.State) {
	s, upstream := r.line.Situations[i], &r.line.Upstream[i]
	of := *snapshot
	of.HPA, of.Workload = a.HPA, a.Workload
	options := observehorizontal.DefaultOptions()
	options.Divergences = divergence.None
	policy, _, refusal := observehorizontal.PolicyOf(a, options)
	observation, err := of.Observe(&policy)
	must(err)
	observation.Refusal = refusal
	now := of.Snapshot.Time
	d, state := horizontal.Decide(now, &policy, state, &observation)
	outcome := horizontal.Outcome{At: now}
	result := decided{
		asksForNone: d.Desired == 0 || d.Proposed.Replicas < 1, desired: d.Desired,
		isIdle: d.Zero.IsPossible && !d.Zero.IsActive, isOwnZero: d.IsOwnZero,
	}
	if d.Rescale {
		// A conflict is tried again some milliseconds later.
		tries := max(1, len(upstream.Writes))
		outcome.At = now.Add(time.Duration(tries-1) * 10 * time.Millisecond)
		for try := range tries {
			outcome.Error = answerTo(s, upstream, try)
			result.Writes = append(result.Writes, fmt.Sprintf("%d→%d %s", d.Current, d.Desired, orNil(outcome.Error)))
		}
		state = horizontal.Settle(state, outcome)
	}
	report := statusreport.Of(&d, outcome)
	result.Status = snapshot.HPA.Status
	if s.StatusError == "" {
		after := observehorizontal.StatusAfter(a, &d, &report, now)
		result.Status = observehorizontal.StatusOfHPA(snapshot.HPA, &after)
	}
	// The snapshot's object has no generation.
	result.Status.ObservedGeneration = nil
	for c := range result.Status.Conditions {
		message := &result.Status.Conditions[c].Message
		*message = likeHPA(*message)
	}
	for _, e := range observehorizontal.Events(&report) {
		result.Events = append(result.Events, fmt.Sprintf("%s %s %s: %s", object, e.Type, e.Reason,
			likeHPA(e.Message)))
	}
	return result, state
}

// answerTo is what the API answered to a write of the scale; empty if it took it.
func answerTo(s *Situation, upstream *Result, try int) string {
	if try < len(upstream.Writes) {
		_, answer, _ := strings.Cut(upstream.Writes[try], " ")
		return strings.TrimPrefix(answer, "<nil>")
	}
	return s.Scale.WriteError
}

func orNil(text string) string {
	if text == "" {
		return "<nil>"
	}
	return text
}

// without is a result without what a decision alone does not show: series, generations, and that
// the status was not written.
func without(r Result, s *Situation) Result {
	r.Series, r.Rival, r.Status.ObservedGeneration = nil, nil, nil
	r.Events = slices.DeleteFunc(slices.Clone(r.Events), func(event string) bool {
		return s.StatusError != "" && strings.Contains(event, " FailedUpdateStatus: ")
	})
	return r
}

// purposeOf is the purpose that a difference in the situation may have; empty if it has none.
func (r *replay) purposeOf(s *Situation, hpa, wla *decided) purpose {
	isZero, mayBeZero := s.Scale.Spec == 0, s.Spec.MinReplicas != nil && *s.Spec.MinReplicas == 0
	switch {
	case isZero && mayBeZero:
		return firstReplicaComes
	case mayBeZero && (hpa.asksForNone || wla.asksForNone || wla.isIdle):
		return lastReplicaGoes
	case isZero && observehorizontal.HPA(&autoscalingv2.HorizontalPodAutoscaler{Status: r.status}).ScaledToZero():
		return belowMin
	case isZero && wla.isOwnZero:
		return belowMinUnseen
	}
	return ""
}

// pasted is a WorkloadAutoscaler with the HPA's spec, which goes through JSON as it does when a
// person copies it. It must have every field of it.
func pasted(hpa *autoscalingv2.HorizontalPodAutoscaler) *plimsollv1alpha1.WorkloadAutoscaler {
	wla := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: hpa.ObjectMeta}
	paste(&hpa.Spec, &wla.Spec)
	plimsollv1alpha1.SetDefaults(&wla.Spec)
	text, err := json.Marshal(&hpa.Status)
	must(err)
	must(json.Unmarshal(text, &wla.Status))
	// A WorkloadAutoscaler's status has metrics of another shape.
	for i := range hpa.Status.CurrentMetrics {
		m := &hpa.Status.CurrentMetrics[i]
		v := observehorizontal.ValueOf(m)
		wla.Status.Metrics = append(wla.Status.Metrics, plimsollv1alpha1.MetricStatus{
			Type: plimsollv1alpha1.MetricSourceType(m.Type), Value: v.Value, AverageValue: v.AverageValue,
			AverageUtilization: v.AverageUtilization,
		})
	}
	return wla
}

func paste(from, to any) {
	text, err := json.Marshal(from)
	must(err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	must(decoder.Decode(to))
}
