package podload_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

const second = time.Second

// cpu is the CPU metric of whole pods.
var cpu = &source.Spec{Type: source.Resource, Name: source.CPU}

// use is an average usage since the sample before, and the age of its sample at noon.
type use struct {
	ago   time.Duration
	milli int64
}

// container returns a container with a first sample and these later ones; it uses 1 MiB.
func container(name string, first time.Duration, uses ...use) podload.Container {
	c := podload.Container{Name: name, MemoryBytes: 1 << 20}
	last, nanos := noon.Add(-first), int64(0)
	c.CPU.Begin(last.UnixMilli(), 0)
	for _, u := range uses {
		at := noon.Add(-u.ago)
		nanos += u.milli * at.Sub(last).Nanoseconds() / 1000
		last = at
		c.CPU.Add(at.UnixMilli(), nanos, time.Minute.Milliseconds())
	}
	return c
}

// steady returns a container with constant usage and a sample each second; ago is the age of the newest at noon.
func steady(name string, milli int64, ago time.Duration) podload.Container {
	var uses []use
	for k := 39 * second; k >= 0; k -= second {
		uses = append(uses, use{ago + k, milli})
	}
	return container(name, ago+40*second, uses...)
}

// known is a pod with its containers' samples.
type known struct {
	pod            metric.Pod
	node           string
	agent, kubelet []podload.Container
	noAgent        bool
}

// running returns a pod that has been ready for so long.
func running(readyFor time.Duration, kubelet ...podload.Container) known {
	return known{
		pod: metric.Pod{
			Phase: metric.PhaseRunning, Ready: metric.ReadyTrue, StartTime: noon.Add(-readyFor - 2*second),
			ReadyTransition: noon.Add(-readyFor),
		},
		node: "a", kubelet: kubelet, noAgent: true,
	}
}

// world implements podload.Reader.
type world struct {
	pods   []known
	health map[string]podload.Health
}

func (w *world) Pod(i int) (*metric.Pod, string) {
	w.pods[i].pod.Name = fmt.Sprint("web-", i)
	return &w.pods[i].pod, w.pods[i].node
}

func (w *world) Agent(i int, dst []podload.Container) ([]podload.Container, bool) {
	return append(dst, w.pods[i].agent...), !w.pods[i].noAgent
}

func (w *world) Kubelet(i int, dst []podload.Container) []podload.Container {
	return append(dst, w.pods[i].kubelet...)
}

func (w *world) Health(node string) podload.Health {
	if h, ok := w.health[node]; ok {
		return h
	}
	return podload.Health{Since: noon.Add(-time.Hour)}
}

