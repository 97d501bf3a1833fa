package recommender

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/cpucontention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/finding"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
)

// findings are what came of looking for what is wrong with an object.
func (r *Recommender) findings(now time.Time, w *work, o *recommend.Observation) []finding.Finding {
	t := w.track
	if t.sampled.IsZero() || len(o.Samples) > 0 || !w.isRunning || o.Lookup.Problem != "" {
		t.sampled = now
	}
	highest := map[string]cpucontention.Shares{}
	for i := range o.Samples {
		s := &o.Samples[i]
		highest[s.Container] = highest[s.Container].Max(s.Contention)
	}
	t.contended.Update(highest)
	return []finding.Finding{
		{Kind: finding.ConfigInvalid, Message: validation.Problem(w.object)},
		{Kind: finding.TargetShared, Message: t.overlap},
		{Kind: finding.CPUContended, Message: t.contended.Message()},
		finding.Missing(now.Sub(t.sampled), r.config.Interval),
	}
}

// overlapsOf says of objects that others change pods of the same workload. One in
// mode Off changes none.
func overlapsOf(works []*work) map[types.NamespacedName]string {
	type key struct {
		namespace string
		workload  workload
	}
	sharing := map[key][]*vpav1.VerticalPodAutoscaler{}
	for _, w := range works {
		if w.object.Spec.TargetRef != nil && observevertical.ModeOf(&w.object.Spec) != vertical.ModeOff {
			k := key{w.object.Namespace, workloadOf(w.object)}
			sharing[k] = append(sharing[k], w.object)
		}
	}
	overlaps := map[types.NamespacedName]string{}
	for k, all := range sharing {
		if len(all) < 2 {
			continue
		}
		// As upstream's updater and admission controller choose.
		slices.SortFunc(all, observevertical.Older)
		var names []string
		for _, object := range all {
			names = append(names, object.Name)
		}
		message := finding.Shared(k.workload.kind, k.workload.name, names).Message
		for _, object := range all {
			overlaps[nameOf(object)] = message
		}
	}
	return overlaps
}
