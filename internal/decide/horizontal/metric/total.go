package metric

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// fromTotal evaluates a metric that is one value for the whole target, or the sum of its series.
func fromTotal(spec *source.Spec, reading *Reading, c *Context, r *Result) string {
	text := compareTotal(spec, reading, c, r)
	switch {
	case text != "" || !reading.IsLeast:
		return text
	case c.isRaisedOn(spec, reading):
		// A value of a silent pod stays. The same one must not multiply the count again and again.
	case r.Replicas >= c.SpecReplicas && r.Total > spec.ActivationMilli:
		return ""
	case reading.Incomplete != "":
		// What is not known may be all that the target has to do.
		r.Least = r.Replicas
		return unread(spec, c, reading.Incomplete)
	}
	*r = Result{Asked: reading.Asked, Activity: reading.Activity, Pending: true}
	return ""
}

// isRaisedOn reports whether the count was raised after a part of the value was measured that the ratio to the target
// multiplies.
func (c *Context) isRaisedOn(spec *source.Spec, reading *Reading) bool {
	return spec.Target.Type != source.AverageValue && !c.RaisedAt.IsZero() && !reading.At.After(c.RaisedAt)
}

func compareTotal(spec *source.Spec, reading *Reading, c *Context, r *Result) string {
	usage := totalOf(spec, reading.Series, c.arithmetic())
	r.At, r.Oldest, r.Began, r.Total = reading.At, reading.At, reading.At, usage
	target := spec.Target.Milli
	if spec.IsOwnTarget {
		target, r.TargetMilli = reading.TargetMilli, reading.TargetMilli
	}
	if spec.Target.Type == source.AverageValue {
		perReplica(spec, c, total{usage: usage, target: target}, r)
		return ""
	}
	r.Milli, r.Ratio = usage, float64(usage)/float64(target)
	r.Adjusted = r.Ratio
	return scaleValue(r, c)
}

// scaleValue multiplies the ratio with the ready pods (upstream:
// getUsageRatioReplicaCount). From zero the ratio alone is the count, and
// tolerance does not apply.
func scaleValue(r *Result, c *Context) string {
	if c.SpecReplicas == 0 {
		r.Replicas, r.Base, r.Verdict = c.arithmetic().Ceil32(r.Ratio), 1, Scaled
		return ""
	}
	r.Replicas, r.Verdict = c.SpecReplicas, WithinTolerance
	if c.Tolerance.Within(r.Ratio) {
		return ""
	}
	if len(c.Pods) == 0 {
		return "unable to calculate ready pods: " + noPods
	}
	ready := readyPods(c.Pods)
	if ready == 0 && c.Divergences.Has(divergence.NoReadyPods) {
		r.Verdict = NothingReady
		return ""
	}
	surge := c.Divergences.Has(divergence.RolloutSurge)
	if surge {
		ready = min(ready, int64(c.SpecReplicas))
	}
	// Upstream guards this one product against overflow.
	proposed := arithmetic.Saturate.Ceil32(r.Ratio * float64(ready))
	if surge && againstDirection(r.Ratio, proposed, c.SpecReplicas) {
		r.Verdict = DirectionKept
		return ""
	}
	r.Replicas, r.Base, r.Verdict = proposed, ready, Scaled
	return ""
}

// total is the value of a metric and its target.
type total struct{ usage, target int64 }

// perReplica evaluates the value for each replica (upstream: GetObjectPerPodMetricReplicas and
// GetExternalPerPodMetricReplicas). Upstream divides by the existing pods, which include the surge of a rollout.
func perReplica(spec *source.Spec, c *Context, t total, r *Result) {
	replicas := c.StatusReplicas
	if c.Divergences.Has(divergence.RolloutSurge) {
		replicas = c.SpecReplicas
	}
	r.Replicas, r.Verdict = replicas, WithinTolerance
	r.Ratio = float64(t.usage) / (float64(t.target) * float64(replicas))
	r.Adjusted = r.Ratio
	if !c.Tolerance.Within(r.Ratio) {
		// Upstream guards the External product only.
		guarded := c.arithmetic() || arithmetic.Mode(spec.Type == source.External)
		r.Replicas, r.Verdict = guarded.Ceil32(float64(t.usage)/float64(t.target)), Scaled
	}
	r.Milli = shownAverage(spec, t.usage, replicas, c.arithmetic())
}
