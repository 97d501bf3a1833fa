package samples

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/loop"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// The run: the load rises, and later a third of the nodes does not answer.
const (
	rises              = 2 * time.Minute
	outageFrom, outage = 4 * time.Minute, 50 * time.Second
	end                = 9 * time.Minute
	firstReplicas      = 5
	// looks is when both are compared in each second: after every node has been read in it.
	looks = 950 * time.Millisecond
)

// specs are the metrics that are compared: of whole pods, and of single containers.
var specs = []source.Spec{
	{Type: source.Resource, Name: source.CPU, Target: source.Target{Type: source.Utilization, Percent: 50}},
	{Type: source.Resource, Name: "memory"},
	{Type: source.ContainerResource, Name: source.CPU, Container: "app"},
	{Type: source.ContainerResource, Name: source.CPU, Container: "proxy"},
	{Type: source.ContainerResource, Name: source.CPU, Container: "second"},
}

// newWorld has pods of three containers, one of them idle, on nodes whose clocks differ. It begins now.
func newWorld(t *testing.T) *world.World {
	t.Helper()
	load, err := workloadmodel.NewSteps([]workloadmodel.Point{
		{RequestsPerSecond: 100}, {At: rises, RequestsPerSecond: 250}, {At: 6 * time.Minute, RequestsPerSecond: 120},
	})
	if err != nil {
		t.Fatal(err)
	}
	w, err := world.New(world.Config{
		Seed: 3, Epoch: time.Now(), Load: load, Profile: workloadmodel.DefaultProfile(), Container: "app",
		Resources:  workloadmodel.Resources{CPURequestMilli: 500, CPULimitMilli: 1000, MemoryLimitBytes: 1 << 30},
		Sidecars:   []world.Sidecar{{Name: "proxy"}, {Name: "second", CPURequestMilli: 100, CPUMilli: 60}},
		StartAfter: 2300 * time.Millisecond, ReadyAfter: 5 * time.Second, Grace: 10 * time.Second, Replicas: firstReplicas, Groups: 3,
		Housekeeping: 10 * time.Second, ClockOffsets: []time.Duration{0, 7 * time.Second, -12 * time.Second},
		Outages: []world.Outage{{From: outageFrom, To: outageFrom + outage, Groups: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSameSamplesSameObservation: of the same samples, what the controller reads nodes with and the simulation find the
// same use, intervals and pods that are missing, for every pod in each second.
func TestSameSamplesSameObservation(t *testing.T) {
	for name, agents := range map[string]time.Duration{"kubelets": 0, "agents": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRun(t, agents)
				r.play()
				if r.compared < 300 || r.known < 1500 || r.unreadable < 30 || agents == 0 && r.withEarlier < 50 ||
					agents > 0 && r.lacking == 0 {
					t.Errorf("%d moments, %d with nodes that cannot be read, %d pods, %d with an earlier use, %d that agents do "+
						"not know are no test", r.compared, r.unreadable, r.known, r.withEarlier, r.lacking)
				}
			})
		})
	}
}

// run is a simulated run beside a controller's source of samples.
type run struct {
	t          *testing.T
	world      *world.World
	controller *loop.Plimsoll
	nodes      *nodes
	source     *podusage.Subscription
	// pods are those of the last decision.
	pods []metric.Pod

	compared, unreadable, known, withEarlier, lacking int
}

func newRun(t *testing.T, agents time.Duration) *run {
	t.Helper()
	r := &run{t: t, nodes: &nodes{}}
	r.source = r.nodes.start(t, agents)
	r.nodes.await(r.source)
	r.world = newWorld(t)
	// A container that has used nothing is not known.
	<-time.After(time.Second)
	r.world.AdvanceTo(time.Second)
	timing := loop.DefaultPlimsollTiming()
	timing.Aligned, timing.Agents = true, agents
	r.controller = loop.NewPlimsoll(loop.Config{
		World: r.world, Requests: []metric.Request{{Milli: 600}},
		Policy: horizontal.Policy{
			MinReplicas: 2, MaxReplicas: 20, Metrics: specs[:1], Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
			DownscaleStabilization: time.Minute, CPUInitializationPeriod: 5 * time.Minute,
			InitialReadinessDelay: 30 * time.Second,
		},
		OnDecision: func(o *horizontal.Observation, _ *horizontal.Decision) { r.pods = append(r.pods[:0], o.Pods...) },
	}, timing)
	return r
}

// play has both read the nodes each second, and compares them before the next one.
func (r *run) play() {
	for compare := looks; r.world.Now() < end; {
		next := min(compare, r.controller.Next())
		<-time.After(next - r.world.Now())
		r.world.AdvanceTo(next)
		r.controller.Act()
		if next%time.Second == 0 {
			r.nodes.sample(r.world)
		}
		isSame := r.isCurrent()
		pods := r.nodes.podsOf(r.world, r.pods, isSame)
		var v podusage.View
		err := look(r.source, pods, &v)
		if next == compare {
			compare += time.Second
			if isSame && !isBetween(next) {
				r.compare(&v, err)
			}
		}
	}
}

// isCurrent reports whether the last decision was on the pods that there are.
func (r *run) isCurrent() bool {
	pods := r.world.Pods()
	if len(pods) != len(r.pods) {
		return false
	}
	for i, p := range pods {
		if p.Name != r.pods[i].Name {
			return false
		}
	}
	return true
}

// isBetween reports whether both may find something else because they began to read a node, or failed to, some time
// of a second apart: when they have just begun for so long that a sample must have come, and from when nodes begin or
// cease to answer until both have noticed.
func isBetween(at time.Duration) bool {
	starting := podload.MaxSampleAge(time.Second)
	for _, apart := range [][2]time.Duration{
		{0, 2 * time.Second}, {starting - time.Second, starting + 2*time.Second}, {outageFrom, outageFrom + 6*time.Second},
		{outageFrom + outage, outageFrom + outage + 70*time.Second},
	} {
		if apart[0] <= at && at < apart[1] {
			return true
		}
	}
	return false
}

// observed is what there is to be known of a pod for a metric.
type observed struct {
	Sample, Earlier metric.Sample
	Recent          metric.Recent
}

func (r *run) compare(v *podusage.View, err error) {
	simulated := podload.View{Period: time.Second}
	at := r.world.Now()
	simulatedErr := simulated.Look(r.world.Time(at), len(r.pods), r.controller)
	if (err == nil) != (simulatedErr == nil) ||
		errors.Is(err, podload.ErrStarting) != errors.Is(simulatedErr, podload.ErrStarting) {
		r.t.Fatalf("%v: %v, the simulation: %v", at, err, simulatedErr)
	}
	if diff := cmp.Diff(v.Lacking(), simulated.Lacking()); diff != "" {
		r.t.Fatalf("%v: the agents do not know (-controller +simulation):\n%s", at, diff)
	}
	r.lacking += len(v.Lacking())
	if errors.Is(err, podload.ErrStarting) {
		return
	}
	r.compared++
	if u := v.Unreadable(); u.Pods > 0 {
		r.unreadable++
	}
	if got, want := simulated.Unreadable(), v.Unreadable(); got.Pods != want.Pods || got.Ready != want.Ready ||
		got.Node != want.Node || got.OtherNodes != want.OtherNodes {
		r.t.Fatalf("%v: %v, the simulation: %v", at, want, got)
	}
	for i := range r.pods {
		for k := range specs {
			if diff := cmp.Diff(observedIn(&v.View, i, &specs[k]), observedIn(&simulated, i, &specs[k])); diff != "" {
				r.t.Fatalf("%v, %s, %+v (-controller +simulation):\n%s", at, r.pods[i].Name, specs[k], diff)
			}
		}
		if of := observedIn(&v.View, i, &specs[0]); of.Sample.Present {
			r.known++
			if of.Earlier.Present {
				r.withEarlier++
			}
		}
	}
}

func observedIn(v *podload.View, pod int, spec *source.Spec) observed {
	return observed{
		Sample:  v.Sample(pod, spec, arithmetic.Saturate),
		Earlier: v.Earlier(pod, spec, arithmetic.Saturate),
		Recent:  v.Recent(pod, spec, arithmetic.Saturate),
	}
}
