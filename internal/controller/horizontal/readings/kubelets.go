package readings

import (
	"errors"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// FallbackPeriod is the time between requests to metrics.k8s.io while it replaces kubelets, because the samples of
// other nodes trigger decisions every second. Its values change less often.
const FallbackPeriod = 5 * time.Second

// useSamples sets the values of resource metrics from the nodes' samples, or returns why it cannot.
func (r *Reader) useSamples(d *Decision, q *collection, result *Result) (fallbackReason, error) {
	if !r.readsKubelets(d) {
		return notPermitted, nil
	}
	view := &d.Scratch.view
	err := r.Direct.Latest(d.Start, d.Pods, view)
	r.Direct.ReportMissing(d.Start, d.Pods, view)
	fallback := nodeUnreadable
	switch {
	case err == nil:
		fallback, result.unreadable = noFallback, view.Unreadable().Pods
		for i := range q.answers {
			if isResource(d.Policy.Metrics[i].Type) {
				q.answers[i], q.known[i] = answer{usage: view}, true
			}
		}
	case errors.Is(err, podusage.ErrNotGranted):
		fallback = notPermitted
	case errors.Is(err, podusage.ErrStarting):
		fallback = samplesAwaited
	}
	return fallback, err
}

// reportFallback logs when an HPA's resource metrics start to come from metrics.k8s.io, and when they come from the
// nodes again.
func (r *Reader) reportFallback(d *Decision, result *Result, now fallbackReason, err error) {
	from := monitor.SourceKubelet
	switch {
	case now != noFallback:
		from = monitor.SourceAPI
	case d.Scratch.view.IsFromAgents():
		from = monitor.SourceAgent
	}
	r.Series.Readings.WithLabelValues(from).Inc()
	if now == nodeUnreadable {
		result.nodesUnread, result.unread = err.Error(), &snapshothorizontal.UnreadNodes{Message: err.Error()}
		if u := d.Scratch.view.Unreadable(); u.Pods > 0 {
			result.nodesUnread, result.unread = u.String(), unreadOf(u) // The error is that of the first node.
		}
	}
	last := d.Record.fallback
	r.setFallback(d.Record, now)
	if last == now || now == notPermitted {
		return
	}
	object, isReported := d.name(), &d.Record.isFallbackReported
	switch {
	case now == noFallback && *isReported:
		*isReported = false
		r.Log.Info("resource metrics come from the nodes again", "object", object, "source", from)
	case now == noFallback:
		r.Log.V(1).Info("resource metrics come from the nodes", "object", object, "source", from)
	case now == nodeUnreadable && !*isReported:
		*isReported = true
		r.Log.Info("falling back to metrics.k8s.io", "object", object, "err", err)
		result.Warnings = append(result.Warnings, "metrics.k8s.io stands in meanwhile: "+err.Error())
	default:
		r.Log.V(1).Info("resource metrics come from metrics.k8s.io", "object", object, "err", err)
	}
}

// setFallback counts the HPAs that use metrics.k8s.io instead of kubelets.
func (r *Reader) setFallback(of *Record, now fallbackReason) {
	if of.fallback == nodeUnreadable {
		r.Series.StandIns.Dec()
	}
	if now == nodeUnreadable {
		r.Series.StandIns.Inc()
	}
	of.fallback = now
}

// useReadablePods uses the pods with samples if metrics.k8s.io was to replace unreadable nodes and has no values
// either: the pods of these nodes count as missing.
func (r *Reader) useReadablePods(d *Decision, q *collection, result *Result, fallback fallbackReason) {
	view := &d.Scratch.view
	if fallback != nodeUnreadable || !view.IsUsable() {
		return
	}
	for i := range q.answers {
		if a := &q.answers[i]; isResource(d.Policy.Metrics[i].Type) && a.isEmpty() {
			*a = answer{usage: view, took: a.took}
			result.unreadable = view.Unreadable().Pods
		}
	}
}

// isEmpty reports whether the request to metrics.k8s.io failed or returned no pod.
func (a *answer) isEmpty() bool {
	return a.Err != nil || a.Resource != nil && len(a.Resource.Items) == 0
}

// reportUnreadable logs when pods of an HPA start to count as missing because their nodes cannot be read, and when that
// ends.
func (r *Reader) reportUnreadable(d *Decision, result *Result) {
	r.setUnreadable(d.Record, result.unreadable)
	isAny, isReported := result.unreadable > 0, &d.Record.isUnreadableReported
	if isAny == *isReported {
		return
	}
	*isReported = isAny
	if !isAny {
		r.Log.Info("no pods count as missing any more because their nodes cannot be read", "object", d.name())
		return
	}
	why := d.Scratch.view.Unreadable().String()
	r.Log.Info("pods count as missing because their nodes cannot be read", "object", d.name(), "pods",
		result.unreadable, "why", why)
	result.Warnings = append(result.Warnings, "counted as missing: "+why)
}

func (r *Reader) setUnreadable(of *Record, pods int) {
	r.Series.Unreadable.Add(float64(pods - of.unreadable))
	of.unreadable = pods
}
