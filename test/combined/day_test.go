package combined

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

const (
	container = "app"
	syncs     = 15 * time.Second
	passes    = time.Minute
	day       = 24 * time.Hour
)

var midnight = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// world is a workload of identical pods with both autoscalers.
type world struct {
	t     *testing.T
	now   time.Time
	model *workloadmodel.Model
	work  *workloadmodel.Workload
	pods  []*pod
	made  int
	// initial is what new pods request until there is a recommendation.
	initial vertical.Amounts

	horizontal horizontal.Policy
	history    horizontal.State
	// acts says that the vertical side changes pods.
	acts        bool
	vertical    recommend.Policy
	learnt      recommend.State
	recommended []vertical.Recommendation
	updater     update.Policy
	updates     update.State
	conflicts   []conflict.Conflict

	counts  []int32
	resizes []time.Time
	targets []vertical.Amounts
}

// pod is a pod of both worlds.
type pod struct {
	*workloadmodel.Pod
	name     string
	created  time.Time
	requests vertical.Amounts
	// before is what it had used at the last sync, and at the last pass.
	beforeSync, beforePass float64
}

// newWorld has a load like that of a day: five times as high at its peak as at its
// lowest, 10 milli core-seconds a request.
func newWorld(t *testing.T, target source.Spec) *world {
	t.Helper()
	load, err := workloadmodel.NewSine(60, 40, day)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, now: midnight, model: workloadmodel.New(7), initial: vertical.Of(500, 1<<30)}
	w.work = w.model.AddWorkload("web")
	w.model.SetLoad(w.work, load)
	w.horizontal = horizontal.Policy{
		Namespace: "shop", MinReplicas: 2, MaxReplicas: 20, Metrics: []source.Spec{target},
		Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1}, DownscaleStabilization: 5 * time.Minute,
		CPUInitializationPeriod: 5 * time.Minute, InitialReadinessDelay: 30 * time.Second,
		Divergences: divergence.Default,
	}
	w.vertical = recommend.DefaultPolicy()
	w.updater = update.DefaultPolicy()
	w.updater.Mode = vertical.ModeInPlaceOrRecreate
	w.scale(2)
	return w
}

// scale adds and removes pods; new ones get what is recommended, as from the
// admission webhook, and are ready at once.
func (w *world) scale(count int32) {
	for len(w.pods) > int(count) {
		last := w.pods[len(w.pods)-1]
		w.model.RemovePod(last.Pod)
		w.pods = w.pods[:len(w.pods)-1]
	}
	for len(w.pods) < int(count) {
		w.made++
		requests := w.initial
		if r, ok := vertical.RecommendationOf(w.recommended, container); ok && w.acts {
			requests = with(requests, r.Target)
		}
		profile := workloadmodel.DefaultProfile()
		profile.CPUPerRequestMilliCoreSeconds, profile.MemoryBaseBytes, profile.MemoryPerRequestBytes = 10, 200<<20, 1<<20
		profile.Noise, profile.Startup, profile.StartupCPUMilli = 0.2, 0, 0
		p := &pod{name: fmt.Sprintf("web-%d", w.made), created: w.now, requests: requests}
		p.Pod = w.model.AddPod(workloadmodel.PodConfig{Name: p.name, Profile: profile})
		p.SetWorkload(w.work)
		p.SetReady(true)
		w.pods = append(w.pods, p)
	}
}

// with puts the amounts that there are over others.
func with(a, over vertical.Amounts) vertical.Amounts {
	for r := range vertical.Resource(vertical.Resources) {
		if amount, ok := over.Get(r); ok {
			a = a.With(r, amount)
		}
	}
	return a
}

// live lets time pass.
func (w *world) live(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.model.Advance(time.Second)
		w.now = w.now.Add(time.Second)
		if w.now.Sub(midnight)%syncs == 0 {
			w.sync()
		}
		if w.now.Sub(midnight)%passes == 0 {
			w.pass()
		}
	}
}

