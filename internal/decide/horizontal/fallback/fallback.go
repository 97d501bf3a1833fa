// Package fallback tracks for how long metrics have failed, and decides which of them use their fallback.
package fallback

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// Failures has the metrics with a fallback that cannot be computed.
type Failures []Failure

// Failure is a metric that has failed in every decision since then.
type Failure struct {
	// Metric identifies it, so that it is found after an edit of the object's list of metrics.
	Metric string `json:"metric"`
	// Since is when it first failed; zero if it has recovered, and that has not been reported yet.
	Since time.Time `json:"since,omitzero"`
	// Active is set once its fallback has begun and that was reported.
	Active bool `json:"active,omitempty"`
	// From is the replica count when its fallback began; 0 if it has not, or if that is not known.
	From int32 `json:"from,omitempty"`

	// isFailing and isActive belong to the current decision.
	isFailing, isActive bool
}

// Input has the inputs of Update. Results[i] belongs to Specs[i].
type Input struct {
	Now     time.Time
	Specs   []source.Spec
	Results []metric.Result
	Current int32
}

// Result says which fallbacks are active.
type Result struct {
	// Active has the fallbacks that ask for replicas, in the order of the metrics.
	Active []Active
	// Began and Ended are the indices of the metrics whose fallback began or ended with this decision.
	Began, Ended []int
	// Failed and Pending count the metrics with an active fallback that failed in this decision, and those without values
	// yet.
	Failed, Pending int
	// Due is when the next fallback begins if its metric goes on failing, and DueMetric the metric's index; Due is zero
	// if none does.
	Due       time.Time
	DueMetric int
}

// Active is a fallback that asks for replicas.
type Active struct {
	// Metric is the metric's index.
	Metric   int
	Since    time.Time
	Replicas int32
	// From is the count when it began; 0 if that is not known.
	From int32
}

// IsActive reports whether one of the fallbacks in force is of the metric.
func IsActive(fallbacks []Active, metric int) bool {
	return slices.ContainsFunc(fallbacks, func(f Active) bool { return f.Metric == metric })
}

// Clone returns a copy that shares no buffers.
func (r *Result) Clone() Result {
	c := *r
	c.Active, c.Began, c.Ended = slices.Clone(r.Active), slices.Clone(r.Began), slices.Clone(r.Ended)
	return c
}

// Update adds the results of a decision, and writes the result into its buffers. A metric whose values are awaited
// neither begins to fail nor recovers.
func (f *Failures) Update(in *Input, r *Result) {
	*r = Result{Active: r.Active[:0], Began: r.Began[:0], Ended: r.Ended[:0]}
	for i := range *f {
		(*f)[i].isFailing, (*f)[i].isActive = false, false
	}
	for i := range in.Specs {
		if in.Specs[i].Fallback.FailureDuration > 0 && in.isMeasured(i) {
			f.update(in, i, r)
		}
	}
	f.end(in, r)
}

// isMeasured reports whether the metric can have values: without pods those of the pods have none.
func (in *Input) isMeasured(i int) bool {
	return in.Current > 0 || in.Specs[i].HasValueWithoutPods()
}

func (f *Failures) update(in *Input, i int, r *Result) {
	spec, result := &in.Specs[i], &in.Results[i]
	if result.Failure == nil && !result.Pending {
		return
	}
	failure := f.find(spec)
	switch {
	case result.Pending && (failure == nil || failure.Since.IsZero()):
		return
	case failure == nil:
		*f = append(*f, Failure{Metric: identify(spec), Since: in.Now})
		failure = &(*f)[len(*f)-1]
	case failure.Since.IsZero() || failure.Since.After(in.Now):
		// It had recovered, or the clock was set back.
		failure.Since, failure.From = in.Now, 0
	}
	failure.isFailing = true
	due := failure.Since.Add(spec.Fallback.FailureDuration)
	if in.Now.Before(due) {
		if r.Due.IsZero() || due.Before(r.Due) {
			r.Due, r.DueMetric = due, i
		}
		return
	}
	if failure.isActive = true; !failure.Active {
		r.Began = append(r.Began, i)
		failure.From = cmp.Or(failure.From, in.Current)
	}
	r.Active = append(r.Active, Active{
		Metric: i, Since: failure.Since, Replicas: max(spec.Fallback.ReplicasAt(in.Current), result.Least),
		From: failure.From,
	})
	if result.Pending {
		r.Pending++
	} else {
		r.Failed++
	}
}