func look(t *testing.T, pods ...known) *podload.View {
	t.Helper()
	v := &podload.View{Period: second}
	if err := v.Look(noon, len(pods), &world{pods: pods}); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestIdleContainerKeepsItsPod: with --housekeeping-interval=1s the interval of an idle container doubles from a second
// to 15 s and falls back. Its pod has a usage if the newest interval is a second long and follows one longer than the
// window.
func TestIdleContainerKeepsItsPod(t *testing.T) {
	idle := container("sidecar", 60*second, use{27 * second, 1}, use{2 * second, 1}, use{second, 1})
	v := look(t, running(time.Hour, steady("app", 500, second), idle))
	if got := v.Sample(0, cpu, arithmetic.Saturate); !got.Present || got.Milli != 501 {
		t.Errorf("%+v, want 501m", got)
	}
}

// TestContainersHaveNoOrder: collectors have the containers of a pod in any order, which changes no result. The newest
// samples of these are 8 s apart, which is more than half of the shorter interval, but not of the longer one.
func TestContainersHaveNoOrder(t *testing.T) {
	app := container("app", 60*second, use{33 * second, 500}, use{16 * second, 500}, use{2 * second, 500})
	other := container("other", 60*second, use{41 * second, 300}, use{26 * second, 300}, use{10 * second, 300})
	idle := container("sidecar", 60*second, use{28 * second, 1})
	var first [3]metric.Sample
	for k, containers := range [][]podload.Container{{app, other, idle}, {other, app, idle}, {idle, other, app}} {
		v := look(t, running(time.Hour, containers...), running(time.Hour, steady("app", 100, 12*second)))
		got := [3]metric.Sample{v.Sample(0, cpu, arithmetic.Saturate), v.Earlier(0, cpu, arithmetic.Saturate),
			v.Recent(0, cpu, arithmetic.Saturate)[0]}
		if k == 0 {
			first = got
		}
		if got != first || !got[0].Present || !got[1].Present || got[2].Present {
			t.Errorf("order %d: %+v, want %+v, and no interval", k, got, first)
		}
	}
}

// TestIdleContainerDatesNothing: the newest sample of an almost idle sidecar is older than that of the container with
// the load. The pod's sample and intervals have the time of the latter. A container with a tenth of the pod's usage
// determines its time.
func TestIdleContainerDatesNothing(t *testing.T) {
	app := steady("app", 500, second)
	for _, tt := range []struct {
		name      string
		other     podload.Container
		at        time.Duration
		milli     int64
		intervals int
	}{
		{"alone", steady("app", 0, second), second, 500, 3},
		{"idle", container("sidecar", 40*second, use{22 * second, 2}), second, 502, 3},
		{"as busy", container("sidecar", 40*second, use{22 * second, 500}), 22 * second, 1000, 0},
		{"no interval", container("sidecar", 22*second), 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			containers := []podload.Container{app, tt.other}
			if tt.name == "alone" {
				containers = containers[:1]
			}
			v := look(t, running(time.Hour, containers...))
			got := v.Sample(0, cpu, arithmetic.Saturate)
			if got.Present != (tt.milli > 0) {
				t.Fatalf("%+v", got)
			}
			if got.Present && (!got.At.Equal(noon.Add(-tt.at)) || got.Milli != tt.milli) {
				t.Errorf("%dm at %s, want %dm at %s", got.Milli, got.At, tt.milli, noon.Add(-tt.at))
			}
			n := 0
			for _, r := range v.Recent(0, cpu, arithmetic.Saturate) {
				if r.Present {
					n++
					if r.Milli != tt.milli || r.Window != second {
						t.Errorf("interval %d: %+v, want %dm", n, r, tt.milli)
					}
				}
			}
			if n != tt.intervals {
				t.Errorf("%d intervals, want %d", n, tt.intervals)
			}
		})
	}
}

// TestIntervalsOfContainersThatDiffer: intervals of busy containers with samples at different times are not added up.
func TestIntervalsOfContainersThatDiffer(t *testing.T) {
	at := func(ends ...time.Duration) podload.Container {
		var uses []use
		for k := len(ends) - 1; k > 0; k-- {
			uses = append(uses, use{ends[k-1], 100})
		}
		return container("app", ends[len(ends)-1], uses...)
	}
	const tenth = second / 10
	for name, tt := range map[string]struct {
		containers []podload.Container
		want       int
	}{
		"one":                      {[]podload.Container{at(0, second, 2*second, 3*second)}, 3},
		"alike":                    {[]podload.Container{at(0, second, 2*second), at(tenth, 11*tenth, 21*tenth)}, 2},
		"one is younger":           {[]podload.Container{at(0, second, 2*second), at(0, second)}, 1},
		"one is behind":            {[]podload.Container{at(0, second, 2*second), at(second, 2*second, 3*second)}, 0},
		"one has no interval, yet": {[]podload.Container{at(0, second, 2*second), at(0)}, 0},
		"none":                     {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := look(t, running(3*second, tt.containers...))
			got := 0
			for _, r := range v.Recent(0, cpu, arithmetic.Saturate) {
				if !r.Present {
					continue
				}
				got++
				if want := int64(100 * len(tt.containers)); r.Milli != want {
					t.Errorf("%dm, want %dm", r.Milli, want)
				}
			}
			if got != tt.want {
				t.Errorf("%d intervals, want %d", got, tt.want)
			}
		})
	}
}