// sync is a turn of the horizontal side.
func (w *world) sync() {
	count := int32(len(w.pods))
	o := horizontal.Observation{Target: horizontal.Target{SpecReplicas: count, StatusReplicas: count}}
	var reading metric.Reading
	offered := 0.0
	for _, p := range w.pods {
		o.Pods = append(o.Pods, metric.Pod{Name: p.name, Phase: metric.PhaseRunning,
			Ready: metric.ReadyTrue, ReadyTransition: p.created, StartTime: p.created})
		stats := p.Stats()
		milli := int64((stats.CPUSeconds - p.beforeSync) * 1000 / syncs.Seconds())
		p.beforeSync = stats.CPUSeconds
		offered += stats.ServedPerSecond
		request, _ := p.requests.Get(vertical.CPU)
		reading.Samples = append(reading.Samples,
			metric.Sample{Present: !p.created.After(w.now.Add(-syncs)), Milli: milli, At: w.now, Window: syncs})
		reading.Requests = append(reading.Requests, metric.Request{Milli: int64(request)})
	}
	reading.Series = []int64{int64(offered * 1000)}
	o.Readings = []metric.Reading{reading}
	d, state := horizontal.Decide(w.now, &w.horizontal, w.history, &o)
	w.history = horizontal.Settle(state, horizontal.Outcome{At: w.now})
	if d.Rescale {
		w.scale(d.Desired)
	}
	w.counts = append(w.counts, d.Desired)
}

// pass is a turn of the vertical side: it learns, recommends and changes pods.
func (w *world) pass() {
	o := recommend.Observation{
		Containers: []recommend.Present{{Container: container, Pods: len(w.pods)}},
		Conflicts:  w.conflicts, SkipsConflicts: true,
	}
	for _, p := range w.pods {
		o.Pods = append(o.Pods, p.name)
		stats := p.Stats()
		used := vertical.Of(vertical.AmountOf((stats.CPUSeconds-p.beforePass)*1000/passes.Seconds()),
			vertical.AmountOf(stats.MemoryBytes))
		p.beforePass = stats.CPUSeconds
		o.Samples = append(o.Samples, recommend.Sample{Pod: p.name, Container: container, At: w.now, Use: used})
	}
	d, state := recommend.Decide(w.now, w.vertical, w.learnt, o)
	w.learnt = recommend.Settle(&w.vertical, state, recommend.Outcome{At: w.now, Written: true})
	w.recommended = d.Recommendations
	if r, ok := vertical.RecommendationOf(w.recommended, container); ok {
		w.targets = append(w.targets, r.Target)
	}
	if w.acts {
		w.update()
	}
}

// update changes running pods in place, at once.
func (w *world) update() {
	o := update.Observation{
		Recommended: w.recommended, Conflicts: w.conflicts,
		Workload: disruption.Workload{
			Creators: map[string]disruption.Replicas{"ReplicaSet/web": {Configured: len(w.pods)}},
			Target:   disruption.Replicas{Configured: len(w.pods)},
		},
		Cluster: update.Cluster{Nodes: map[string]resize.Node{"node": {
			Known: true, Linux: true, Resizes: true, Allocatable: vertical.Of(64000, 256<<30),
		}}},
	}
	for _, p := range w.pods {
		o.Pods = append(o.Pods, vertical.Pod{
			UID: p.name, Namespace: "shop", Name: p.name, Generation: 1, Creator: "ReplicaSet/web", Node: "node",
			Created: p.created, Started: p.created, Ready: true, ReadySince: p.created, QoS: vertical.Burstable,
			Containers: []vertical.PodContainer{{Name: container, Requests: p.requests,
				Spec: vertical.Resized{Requests: p.requests}}},
		})
	}
	d, state := update.Decide(w.now, &w.updater, w.updates, &o)
	d.Play(&state, &resize.Claims{}, func(action update.Action) update.Result {
		i := slices.IndexFunc(w.pods, func(p *pod) bool { return p.name == action.Pod.Name })
		if action.Kind != update.Resize {
			w.t.Fatalf("%s: %s of %s because of %v, want resizes alone", w.now, action.Kind, action.Pod.Name, action.Reason)
		}
		for _, target := range action.Targets {
			w.pods[i].requests = with(w.pods[i].requests, target.Requests)
		}
		w.resizes = append(w.resizes, w.now)
		return update.Result{Outcome: update.Done, At: w.now}
	})
	w.updates = state
}

// spread is how much a target moved in the second half of the time, over its
// mean.
func (w *world) spread(r vertical.Resource) float64 {
	least, most, sum, n := math.Inf(1), 0.0, 0.0, 0
	for _, target := range w.targets[len(w.targets)/2:] {
		if amount, ok := target.Get(r); ok {
			least, most, sum, n = min(least, float64(amount)), max(most, float64(amount)), sum+float64(amount), n+1
		}
	}
	return (most - least) / (sum / float64(max(n, 1)))
}