// end finds the fallbacks that have ended. A failure stays until that is reported.
func (f *Failures) end(in *Input, r *Result) {
	for i := range *f {
		failure := &(*f)[i]
		if !failure.isFailing {
			failure.Since = time.Time{}
		}
		if !failure.Active || failure.isActive {
			continue
		}
		isIt := func(s source.Spec) bool { return identify(&s) == failure.Metric }
		if i := slices.IndexFunc(in.Specs, isIt); i >= 0 {
			r.Ended = append(r.Ended, i)
		}
	}
}

// FailingSince returns the history of metrics that have all failed since then. Those that can be computed again leave
// it with the next decision.
func FailingSince(specs []source.Spec, since time.Time) (f Failures) {
	for i := range specs {
		if specs[i].Fallback.FailureDuration > 0 {
			f = append(f, Failure{Metric: identify(&specs[i]), Since: since})
		}
	}
	return f
}

// Confirm records that the last result is reported: the next one does not repeat what began and what ended.
func (f *Failures) Confirm() {
	*f = slices.DeleteFunc(*f, func(failure Failure) bool { return failure.Since.IsZero() })
	for i := range *f {
		(*f)[i].Active = (*f)[i].isActive
	}
	if len(*f) == 0 {
		*f = nil
	}
}

// Clear drops all failures: the metrics are not read any more.
func (f *Failures) Clear() { *f = nil }

func (f *Failures) find(spec *source.Spec) *Failure {
	if len(*f) == 0 {
		return nil
	}
	id := identify(spec)
	i := slices.IndexFunc(*f, func(failure Failure) bool { return failure.Metric == id })
	if i < 0 {
		return nil
	}
	return &(*f)[i]
}

// identify returns a text that distinguishes metrics by what they measure. Their targets may change.
func identify(s *source.Spec) string {
	if s.Identity != "" {
		return string(s.Type) + "/" + s.Identity
	}
	parts := []string{string(s.Type), s.Name, s.Container, s.Object.Kind, s.Object.Name, s.SelectorText}
	return strings.TrimRight(strings.Join(parts, "/"), "/")
}

// Asks describes the proposal of a metric's fallback at the current count: "asks for 6", or that its policy keeps the
// current count, with the number of the spec that the policy compares it with.
func Asks(f *source.Fallback, r *metric.Result, current int32) string {
	replicas := f.ReplicasAt(current)
	if r.Least > replicas {
		return fmt.Sprintf("asks for %d, by the values that are known", r.Least)
	}
	if f.Policy == source.Static || replicas != current {
		return fmt.Sprintf("asks for %d", replicas)
	}
	switch f.Policy {
	case source.CurrentReplicasIfHigher:
		return fmt.Sprintf("keeps the current count, at least %d", f.Replicas)
	case source.CurrentReplicasIfLower:
		return fmt.Sprintf("keeps the current count, at most %d", f.Replicas)
	}
	return "keeps the current count"
}

// Text returns the text about a metric in the condition FallbackActive and its event.
func Text(spec *source.Spec, set divergence.Set) string {
	f := &spec.Fallback
	replicas := fmt.Sprintf("%d replicas", f.Replicas)
	switch f.Policy {
	case source.CurrentReplicas:
		replicas = "the current replica count"
	case source.CurrentReplicasIfHigher:
		replicas = fmt.Sprintf("the current replica count, at least %d", f.Replicas)
	case source.CurrentReplicasIfLower:
		replicas = fmt.Sprintf("the current replica count, at most %d", f.Replicas)
	}
	return fmt.Sprintf("%s could not be computed for %s: its fallback asks for %s", spec.Describe(set), f.FailureDuration,
		replicas)
}
