package world

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// working is a world of three ready pods without load that do a work.
func working(t *testing.T, k Work) *World {
	t.Helper()
	profile := workloadmodel.DefaultProfile()
	profile.IdleCPUMilli = 0
	w, err := New(Config{
		Load: workloadmodel.Constant(0), Profile: profile, Resources: workloadmodel.Resources{CPURequestMilli: 500},
		StartAfter: time.Second, ReadyAfter: 2 * time.Second, Replicas: 3, Work: []Work{k},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWork: in the second that ends, each pod has used what its work takes then.
func TestWork(t *testing.T) {
	for name, c := range map[string]struct {
		work Work
		// want is the CPU of each of the pods in seconds that end then.
		want map[int][3]float64
	}{
		"all pods at the same time, for 2 s of every 10 s": {
			Work{Every: 10 * time.Second, Lasts: 2 * time.Second, CPUMilli: 100},
			map[int][3]float64{9: {}, 11: {100, 100, 100}, 12: {100, 100, 100}, 13: {}, 21: {100, 100, 100}},
		},
		"each pod 4 s earlier than the one before": {
			Work{Every: 10 * time.Second, Lasts: 2 * time.Second, Shift: 4 * time.Second, CPUMilli: 100},
			map[int][3]float64{11: {100, 0, 0}, 13: {0, 0, 100}, 17: {0, 100, 0}, 20: {}},
		},
		"for the first time after 15 s": {
			Work{Every: 10 * time.Second, Lasts: 2 * time.Second, After: 15 * time.Second, CPUMilli: 100},
			map[int][3]float64{6: {}, 16: {100, 100, 100}, 18: {}, 26: {100, 100, 100}},
		},
		"the first pod always": {
			Work{Pods: FirstPod, CPUMilli: 70},
			map[int][3]float64{5: {70, 0, 0}, 500: {70, 0, 0}},
		},
		"one pod after the other": {
			Work{Pods: OneByOne, Every: 5 * time.Second, CPUMilli: 70},
			map[int][3]float64{4: {70, 0, 0}, 6: {0, 70, 0}, 11: {0, 0, 70}, 16: {70, 0, 0}},
		},
		"new pods alone: these have been ready for long": {
			Work{SinceReady: true, Lasts: 30 * time.Second, CPUMilli: 70},
			map[int][3]float64{4: {}, 40: {}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := working(t, c.work)
			for at := range 600 {
				w.AdvanceTo(time.Duration(at) * time.Second)
				want, isChecked := c.want[at]
				for i := 0; isChecked && i < len(want); i++ {
					if s, _ := w.Pods()[i].Stats(); s.CPUMilli != want[i] {
						t.Errorf("pod %d in second %d: %vm, want %vm", i, at, s.CPUMilli, want[i])
					}
				}
			}
		})
	}
}

// TestWorkOfNewPods: a pod that is ready at 3 s works for 4 s from then on.
func TestWorkOfNewPods(t *testing.T) {
	w := working(t, Work{SinceReady: true, Lasts: 4 * time.Second, CPUMilli: 70})
	w.Scale(4)
	for at, want := range map[int]float64{4: 70, 7: 70} {
		w := working(t, Work{SinceReady: true, Lasts: 4 * time.Second, CPUMilli: 70})
		w.Scale(4)
		w.AdvanceTo(time.Duration(at) * time.Second)
		if s, _ := w.Pods()[3].Stats(); s.CPUMilli != want {
			t.Errorf("second %d: %vm, want %vm", at, s.CPUMilli, want)
		}
	}
	w.AdvanceTo(9 * time.Second)
	if s, _ := w.Pods()[3].Stats(); s.CPUMilli != 0 {
		t.Errorf("after its start: %vm", s.CPUMilli)
	}
}

// TestLeakAndRequestCost: memory grows until the next beginning, and requests cost ever less.
func TestLeakAndRequestCost(t *testing.T) {
	profile := workloadmodel.DefaultProfile()
	pod := &Pod{IsReady: true, Ready: 100 * time.Second}
	leak := Work{Every: time.Minute, MemoryBytesPerSecond: 10}
	for at, want := range map[int]float64{0: 0, 59: 590, 60: 0, 90: 300} {
		p := profile
		if leak.add(&p, pod, time.Duration(at)*time.Second); p.MemoryBaseBytes-profile.MemoryBaseBytes != want {
			t.Errorf("at %d s: %v bytes more, want %v", at, p.MemoryBaseBytes-profile.MemoryBaseBytes, want)
		}
	}
	compiles := Work{SinceReady: true, Lasts: 20 * time.Second, ExtraRequestCost: 2}
	for at, want := range map[int]float64{100: 30, 110: 20, 120: 10, 500: 10} {
		p := profile
		if compiles.add(&p, pod, time.Duration(at)*time.Second); p.CPUPerRequestMilliCoreSeconds != want {
			t.Errorf("at %d s: a request costs %v, want %v", at, p.CPUPerRequestMilliCoreSeconds, want)
		}
	}
}

func TestWorkIsValidated(t *testing.T) {
	for name, k := range map[string]Work{
		"a negative time":                {Every: -1},
		"going around without a period":  {Pods: OneByOne},
		"requests that never cost less":  {ExtraRequestCost: 1},
		"a negative amount":              {CPUMilli: -1},
		"an amount that is not a number": {MemoryBytesPerSecond: nan()},
	} {
		if k.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func nan() float64 { zero := 0.0; return zero / zero }
