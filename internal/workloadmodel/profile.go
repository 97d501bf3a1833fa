package workloadmodel

import (
	"fmt"
	"math"
	"time"
)

// Profile is the behaviour of a workload's pods: the parameters of the model that are not resources.
type Profile struct {
	// CPUPerRequestMilliCoreSeconds is the CPU work of one request. 0 makes requests free.
	CPUPerRequestMilliCoreSeconds float64
	// IdleCPUMilli is used at all times, load or not.
	IdleCPUMilli float64
	// StartupCPUMilli is used on top for Startup, from the start of the pod.
	StartupCPUMilli float64
	Startup         time.Duration
	// MemoryBaseBytes is the working set without load.
	MemoryBaseBytes float64
	// MemoryPerRequestBytes is held by each request that waits, and by each served one for MemoryHold.
	MemoryPerRequestBytes float64
	MemoryHold            time.Duration
	// IOLatency is the part of a request's time that needs no CPU.
	IOLatency time.Duration
	// QueueLimit is the number of requests in the queue of one pod before further ones are dropped.
	QueueLimit float64
	// Imbalance is how far a pod's share of the load may be from the mean, 0 to below 1.
	Imbalance float64
	// Noise is how far the cost of a request may be from its mean, 0 to below 1.
	Noise float64
}

// DefaultProfile returns a small web service: 10 ms of CPU per request, so that 100 requests/s keep one core busy.
func DefaultProfile() Profile {
	return Profile{
		CPUPerRequestMilliCoreSeconds: 10,
		IdleCPUMilli:                  1,
		StartupCPUMilli:               0,
		Startup:                       10 * time.Second,
		MemoryBaseBytes:               32 << 20,
		MemoryPerRequestBytes:         64 << 10,
		MemoryHold:                    time.Second,
		IOLatency:                     5 * time.Millisecond,
		QueueLimit:                    200,
	}
}

// Validate reports the first field that is not a finite number in its range.
func (p Profile) Validate() error {
	amounts := []struct {
		name  string
		value float64
	}{
		{"cpu per request", p.CPUPerRequestMilliCoreSeconds},
		{"idle cpu", p.IdleCPUMilli},
		{"start-up cpu", p.StartupCPUMilli},
		{"start-up duration", p.Startup.Seconds()},
		{"base memory", p.MemoryBaseBytes},
		{"memory per request", p.MemoryPerRequestBytes},
		{"memory hold", p.MemoryHold.Seconds()},
		{"io latency", p.IOLatency.Seconds()},
		{"queue limit", p.QueueLimit},
	}
	for _, a := range amounts {
		if !isAmount(a.value) {
			return fmt.Errorf("%s must be a finite number of at least 0, not %v", a.name, a.value)
		}
	}
	if !isFraction(p.Imbalance) {
		return fmt.Errorf("imbalance must be at least 0 and below 1, not %v", p.Imbalance)
	}
	if !isFraction(p.Noise) {
		return fmt.Errorf("noise must be at least 0 and below 1, not %v", p.Noise)
	}
	return nil
}

// isAmount is false for NaN too, because NaN compares false with everything.
func isAmount(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

func isFraction(v float64) bool { return v >= 0 && v < 1 }