// TestFirstSecondsAfterAStart: just after this process has begun to read, samples of a long-running pod may consist of
// single requests. They do not count before they span five seconds, while those of a new pod do.
func TestFirstSecondsAfterAStart(t *testing.T) {
	for _, tt := range []struct {
		name               string
		readyFor, interval time.Duration
		seconds            int
		want               bool
	}{
		{"three seconds of an old pod", time.Hour, second, 3, false},
		{"five seconds of an old pod", time.Hour, second, 5, true},
		{"almost five", time.Hour, 990 * time.Millisecond, 5, true},
		{"one interval of an old pod, of a kubelet", time.Hour, 12 * second, 1, true},
		{"three seconds of a new pod", 2 * second, second, 3, true},
		{"three seconds, of a pod that is no longer new", 20 * second, second, 3, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var uses []use
			for k := tt.seconds - 1; k >= 0; k-- {
				uses = append(uses, use{time.Duration(k) * tt.interval, 100})
			}
			pod := running(tt.readyFor, container("app", time.Duration(tt.seconds)*tt.interval, uses...))
			w := &world{pods: []known{pod}}
			v := &podload.View{Period: second}
			if err := v.Look(noon, 1, w); err != nil {
				t.Fatal(err)
			}
			if got := v.Sample(0, cpu, arithmetic.Saturate); got.Present != tt.want {
				t.Errorf("known: %t, want %t", got.Present, tt.want)
			}
			// Its node was just read for the first time, so that the next values are near.
			w.health = map[string]podload.Health{"a": {Since: noon.Add(-3 * second)}}
			isOlder := pod.pod.StartTime.Before(noon.Add(-15 * second))
			if err := v.Look(noon, 1, w); errors.Is(err, podload.ErrStarting) != (!tt.want && isOlder) {
				t.Errorf("on a node that is new: %v", err)
			}
		})
	}
}

// TestOrigins: an agent's samples take precedence over the kubelet's, which apply to the pods that no agent knows.
func TestOrigins(t *testing.T) {
	byBoth, byKubelet := running(time.Hour, steady("app", 100, 10*second)), running(time.Hour, steady("app", 200, 10*second))
	byBoth.agent, byBoth.noAgent = []podload.Container{steady("app", 150, 0)}, false
	byKubelet.noAgent = false
	brief := byKubelet
	brief.agent = []podload.Container{container("app", second, use{0, 900})}
	away := running(time.Hour)
	v := look(t, byBoth, byKubelet, brief, away)
	for i, want := range []struct {
		from  podload.Origin
		milli int64
		ago   time.Duration
	}{
		{podload.FromAgent, 150, 0}, {podload.FromKubelet, 200, 10 * second}, {podload.FromKubelet, 200, 10 * second},
		{podload.FromNone, 0, 0},
	} {
		got := v.Sample(i, cpu, arithmetic.Saturate)
		if v.Origins()[i] != want.from || got.Milli != want.milli || got.Present && !got.At.Equal(noon.Add(-want.ago)) {
			t.Errorf("pod %d from %d: %+v, want %+v", i, v.Origins()[i], got, want)
		}
	}
	if lacking := fmt.Sprint(v.Lacking()); lacking != "[1 2]" {
		t.Errorf("the agents lack %s", lacking)
	}
	if n := len(v.Containers(0)) + len(v.Containers(1)) + len(v.Containers(2)) + len(v.Containers(3)); n != 3 {
		t.Errorf("%d containers are known of: what did not count is left", n)
	}
}

// TestEarlierEndsTogether: the newest samples of the pods have different times. The earlier averages of all pods end
// with the oldest of them, and show how the pods shared the load then. Idle containers, whose samples are older, have
// no effect.
func TestEarlierEndsTogether(t *testing.T) {
	// The load of 600m moved from the first pod to the second twelve seconds ago, which the first pod's samples do not
	// show yet.
	moved := container("app", 60*second, use{40 * second, 700}, use{12 * second, 700})
	var taken []use
	for k := 39; k >= 0; k-- {
		milli := int64(100)
		if k < 12 {
			milli = 700
		}
		taken = append(taken, use{time.Duration(k) * second, milli})
	}
	idle := container("sidecar", 60*second, use{22 * second, 0})
	pods := []known{
		running(time.Hour, moved, idle), running(time.Hour, container("app", 40*second, taken...)),
		running(time.Hour, idle, steady("app", 100, second)),
	}
	v := look(t, pods...)
	for i, want := range []int64{700, 100, 100} {
		got := v.Earlier(i, cpu, arithmetic.Saturate)
		if !got.Present || got.Milli != want || !got.At.Equal(noon.Add(-12*second)) || got.Window != 15*second {
			t.Errorf("pod %d: %+v, want %dm", i, got, want)
		}
	}
	for name, spec := range map[string]*source.Spec{
		"memory":           {Type: source.Resource, Name: "memory"},
		"of no container":  {Type: source.ContainerResource, Name: source.CPU, Container: "other"},
		"of the container": {Type: source.ContainerResource, Name: source.CPU, Container: "app"},
	} {
		if got := v.Earlier(0, spec, arithmetic.Saturate); got.Present != (name == "of the container") {
			t.Errorf("%s: %+v", name, got)
		}
	}

}

