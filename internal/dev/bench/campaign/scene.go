package campaign

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
)

// scene returns the simulation of a case. Nothing else turns a case into one.
func (c *Case) scene(kubelets *Kubelets, seed uint64) (*simulate.Scene, error) {
	l, err := load.FromValues(c.Name, time.Time{}, time.Second, c.Load)
	if err != nil {
		return nil, err
	}
	s, err := simulate.NewScene(l, c.workload(kubelets), observehorizontal.HPA(c.hpa()))
	if err != nil {
		return nil, err
	}
	s.For, s.Seed, s.PodCapacity, s.Burstiness = l.Length, seed, 1, c.Burstiness
	s.Target, s.MinReplicas = float64(c.TargetPercent)/100, c.Min
	s.Rollouts, s.Outages, s.ClockOffsets = c.Rollouts, c.Outages, c.ClockOffsets
	s.Timing.Housekeeping, s.Timing.Plimsoll.Agents = kubelets.Housekeeping, kubelets.Agents
	return s, nil
}

// setting is a side's of the case.
func (c *Case) setting(side *Side) simulate.Setting {
	s := simulate.Setting{Name: side.Name, Side: side.Of, HPA: c.hpa(), Without: side.Without}
	if side.Told {
		s.HPA.Spec.Metrics = requestsOffered(c.requestsAtTarget())
		return s
	}
	if c.Own != nil && side.Of == simulate.Plimsoll {
		s.HPA, s.Workload = nil, c.workloadAutoscaler()
	}
	return s
}

// requestsAtTarget returns the requests a second that a pod serves at its target.
func (c *Case) requestsAtTarget() float64 {
	if c.RequestsAtFull > 0 {
		return c.RequestsAtFull * float64(c.TargetPercent) / 100
	}
	return requestsFor(c.TargetPercent)
}

func (c *Case) hpa() *autoscalingv2.HorizontalPodAutoscaler {
	metrics := c.Metrics
	if metrics == nil {
		metrics = cpu(c.TargetPercent)
	}
	h := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web", APIVersion: "apps/v1"},
			MinReplicas:    &c.Min, MaxReplicas: c.Max, Metrics: metrics, Behavior: c.Behavior.DeepCopy(),
		},
	}
	if c.Tolerance != nil {
		if h.Spec.Behavior == nil {
			h.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{}
		}
		setTolerance(&h.Spec.Behavior.ScaleUp, c.Tolerance.Up)
		setTolerance(&h.Spec.Behavior.ScaleDown, c.Tolerance.Down)
	}
	return h
}

func setTolerance(rules **autoscalingv2.HPAScalingRules, tolerance float64) {
	if *rules == nil {
		*rules = &autoscalingv2.HPAScalingRules{}
	}
	(*rules).Tolerance = ptr.To(milli(tolerance))
}

func (c *Case) workloadAutoscaler() *plimsollv1alpha1.WorkloadAutoscaler {
	w := &plimsollv1alpha1.WorkloadAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{
			ScaleTargetRef: plimsollv1alpha1.CrossVersionObjectReference{Kind: "Deployment", Name: "web", APIVersion: "apps/v1"},
			MinReplicas:    &c.Min, MaxReplicas: c.Max, Metrics: c.Own.Metrics,
		},
	}
	if c.Own.SyncPeriodSeconds > 0 {
		w.Spec.SyncPeriodSeconds = &c.Own.SyncPeriodSeconds
	}
	// The metrics belong to the case, which several plays share.
	w = w.DeepCopy()
	plimsollv1alpha1.SetDefaults(&w.Spec)
	return w
}

func (c *Case) workload(kubelets *Kubelets) simulate.Workload {
	w := simulate.DefaultWorkload()
	w.CPURequestMilli, w.StartAfter, w.ReadyAfter = c.RequestMilli, c.StartAfter, c.ReadyAfter
	w.Profile.Imbalance, w.Profile.Noise = c.Imbalance, c.Noise
	w.Work, w.Sidecars = c.Work, slices.Concat(c.Sidecars, kubelets.Sidecars)
	if c.RequestsAtFull > 0 {
		w.Profile.CPUPerRequestMilliCoreSeconds = c.RequestMilli / c.RequestsAtFull
	}
	w.Complete()
	w.Profile.StartupCPUMilli, w.Profile.Startup = c.StartupCPUMilli, c.Startup
	if c.FixedMemory {
		w.Profile.MemoryBaseBytes, w.Profile.MemoryPerRequestBytes = 40<<20, 0
	}
	return w
}