// actions is how often the count changed.
func (w *world) actions() (n int) {
	for i := 1; i < len(w.counts); i++ {
		if w.counts[i] != w.counts[i-1] {
			n++
		}
	}
	return n
}

func averageCPU(milli int64) source.Spec {
	return source.Spec{
		Type: source.Resource, Name: source.CPU, Target: source.Target{Type: source.AverageValue, Milli: milli},
	}
}

// TestNoLoopInADay: for 24 hours with both directions acting, the horizontal side does
// just what it does alone, as its target does not divide by requests; and what the
// vertical side recommends settles.
func TestNoLoopInADay(t *testing.T) {
	for name, target := range map[string]source.Spec{
		"average CPU": averageCPU(150),
		"requests per second": {Type: source.External,
			Name: "requests", Target: source.Target{Type: source.AverageValue, Milli: 15000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alone, both := newWorld(t, target), newWorld(t, target)
			both.acts = true
			alone.live(day)
			both.live(day)
			if both.actions() < 5 || len(both.resizes) < 2 {
				t.Fatalf("%d changes of the count and %d resizes: both must act", both.actions(), len(both.resizes))
			}
			if !slices.Equal(alone.counts, both.counts) {
				t.Errorf("the counts differ from those without the vertical side:\n%v\n%v", alone.counts, both.counts)
			}
			if late := both.resizesAfter(12 * time.Hour); late > 2*len(both.pods) {
				t.Errorf("%d resizes in the second half of the day, want no more than two of each of %d pods", late, len(both.pods))
			}
			for r := range vertical.Resource(vertical.Resources) {
				if got := both.spread(r); got > 0.2 {
					t.Errorf("the %s target moves by %.0f %% of its mean in the second half of the day", r, 100*got)
				}
			}
			t.Logf("%d changes of the count, %d resizes, targets move by %.1f %% and %.1f %%",
				both.actions(), len(both.resizes), 100*both.spread(vertical.CPU), 100*both.spread(vertical.Memory))
		})
	}
}

func (w *world) resizesAfter(d time.Duration) (n int) {
	for _, at := range w.resizes {
		if at.Sub(midnight) > d {
			n++
		}
	}
	return n
}

// TestConflictIsLeftAlone: where the horizontal side divides by CPU requests, they stay
// as they are, while memory is resized.
func TestConflictIsLeftAlone(t *testing.T) {
	w := newWorld(t, source.Spec{
		Type: source.Resource, Name: source.CPU, Target: source.Target{Type: source.Utilization, Percent: 30},
	})
	w.acts = true
	w.conflicts = conflict.Find(
		&conflict.Vertical{Name: "web", Mode: vertical.ModeInPlaceOrRecreate},
		[]conflict.Horizontal{{
			Name: conflict.Name{Name: "web"}, Targets: []conflict.Target{{Resource: vertical.CPU}},
		}}, []string{container})
	w.live(day)
	if w.actions() < 5 || len(w.resizes) == 0 {
		t.Fatalf("%d changes of the count and %d resizes: both must act", w.actions(), len(w.resizes))
	}
	for _, p := range w.pods {
		cpu, _ := p.requests.Get(vertical.CPU)
		memory, _ := p.requests.Get(vertical.Memory)
		if cpu != 500 || memory == 1<<30 {
			t.Errorf("%s requests %d milli of CPU and %d bytes, want its 500 and less memory", p.name, cpu, memory)
		}
	}
}

// TestTheLoopThatIsAvoided: without leaving the CPU alone, requests follow use, the
// share of them stays high however many pods there are, and the count runs away. This
// is why the conflict is reported and avoided.
func TestTheLoopThatIsAvoided(t *testing.T) {
	target := source.Spec{
		Type: source.Resource, Name: source.CPU, Target: source.Target{Type: source.Utilization, Percent: 30},
	}
	alone, both := newWorld(t, target), newWorld(t, target)
	both.acts = true
	alone.live(day)
	both.live(day)
	if last, other := both.counts[len(both.counts)-1], alone.counts[len(alone.counts)-1]; last < 2*other {
		t.Errorf("with both on the same requests %d pods at the end, alone %d: want at least twice as many, or the "+
			"conflict is none", last, other)
	}
}