// TestEarlierOfSomePods: new pods are not compared, pods with samples of the same second need no comparison, and a pod
// with far older samples does not move the others' averages back.
func TestEarlierOfSomePods(t *testing.T) {
	old, other := steady("app", 100, 12*second), steady("app", 100, second)
	pods := []known{running(time.Hour, old), running(time.Hour, other)}

	// A pod that has just become ready has no usage to compare, and does not determine the time of the comparison.
	isNew := running(8*second, steady("app", 50, 0))
	v := look(t, append(pods, isNew)...)
	if got := v.Earlier(2, cpu, arithmetic.Saturate); got.Present {
		t.Errorf("a new pod: %+v", got)
	}
	if got := v.Earlier(0, cpu, arithmetic.Saturate); !got.Present || !got.At.Equal(noon.Add(-12*second)) {
		t.Errorf("beside a new pod: %+v", got)
	}
}

// TestEarlierOfTwo: samples of the same second need no comparison, and a pod with far older samples does not move the
// other's average back.
func TestEarlierOfTwo(t *testing.T) {
	v := look(t, running(time.Hour, steady("app", 100, 0)), running(time.Hour, steady("app", 100, second)))
	if got := v.Earlier(0, cpu, arithmetic.Saturate); got.Present {
		t.Errorf("a second apart: %+v", got)
	}
	v = look(t, running(time.Hour, steady("app", 100, 0)), running(time.Hour, steady("app", 100, 28*second)))
	if got := v.Earlier(0, cpu, arithmetic.Saturate); !got.At.Equal(noon.Add(-21 * second)) {
		t.Errorf("beside one that is far older: %+v", got)
	}
	if got := v.Earlier(1, cpu, arithmetic.Saturate); !got.At.Equal(noon.Add(-28 * second)) {
		t.Errorf("the one that is far older: %+v", got)
	}
}

// TestDeadNode: pods on a node that cannot be read are missing; if they are few, another source is not read for them.
func TestDeadNode(t *testing.T) {
	down := errors.New("it does not answer")
	for _, tt := range []struct {
		dead, all int
		err       error
		wrong     bool
		isUsable  bool
	}{
		{1, 10, down, false, true}, {1, 9, down, true, true}, {5, 10, down, true, true}, {6, 10, down, true, false},
		{1, 10, podload.ErrStarting, true, false},
	} {
		w := &world{health: map[string]podload.Health{"dead": {Err: tt.err}}}
		for i := range tt.all {
			pod := running(time.Hour, steady("app", 100, 0))
			if i < tt.dead {
				pod.node = "dead"
			}
			w.pods = append(w.pods, pod)
		}
		var v podload.View
		err := v.Look(noon, tt.all, w)
		if (err != nil) != tt.wrong || err != nil && !errors.Is(err, tt.err) || v.IsUsable() != tt.isUsable {
			t.Errorf("%d of %d, %v: %v, usable: %t", tt.dead, tt.all, tt.err, err, v.IsUsable())
		}
		if errors.Is(tt.err, podload.ErrStarting) {
			continue
		}
		if u := v.Unreadable(); u.Pods != tt.dead || u.Ready != tt.all || u.Node != "dead" {
			t.Errorf("%d of %d: %+v", tt.dead, tt.all, u)
		}
		if v.Sample(0, cpu, arithmetic.Saturate).Present || !v.Sample(tt.all-1, cpu, arithmetic.Saturate).Present {
			t.Errorf("%d of %d: what is on the node is known, or the others are not", tt.dead, tt.all)
		}
	}
}

// TestLookAllocatesNothing: the decisions share one view, which allocates no memory after the first.
func TestLookAllocatesNothing(t *testing.T) {
	w := &world{}
	for i := range 100 {
		w.pods = append(w.pods, running(time.Hour, steady("app", 100, time.Duration(i%20)*second), steady("sidecar", 1, 0)))
		w.pods[i].pod.Name = "web"
	}
	v := podload.View{Period: second}
	r := &named{w}
	if n := testing.AllocsPerRun(10, func() {
		if err := v.Look(noon, len(w.pods), r); err != nil {
			t.Fatal(err)
		}
		for i := range w.pods {
			_, _ = v.Sample(i, cpu, arithmetic.Saturate), v.Recent(i, cpu, arithmetic.Saturate)
			_ = v.Earlier(i, cpu, arithmetic.Saturate)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// named provides only the names of the pods.
type named struct{ *world }

func (w *named) Pod(i int) (*metric.Pod, string) { return &w.pods[i].pod, w.pods[i].node }
