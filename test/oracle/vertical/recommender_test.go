package vertical

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	upstream "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/features"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/histogram"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

var (
	histories       = flag.Int("histories", 3000, "how many random histories TestRecommender compares")
	historySeed     = flag.Uint64("history-seed", 1, "the seed of the histories")
	history1        = flag.Int64("history", -1, "compare this one alone")
	historyShard    = flag.Int("history-shard", -1, "which shard this process runs; set by itself")
	historyTally    = flag.String("history-tally", "", "where a shard writes what it counted")
	historyWithEach = flag.Int("history-divergences", 20, "play one in so many histories with divergences on, too")
)

// recommenderDivergences are those that recommending has a part in.
var recommenderDivergences = []divergence.Set{
	divergence.FiniteUpper, divergence.LiveContainers, divergence.OpenWindow, divergence.KeepHistory,
	divergence.ZeroMemory,
	divergence.MemoryOnly, divergence.StartOOM, divergence.OOMLimit, divergence.ResetOverrides, divergence.SkipConflict,
	divergence.QuietStatus, divergence.ImplausibleSamples,
}

// TestRecommender runs upstream's recommender and Plimsoll's core through the same
// histories of samples, OOMs, pods that come and go, policies and restarts. After
// each pass the status must be the same: target, bounds and uncapped target to the
// last unit, conditions to the second, and whether it was written; and so must the
// checkpoints. In some restarts each begins with the other's.
func TestRecommender(t *testing.T) {
	klog.SetLogger(logr.Discard())
	if err := features.MutableFeatureGate.Set("PerVPAConfig=true"); err != nil {
		t.Fatal(err)
	}
	tally := newRecommenderTally()
	if *historyShard < 0 && *histories > 10_000 {
		tally.share(t)
	} else {
		tally.run(t)
	}
	if *historyShard >= 0 {
		tally.write(t)
		return
	}
	tally.print(os.Stdout)
	summary = append(summary, row{"recommender: passes of random histories", tally.Passes, tally.Equal, fmt.Sprintf(
		"%d differ by the order of sums alone", tally.Tied)})
	tally.judge(t)
}

// run compares the histories of this shard, or all.
func (n *recommenderTally) run(t *testing.T) {
	for i := range *histories {
		if *historyShard >= 0 && i%historyShards != *historyShard {
			continue
		}
		seed := *historySeed<<32 + uint64(i)
		if *history1 >= 0 {
			seed = *historySeed<<32 + uint64(*history1)
		}
		h := newHistory(seed)
		synctest.Test(t, func(t *testing.T) { n.compare(t, h) })
		if i%*historyWithEach == 0 {
			n.diverge(t, h)
		}
		if t.Failed() || *history1 >= 0 {
			return
		}
	}
}

// historyShards share many histories: processes, because upstream keeps flags in
// variables of its package.
const historyShards = 4

// share has other processes run the shards.
func (n *recommenderTally) share(t *testing.T) {
	dir := t.TempDir()
	var running []*exec.Cmd
	for i := range historyShards {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRecommender$", "-test.timeout=0",
			fmt.Sprintf("-histories=%d", *histories), fmt.Sprintf("-history-seed=%d", *historySeed),
			fmt.Sprintf("-history-divergences=%d", *historyWithEach), fmt.Sprintf("-history-shard=%d", i),
			"-history-tally="+filepath.Join(dir, fmt.Sprint(i)))
		c.Stdout, c.Stderr = os.Stderr, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, c)
	}
	for i, c := range running {
		if err := c.Wait(); err != nil {
			t.Errorf("shard %d: %v", i, err)
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		part := newRecommenderTally()
		if err := json.Unmarshal(text, part); err != nil {
			t.Fatal(err)
		}
		n.add(part)
	}
}

