package vertical

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	upstream "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/limitrange"
	upstreamvpa "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
	"k8s.io/client-go/informers"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

var exactly = cmp.AllowUnexported(vertical.Amounts{})

// TestFit: what upstream's capping processor makes of a recommendation for a pod,
// target and bounds, and what its policy processor makes of it for the status.
func TestFit(t *testing.T) {
	silence(t)
	reached := map[string]int{}
	for i := range *admissionPods {
		seed := *admissionSeed + uint64(i)
		w := newAdmissionWorld(seed, reached)
		if w.vpa.Status.Recommendation == nil {
			continue
		}
		theirs := &upstream.VerticalPodAutoscaler{}
		convert(t, w.vpa, theirs)
		recs, policies := observevertical.RecommendationsOf(&w.vpa.Status), observevertical.PoliciesOf(&w.vpa.Spec)
		w.comparePolicy(t, seed, theirs)
		fitted, _ := bounds.Fit(recs, bounds.Pod{Containers: containersOf(&w.pod.Spec)}, policies,
			observevertical.RangesOf(w.limitRanges()), divergence.None)
		want, panicked := w.fittedByUpstream(t, theirs)
		switch {
		case panicked:
			reached["upstream panics"]++
			continue
		case w.overflows() || anyHuge(fitted) || anyHuge(want):
			reached["upstream's sum or comparison overflows"]++
			continue
		}
		if diff := cmp.Diff(want, withoutUncapped(fitted), exactly); diff != "" {
			t.Fatalf("seed %d: (-upstream +Plimsoll)\n%s\n%s", seed, diff, w)
		}
		w.countFitted(recs, fitted)
	}
	report(t, reached, []string{"equal", "upstream panics", "changed"}, *admissionPods >= 5000)
	outside := reached["upstream panics"] + reached["upstream's sum or comparison overflows"]
	summary = append(summary, row{"recommendations fitted to random pods",
		reached["equal"] + outside, reached["equal"], fmt.Sprintf(
			"at %d upstream panics, at %d its integers overflow", reached["upstream panics"],
			reached["upstream's sum or comparison overflows"])})
}

func (w *admissionWorld) comparePolicy(t *testing.T, seed uint64, theirs *upstream.VerticalPodAutoscaler) {
	t.Helper()
	globalMax := w.list()
	applied, err := upstreamvpa.ApplyVPAPolicy(theirs.Status.Recommendation, theirs.Spec.ResourcePolicy, globalMax)
	if err != nil {
		t.Fatal(err)
	}
	var ours []vertical.Recommendation
	for _, rec := range observevertical.RecommendationsOf(&w.vpa.Status) {
		policy := vertical.PolicyOf(observevertical.PoliciesOf(&w.vpa.Spec), rec.Container)
		ours = append(ours, bounds.Policy(rec, policy, observevertical.AmountsOf(globalMax)))
	}
	if diff := cmp.Diff(translated(applied), withoutUncapped(ours), exactly); diff != "" {
		t.Fatalf("seed %d: policy (-upstream +Plimsoll)\n%s\n%s", seed, diff, w)
	}
}

func (w *admissionWorld) fittedByUpstream(
	t *testing.T, vpa *upstream.VerticalPodAutoscaler,
) (fitted []vertical.Recommendation, panicked bool) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(w.client, 0)
	for _, lr := range w.limitRanges() {
		if err := factory.Core().V1().LimitRanges().Informer().GetIndexer().Add(lr); err != nil {
			t.Fatal(err)
		}
	}
	calculator, err := limitrange.NewLimitsRangeCalculator(factory)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { panicked = recover() != nil }()
	applied, _, err := upstreamvpa.NewCappingRecommendationProcessor(calculator).Apply(vpa, w.pod)
	if err != nil {
		t.Fatal(err)
	}
	return translated(applied), false
}

func translated(r *upstream.RecommendedPodResources) []vertical.Recommendation {
	var all []vertical.Recommendation
	for i := range r.ContainerRecommendations {
		c := &r.ContainerRecommendations[i]
		all = append(all, vertical.Recommendation{
			Container: c.ContainerName, Target: observevertical.AmountsOf(c.Target),
			Lower: observevertical.AmountsOf(c.LowerBound), Upper: observevertical.AmountsOf(c.UpperBound),
		})
	}
	return all
}

func withoutUncapped(all []vertical.Recommendation) []vertical.Recommendation {
	var bare []vertical.Recommendation
	for _, rec := range all {
		rec.Uncapped = vertical.Amounts{}
		bare = append(bare, rec)
	}
	return bare
}

// anyHuge: from 8 PiB on upstream's comparison with a limit wraps.
func anyHuge(all []vertical.Recommendation) bool {
	for _, rec := range all {
		for _, amounts := range []vertical.Amounts{rec.Target, rec.Lower, rec.Upper} {
			if memory, _ := amounts.Get(vertical.Memory); isHuge(amounts) || memory > 1<<53 {
				return true
			}
		}
	}
	return false
}

func (w *admissionWorld) countFitted(before, after []vertical.Recommendation) {
	w.reached["equal"]++
	if !cmp.Equal(before, after, exactly) {
		w.reached["changed"]++
	}
}
