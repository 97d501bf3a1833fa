package world

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// Workers are the pods that do a work.
type Workers uint8

// The workers.
const (
	// AllPods do it, each of them all of it.
	AllPods Workers = iota
	// FirstPod does it alone: the oldest one that there ever was.
	FirstPod
	// OneByOne has one of the ready pods do it, and after each period the next one.
	OneByOne
)

// Work is what pods do by themselves, beside their part of the load: more pods do not make it less. It changes at whole
// seconds.
type Work struct {
	Pods Workers
	// Every is from one beginning to the next; with 0 there is one beginning. Lasts is how long it takes each time; with 0
	// it goes on until the next beginning, or for good.
	Every, Lasts time.Duration
	// After is when it begins for the first time. Shift is how much earlier each pod begins than the one before it.
	After, Shift time.Duration
	// SinceReady counts the time of each pod from when it is ready, instead of from the beginning of the world.
	SinceReady bool
	// CPUMilli is used while it lasts.
	CPUMilli float64
	// ExtraRequestCost is how much more CPU a request costs when it begins, in parts of what it costs otherwise. It falls
	// evenly to 0 at its end, so that Lasts must be set.
	ExtraRequestCost float64
	// MemoryBytesPerSecond is by how much memory grows while it lasts; at its end all of that is free.
	MemoryBytesPerSecond float64
}

// Validate reports what is not possible.
func (k *Work) Validate() error {
	switch {
	case k.Every < 0 || k.Lasts < 0 || k.After < 0 || k.Shift < 0:
		return errors.New("its times must not be negative")
	case k.Pods == OneByOne && k.Every <= 0:
		return errors.New("work that goes from pod to pod needs a period")
	case k.ExtraRequestCost != 0 && k.Lasts <= 0:
		return errors.New("requests that cost more at first must cost less at some time")
	}
	for _, amount := range []float64{k.CPUMilli, k.ExtraRequestCost, k.MemoryBytesPerSecond} {
		if !(amount >= 0 && amount < 1e15) {
			return fmt.Errorf("an amount of %v, want a number of at least 0", amount)
		}
	}
	return nil
}

// beginWork has each pod do its work in the second that begins.
func beginWork(w *World) {
	if len(w.config.Work) == 0 {
		return
	}
	ready := 0
	for _, p := range w.pods {
		if p.IsReady && !p.Deleting {
			ready++
		}
	}
	place := 0
	for _, p := range w.pods {
		if !p.IsRunning {
			continue
		}
		profile, own := w.config.Profile, -1
		if p.IsReady && !p.Deleting {
			own = place
			place++
		}
		for i := range w.config.Work {
			k := &w.config.Work[i]
			if k.isOf(p, own, ready, w.now) {
				k.add(&profile, p, w.now)
			}
		}
		p.SetProfile(profile)
	}
}

// isOf reports whether a pod does it. own is the pod's index among the ready ones, below 0 if it is not ready.
func (k *Work) isOf(p *Pod, own, ready int, now time.Duration) bool {
	switch k.Pods {
	case FirstPod:
		return p.Number == 0
	case OneByOne:
		return own >= 0 && own == int(now/k.Every)%ready
	}
	return true
}

// add adds what a pod does in the second that begins now.
func (k *Work) add(profile *workloadmodel.Profile, p *Pod, now time.Duration) {
	at := now + time.Duration(p.Number)*k.Shift
	if k.SinceReady {
		if !p.IsReady {
			return
		}
		at = now - p.Ready
	}
	if at -= k.After; at < 0 {
		return
	}
	if k.Every > 0 {
		at %= k.Every
	}
	if k.Lasts > 0 && at >= k.Lasts {
		return
	}
	profile.IdleCPUMilli += k.CPUMilli
	profile.MemoryBaseBytes += k.MemoryBytesPerSecond * at.Seconds()
	if k.ExtraRequestCost > 0 {
		profile.CPUPerRequestMilliCoreSeconds *= 1 + k.ExtraRequestCost*(1-float64(at)/float64(k.Lasts))
	}
}