func (n *recommenderTally) write(t *testing.T) {
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*historyTally, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func newRecommenderTally() *recommenderTally {
	return &recommenderTally{Reached: map[string]int{}, Changed: map[divergence.Set]int{}}
}

func (n *recommenderTally) add(o *recommenderTally) {
	n.Histories += o.Histories
	n.Passes += o.Passes
	n.Equal += o.Equal
	n.Amounts += o.Amounts
	n.Checkpoints += o.Checkpoints
	n.Tied += o.Tied
	n.Cancelled += o.Cancelled
	n.WithRevisions += o.WithRevisions
	n.Diverged += o.Diverged
	n.DivergedEqual += o.DivergedEqual
	n.Jointly += o.Jointly
	n.Unexplained += o.Unexplained
	for d, times := range o.Changed {
		n.Changed[d] += times
	}
	for place, times := range o.Reached {
		n.Reached[place] += times
	}
}

// recommenderTally counts what was compared.
type recommenderTally struct {
	Histories, Passes, Equal int
	Amounts, Checkpoints     int
	Tied, Cancelled          int
	WithRevisions            int
	Diverged, DivergedEqual  int
	Changed                  map[divergence.Set]int
	Jointly, Unexplained     int
	Reached                  map[string]int
}

func (n *recommenderTally) compare(t *testing.T, h *history) {
	theirs, mine := newUpstreamRecommender(t, &h.flags), newPlimsollRecommender(t, &h.flags, divergence.None)
	n.Histories++
	for i := range h.scenes {
		s := &h.scenes[i]
		if s.restart == changesOver {
			theirs.saved, mine.saved = n.exchange(t, theirs.saved, mine.saved)
		}
		before := mine.state
		theirs.pass(s)
		mine.pass(s)
		n.reach(h, s, before, mine)
		n.Passes++
		n.Amounts += 8 * len(mine.decision.Recommendations)
		difference := differences(t, theirs, mine)
		if difference == "" && !h.revisions {
			difference = n.compareCheckpoints(theirs, mine, s)
		}
		switch {
		case difference == "":
			n.Equal++
		case n.isTie(mine, s, theirs):
			n.Tied++
			return
		default:
			t.Errorf("seed %d history %d pass %d of %d at %s (- upstream, + plimsoll):\n%s\n%s",
				h.seed>>32, h.seed&0xffffffff, i, len(h.scenes), s.at, difference, describeScene(s))
			return
		}
	}
	if h.revisions {
		n.WithRevisions++
	}
}

// exchange gives each the other's checkpoints.
func (n *recommenderTally) exchange(
	t *testing.T, theirs map[string]upstream.VerticalPodAutoscalerCheckpointStatus, mine map[string]keptCheckpoint,
) (map[string]upstream.VerticalPodAutoscalerCheckpointStatus, map[string]keptCheckpoint) {
	toThem, toMe := map[string]upstream.VerticalPodAutoscalerCheckpointStatus{}, map[string]keptCheckpoint{}
	for name, kept := range mine {
		status, _ := kept.status(t)
		toThem[name] = throughJSON(t, status)
	}
	for name, status := range theirs {
		toMe[name] = keptCheckpoint{other: ptr.To(throughJSON(t, status))}
	}
	return toThem, toMe
}

// view is what both say after a pass.
type view struct {
	Written         bool
	Recommendations []vertical.Recommendation
	Conditions      []condition.Condition
}

// asWritten is what a status says that recommends this: a quantity in binary units
// that is not whole ones is written without any.
func asWritten(t *testing.T, recs []vertical.Recommendation) []vertical.Recommendation {
	status := vpav1.VerticalPodAutoscalerStatus{Recommendation: observevertical.RecommendedOf(recs)}
	return observevertical.RecommendationsOf(throughJSON(t, &status))
}

// wholeAmounts are amounts without what was rounded up: upstream writes 1.2Gi where Plimsoll writes whole bytes.
func wholeAmounts(list corev1.ResourceList) vertical.Amounts {
	amounts := observevertical.AmountsOf(list)
	for r := range vertical.Resource(vertical.Resources) {
		if amount, has := amounts.Get(r); has {
			amounts = amounts.With(r, amount)
		}
	}
	return amounts
}

// differences are those between both after a pass.
func differences(t *testing.T, theirs *upstreamRecommender, mine *plimsollRecommender) string {
	a := view{Written: theirs.patched}
	for _, c := range theirs.object.Status.Recommendation.ContainerRecommendations {
		a.Recommendations = append(a.Recommendations, vertical.Recommendation{
			Container: c.ContainerName, Target: wholeAmounts(c.Target),
			Lower: wholeAmounts(c.LowerBound), Upper: wholeAmounts(c.UpperBound), Uncapped: wholeAmounts(c.UncappedTarget),
		})
	}
	for _, c := range theirs.object.Status.Conditions {
		a.Conditions = append(a.Conditions, condition.Condition{
			Type: string(c.Type), Status: condition.Status(c.Status), Reason: c.Reason, Message: c.Message,
			Since: c.LastTransitionTime.UTC(),
		})
	}
	b := view{
		Written: mine.decision.Write != status.NotWritten, Recommendations: asWritten(t, mine.decision.Recommendations),
		Conditions: mine.decision.Conditions,
	}
	if a.Written == b.Written && slices.Equal(a.Recommendations, b.Recommendations) &&
		slices.Equal(a.Conditions, b.Conditions) {
		return ""
	}
	return cmp.Diff(a, b, cmp.AllowUnexported(vertical.Amounts{}))
}

// compareCheckpoints compares what both saved in this pass. Upstream takes the
// open windows of several pods out in the order of a map. The sums of
// floating-point numbers differ by that order, and where nearly all weight is taken
// out of large numbers, what is left is nothing else. Then both go on with
// upstream's.
func (n *recommenderTally) compareCheckpoints(theirs *upstreamRecommender, mine *plimsollRecommender, s *scene) string {
	for name, status := range theirs.saved {
		kept, ok := mine.saved[name]
		if !ok {
			return "no checkpoint of " + name
		}
		if kept.other != nil || !kept.at.Equal(s.at) {
			continue // compared when it was saved
		}
		n.Checkpoints++
		ours := &kept.saved
		if !status.FirstSampleStart.Time.Equal(ours.First.Truncate(time.Second)) || status.Version != usage.Version ||
			!status.LastSampleStart.Time.Equal(ours.Last.Truncate(time.Second)) || status.TotalSamplesCount != ours.Samples {
			return cmp.Diff(status, ours)
		}
		// No peak weighs more than this, and as many as there are pods were taken out.
		heaviest := math.Exp2(float64(s.at.Add(2*24*time.Hour).Sub(ours.Use[vertical.Memory].Reference)) / float64(
			mine.policy.Usage.HalfLife[vertical.Memory]))
		lost := float64(len(s.pods)+1) * heaviest * 1e-15
		for r, theirHistogram := range [vertical.Resources]upstream.HistogramCheckpoint{status.CPUHistogram,
			status.MemoryHistogram} {
			switch {
			case sameHistogram(&theirHistogram, &ours.Use[r], 0):
			case vertical.Resource(r) == vertical.Memory && sameHistogram(&theirHistogram, &ours.Use[r], lost):
				n.Cancelled++
				mine.saved[name] = keptCheckpoint{other: &status}
			default:
				return name + ": " + cmp.Diff(theirHistogram, ours.Use[r])
			}
		}
	}
	if len(mine.saved) != len(theirs.saved) {
		return fmt.Sprintf("%d checkpoints instead of %d", len(mine.saved), len(theirs.saved))
	}
	return ""
}

// sameHistogram compares up to a total weight that may be lost; little more than
// that has no weights that could be compared.
func sameHistogram(theirs *upstream.HistogramCheckpoint, ours *histogram.Checkpoint, lost float64) bool {
	if !theirs.ReferenceTimestamp.Time.Equal(ours.Reference) {
		return false
	}
	if lost == 0 {
		return theirs.TotalWeight == ours.Total && maps.Equal(theirs.BucketWeights, ours.Weights)
	}
	if math.Abs(theirs.TotalWeight-ours.Total) > lost+1e-12*ours.Total {
		return false
	}
	return ours.Total < 1e6*lost ||
		maps.EqualFunc(theirs.BucketWeights, ours.Weights, func(v, w uint32) bool { return max(v, w)-min(v, w) <= 1 })
}

// isTie reports whether the difference goes away where percentiles are moved by
// less than a billionth: then a sum of weights is at the percentile exactly, and
// the order of additions, which is that of upstream's maps, says on which side.
func (n *recommenderTally) isTie(mine *plimsollRecommender, s *scene, theirs *upstreamRecommender) bool {
	want := theirs.object.Status.Recommendation.ContainerRecommendations
	if len(want) != len(mine.decision.Recommendations) {
		return false
	}
	var nudged [2][]vertical.Recommendation
	for i, by := range []float64{-1e-9, 1e-9} {
		p := mine.policy
		for r := range vertical.Resources {
			percentiles := &p.Percentiles[r]
			*percentiles = estimate.Percentiles{
				Target: percentiles.Target + by, Lower: percentiles.Lower + by, Upper: percentiles.Upper + by,
			}
		}
		p.Usage.Divergences |= divergence.KeepHistory // so that nothing but the percentiles changes
		d, _ := recommend.Decide(s.at, p, mine.state,
			recommend.Observation{Lookup: recommend.Lookup{Problem: "none", Transient: true}})
		nudged[i] = d.Recommendations
	}
	for i := range want {
		for _, field := range []func(r *vertical.Recommendation) vertical.Amounts{
			func(r *vertical.Recommendation) vertical.Amounts { return r.Target },
			func(r *vertical.Recommendation) vertical.Amounts { return r.Lower },
			func(r *vertical.Recommendation) vertical.Amounts { return r.Upper },
		} {
			theirs := vertical.Recommendation{
				Target: observevertical.AmountsOf(want[i].Target), Lower: observevertical.AmountsOf(want[i].LowerBound),
				Upper: observevertical.AmountsOf(want[i].UpperBound),
			}
			if len(nudged[0]) <= i || len(nudged[1]) <= i {
				return false
			}
			for r := range vertical.Resource(vertical.Resources) {
				w, _ := field(&theirs).Get(r)
				x, _ := field(&nudged[0][i]).Get(r)
				y, _ := field(&nudged[1][i]).Get(r)
				if w != x && w != y {
					return false
				}
			}
		}
	}
	return true
}

func describeScene(s *scene) string {
	var b strings.Builder
	fmt.Fprintf(&b, "restart %d problem %q pods %v\n", s.restart, s.problem, s.pods)
	for _, x := range s.samples {
		fmt.Fprintf(&b, "  %+v\n", x)
	}
	for _, x := range s.ooms {
		fmt.Fprintf(&b, "  OOM %+v\n", x)
	}
	return b.String()
}

// diverge plays a history with divergences on: all, and each alone. Each pass in
// which all change something must be one that a single one changes, or come after
// such a pass: divergences change the history, too.
func (n *recommenderTally) diverge(t *testing.T, h *history) {
	none := play(t, h, divergence.None)
	all := play(t, h, divergence.Default)
	changes := map[divergence.Set][]bool{}
	for _, d := range recommenderDivergences {
		alone := play(t, h, d)
		changes[d] = make([]bool, len(none))
		for i := range none {
			changes[d][i] = none[i] != alone[i]
		}
	}
	seen := false
	for i := range none {
		n.Diverged++
		here := false
		for _, d := range recommenderDivergences {
			here = here || changes[d][i]
			if changes[d][i] {
				n.Changed[d]++
			}
		}
		seen = seen || here
		switch {
		case none[i] == all[i]:
			n.DivergedEqual++
		case here:
		case seen:
			n.Jointly++
		default:
			n.Unexplained++
			t.Errorf("history %d pass %d: no divergence alone makes this of\n%s\n%s", h.seed&0xffffffff, i, none[i], all[i])
		}
	}
}

// play is what Plimsoll decides in each pass, as text.
func play(t *testing.T, h *history, on divergence.Set) []string {
	m := newPlimsollRecommender(t, &h.flags, on)
	var decided []string
	for i := range h.scenes {
		m.pass(&h.scenes[i])
		decided = append(decided, fmt.Sprintf("%+v %+v %q", m.decision.Recommendations,
			m.decision.Conditions, m.decision.Write))
	}
	return decided
}

func (n *recommenderTally) count(place string, is bool) {
	if is {
		n.Reached[place]++
	}
}

// recommenderPlaces are those that a run of 3000 histories must reach.
var recommenderPlaces = []string{
	"restart from own checkpoints", "restart from the other's checkpoints", "target not found", "no pods",
	"recommendation without samples",
	"a container that is gone is recommended for", "container of mode Off", "uncontrolled resource",
	"override", "override taken away",
	"OOM", "OOM of a pod that is gone", "OOM too old", "sample older than the last", "sample of 0 memory",
	"negative sample", "absurd sample",
	"upper bound without end", "lower bound of 0 raised to the floor", "capped to the minimum or maximum", "whole CPUs",
	"rounded", "humanized",
	"an aggregate expired", "a reference moved", "pods of several revisions", "status not written",
}

func (n *recommenderTally) reach(h *history, s *scene, before recommend.State, mine *plimsollRecommender) {
	d, f := &mine.decision, &h.flags
	n.count("restart from own checkpoints", s.restart == restarts)
	n.count("restart from the other's checkpoints", s.restart == changesOver)
	n.count("target not found", s.problem != "")
	n.count("no pods", len(s.pods) == 0)
	n.count("status not written", d.Write == status.NotWritten)
	n.count("pods of several revisions", len(s.pods) > 0 &&
		slices.ContainsFunc(s.pods, func(p historyPod) bool { return p.revision != s.pods[0].revision }))
	for _, x := range s.samples {
		n.count("sample older than the last", s.at.Sub(x.at) > time.Hour)
		n.count("sample of 0 memory", x.hasMem && x.memory == 0)
		n.count("negative sample", x.cpuMilli < 0)
		n.count("absurd sample", x.cpuMilli > 1e12)
	}
	for _, o := range s.ooms {
		n.count("OOM", !o.isStanding)
		n.count("OOM too old", s.at.Sub(o.at) > f.interval+time.Hour)
		n.count("OOM of a pod that is gone", !slices.ContainsFunc(s.pods, func(p historyPod) bool { return p.name == o.pod }))
	}
	n.reachPolicy(h, s, mine)
	for i := range before.Containers {
		was := &before.Containers[i]
		j := slices.IndexFunc(mine.state.Containers, func(c recommend.Container) bool { return c.Name == was.Name })
		n.count("an aggregate expired", s.restart == goesOn && was.Usage.Exists() &&
			(j < 0 || !mine.state.Containers[j].Usage.Exists()))
	}
	for i, trace := range d.Traces {
		n.count("recommendation without samples", trace.Samples == 0)
		container := func(p historyPod) bool { return slices.Contains(p.containers, trace.Container) }
		n.count("a container that is gone is recommended for", !slices.ContainsFunc(s.pods, container))
		for r := range vertical.Resource(vertical.Resources) {
			n.reachEstimates(&d.Recommendations[i], &d.Traces[i], r)
		}
		n.count("whole CPUs", f.integerCPU && slices.Contains(f.wholeCPUs, trace.Container))
		n.count("rounded", f.roundCPU > 1 || f.roundMemory > 1)
		n.count("humanized", f.humanize)
	}
	for _, kept := range mine.saved {
		n.count("a reference moved", kept.saved.Use[vertical.CPU].Reference.Sub(virtualStart) > 90*f.halfLife[vertical.CPU])
	}
}

func (n *recommenderTally) reachPolicy(h *history, s *scene, mine *plimsollRecommender) {
	i := slices.IndexFunc(h.scenes, func(x scene) bool { return x.at.Equal(s.at) })
	for _, p := range mine.policy.Containers {
		n.count("container of mode Off", p.Off)
		overrides := p.OOM.BumpUpRatio != 0 || p.OOM.HasMinBumpUp || p.Memory.Interval != 0 || p.Memory.Count != 0
		n.count("override", overrides)
		n.count("override taken away", overrides && i+1 < len(h.scenes) && h.scenes[i+1].generation != s.generation)
	}
}

func (n *recommenderTally) reachEstimates(rec *vertical.Recommendation, trace *recommend.Trace, r vertical.Resource) {
	n.count("uncontrolled resource", !trace.Controlled[r])
	if !trace.Controlled[r] {
		return
	}
	n.count("upper bound without end", trace.Estimates[r][estimate.Upper].Widened == vertical.MaxAmount)
	n.count("lower bound of 0 raised to the floor",
		trace.Estimates[r][estimate.Lower].Widened == 0 && trace.Estimates[r][estimate.Lower].Floored > 0)
	target, _ := rec.Target.Get(r)
	uncapped, _ := rec.Uncapped.Get(r)
	n.count("capped to the minimum or maximum", target != uncapped)
}

func (n *recommenderTally) print(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() { _ = table.Flush() }()
	fmt.Fprintf(table, "histories\t%d\n", n.Histories)
	fmt.Fprintf(table, "with divergences off: passes compared\t%d\n", n.Passes)
	fmt.Fprintf(table, "  equal\t%d\n", n.Equal)
	fmt.Fprintf(table, "  amounts compared\t%d\n", n.Amounts)
	fmt.Fprintf(table, "  checkpoints compared\t%d\n", n.Checkpoints)
	fmt.Fprintf(table, "  of them equal but for the order of subtractions\t%d\n", n.Cancelled)
	fmt.Fprintf(table, "  passes equal but for the order of additions\t%d\n", n.Tied)
	fmt.Fprintf(table, "histories of pods with different labels, equal throughout\t%d\n", n.WithRevisions)
	fmt.Fprintf(table, "with divergences on: passes compared\t%d\n", n.Diverged)
	fmt.Fprintf(table, "  equal\t%d\n", n.DivergedEqual)
	for _, d := range recommenderDivergences {
		fmt.Fprintf(table, "  changed by %s\t%d\n", d, n.Changed[d])
	}
	fmt.Fprintf(table, "  changed by what several remember otherwise\t%d\n", n.Jointly)
	fmt.Fprintf(table, "unexplained\t%d\n", n.Unexplained)
	for _, place := range slices.Sorted(maps.Keys(n.Reached)) {
		fmt.Fprintf(table, "reached: %s\t%d\n", place, n.Reached[place])
	}
}

// judge fails a run that is long enough to have come everywhere.
func (n *recommenderTally) judge(t *testing.T) {
	if n.Histories < 3000 {
		return
	}
	for _, place := range recommenderPlaces {
		if n.Reached[place] == 0 {
			t.Errorf("%d histories did not come to: %s", n.Histories, place)
		}
	}
	for _, d := range recommenderDivergences {
		if n.Changed[d] == 0 {
			t.Errorf("%d histories do not show %s", n.Histories, d)
		}
	}
	if n.Tied*1000 > n.Passes {
		t.Errorf("%d passes differ by the order of additions: too many to believe", n.Tied)
	}
}
