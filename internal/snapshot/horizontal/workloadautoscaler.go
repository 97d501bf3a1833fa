package horizontal

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// Autoscaler returns the step's object.
func (s *Step) Autoscaler() observehorizontal.Autoscaler {
	return observehorizontal.Either(s.HPA, s.Workload)
}

// KeyOf names the step's object.
func KeyOf(s *Step) observe.Key {
	return s.Autoscaler().Key()
}

// Policy returns the policy of the step's object with these flags.
func (s *Step) Policy(o observehorizontal.Options) horizontal.Policy {
	p, _, _ := observehorizontal.PolicyOf(s.Autoscaler(), o)
	return p
}

// observeWorkload adds the inputs of decisions on WorkloadAutoscalers alone.
func observeWorkload(s *Step, o *horizontal.Observation) {
	a := s.Autoscaler()
	if !a.IsWorkload() {
		return
	}
	o.Shown, o.CreatedAt = a.Shown(), a.CreationTimestamp.Time
	if saved := s.Snapshot.Refusal; saved != nil {
		o.Refusal = horizontal.Refusal(*saved)
		return
	}
	_, _, o.Refusal = observehorizontal.PolicyOf(a, observehorizontal.DefaultOptions())
}

func refusalOf(r horizontal.Refusal) *Refusal {
	if r.Reason == "" {
		return nil
	}
	saved := Refusal(r)
	return &saved
}

func objectOf(s *Step) runtime.Object {
	return s.Autoscaler().Object()
}

func kindOf(s *Step) string {
	return s.Autoscaler().Kind().String()
}

// Bounds of the API, which a file may exceed.
const (
	mostMetrics, mostSchedules = 100, 32
	longestDuration            = 366 * 24 * 60 * 60
	longestRamp                = 24 * 60 * 60
)

// numberRange is a field with the numbers that the API server permits.
type numberRange struct {
	path        string
	value       int64
	least, most int64
}

func (s *Step) checkRanges() error {
	if s.Workload == nil {
		return nil
	}
	spec := &s.Workload.Spec
	const most = 1<<31 - 1
	zero, paused := plimsollv1alpha1.ScaleToZero{}, plimsollv1alpha1.Paused{}
	if spec.ScaleToZero != nil {
		zero = *spec.ScaleToZero
	}
	if spec.Paused != nil {
		paused = *spec.Paused
	}
	ranges := []numberRange{
		{"metrics", int64(len(spec.Metrics)), 0, mostMetrics},
		{"schedules", int64(len(spec.Schedules)), 0, mostSchedules},
		{"paused.replicas", int64(paused.Replicas), 0, int64(spec.MaxReplicas)},
		{"scaleToZero.cooldownSeconds", int64(ptr.Deref(zero.CooldownSeconds, 0)), 0, most},
		{"scaleToZero.initialCooldownSeconds", int64(ptr.Deref(zero.InitialCooldownSeconds, 0)), 0, most},
		{"syncPeriodSeconds", int64(ptr.Deref(spec.SyncPeriodSeconds, 3)), 3, 3600},
	}
	if f := spec.Forecast; f != nil {
		ranges = append(ranges,
			numberRange{"forecast.wasteLimitPercent", int64(ptr.Deref(f.WasteLimitPercent, 0)), 0, 100},
			numberRange{"forecast.shortageCostFactor", int64(ptr.Deref(f.ShortageCostFactor, 1)), 1, 1000})
	}
	for i := range spec.Metrics {
		f := spec.Metrics[i].Fallback
		if f == nil {
			continue
		}
		path, least := fmt.Sprintf("metrics[%d].fallback.", i), int64(1)
		if f.Policy == plimsollv1alpha1.FallbackCurrentReplicas {
			least = 0
		}
		ranges = append(ranges,
			numberRange{path + "failureDurationSeconds", int64(ptr.Deref(f.FailureDurationSeconds, 1)), 1, most},
			numberRange{path + "replicas", int64(ptr.Deref(f.Replicas, 0)), least, most})
	}
	for i := range spec.Schedules {
		s := &spec.Schedules[i]
		path := fmt.Sprintf("schedules[%d].", i)
		ranges = append(ranges,
			numberRange{path + "durationSeconds", int64(ptr.Deref(s.DurationSeconds, 60)), 60, longestDuration},
			numberRange{path + "minReplicas", int64(ptr.Deref(s.MinReplicas, 1)), 1, most},
			numberRange{path + "maxReplicas", int64(ptr.Deref(s.MaxReplicas, 1)), 1, most},
			numberRange{path + "rampSeconds", int64(ptr.Deref(s.RampSeconds, 0)), 0, longestRamp})
	}
	for _, r := range ranges {
		if r.value < r.least || r.value > r.most {
			return snapshot.Invalid("WorkloadAutoscaler", "spec.%s: %d, must be from %d to %d", r.path, r.value, r.least, r.most)
		}
	}
	return nil
}
