package horizontal

import (
	"errors"
	"fmt"
	"math"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// Complete implements [snapshot.Step].
func (s *Step) Complete() error {
	switch {
	case s.HPA != nil && s.Workload != nil:
		return errors.New("items: a HorizontalPodAutoscaler and a WorkloadAutoscaler, a step has one of them")
	case s.HPA == nil && s.Workload == nil:
		return errors.New("items: no autoscaling/v2 HorizontalPodAutoscaler and no plimsoll.dev/v1alpha1 WorkloadAutoscaler")
	case s.Scale == nil && (s.Snapshot == nil || s.Snapshot.ScaleError == ""):
		return errors.New("items: no autoscaling/v1 Scale")
	case s.Snapshot == nil:
		return fmt.Errorf("items: no %s Snapshot", snapshot.GroupVersion)
	case s.Scale == nil:
		s.Scale = &autoscalingv1.Scale{}
	}
	s.setDefaults()
	for _, check := range []func() error{s.checkRanges, s.checkNames, s.checkCounts, s.checkOptions, s.checkHistory,
		s.checkErrors, s.checkWindows} {
		if err := check(); err != nil {
			return err
		}
	}
	return checkSources(s)
}

// setDefaults sets the API server's defaults (pkg/apis/autoscaling/v2/defaults.go), and a default namespace. Behavior's
// defaults are observe's.
func (s *Step) setDefaults() {
	a := s.Autoscaler()
	if a.Namespace == "" {
		a.Namespace = corev1.NamespaceDefault
	}
	for _, namespace := range []*string{&s.Scale.Namespace, &s.Snapshot.Namespace} {
		if *namespace == "" {
			*namespace = a.Namespace
		}
	}
	if a.IsWorkload() {
		plimsollv1alpha1.SetDefaults(&s.Workload.Spec)
		return
	}
	if a.NumMetrics() > 0 {
		return
	}
	utilization := int32(80)
	s.HPA.Spec.Metrics = []autoscalingv2.MetricSpec{{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &utilization},
		},
	}}
}

func (s *Step) checkNames() error {
	switch a := s.Autoscaler(); {
	case a.Name == "":
		return snapshot.Invalid(kindOf(s), "metadata.name: Required value")
	case s.Snapshot.Name != a.Name || s.Snapshot.Namespace != a.Namespace:
		return snapshot.Invalid("Snapshot", "metadata: %s/%s is not the %s's name %s/%s",
			s.Snapshot.Namespace, s.Snapshot.Name, kindOf(s), a.Namespace, a.Name)
	case s.Scale.Namespace != a.Namespace:
		return snapshot.Invalid("Scale", "metadata.namespace: %s is not the %s's %s", s.Scale.Namespace, kindOf(s),
			a.Namespace)
	case s.Snapshot.Time.IsZero():
		return snapshot.Invalid("Snapshot", "time: Required value")
	}
	return nil
}

func (s *Step) checkCounts() error {
	a := s.Autoscaler()
	least, most := ptr.Deref(a.MinReplicas(), 1), a.MaxReplicas()
	switch {
	case most < 1:
		return snapshot.Invalid(kindOf(s), "spec.maxReplicas: %d, must be set and greater than 0", most)
	case least < 0:
		return snapshot.Invalid(kindOf(s), "spec.minReplicas: %d, must be greater than or equal to 0", least)
	case least > most:
		return snapshot.Invalid(kindOf(s), "spec.maxReplicas: %d, must be greater than or equal to `minReplicas` %d", most,
			least)
	case s.Scale.Spec.Replicas < 0:
		return snapshot.Invalid("Scale", "spec.replicas: %d, must be greater than or equal to 0", s.Scale.Spec.Replicas)
	case s.Scale.Status.Replicas < 0:
		return snapshot.Invalid("Scale", "status.replicas: %d, must be greater than or equal to 0", s.Scale.Status.Replicas)
	}
	return nil
}

func (s *Step) checkOptions() error {
	o := s.Snapshot.Options
	if o == nil {
		return nil
	}
	if t := o.Tolerance; t != nil && (*t < 0 || math.IsNaN(*t)) {
		return snapshot.Invalid("Snapshot", "options.tolerance: %v, must be greater than or equal to 0", *t)
	}
	flags := o.Flags()
	if _, err := observehorizontal.ParseForecastMode(o.Forecast); err != nil && o.Forecast != "" {
		return snapshot.Invalid("Snapshot", "options.forecast: %v", err)
	}
	switch {
	case flags.DownscaleStabilization < 0:
		return snapshot.Invalid("Snapshot", "options.downscaleStabilization: %s, must not be negative",
			flags.DownscaleStabilization)
	case flags.CPUInitializationPeriod < 0:
		return snapshot.Invalid("Snapshot", "options.cpuInitializationPeriod: %s, must not be negative",
			flags.CPUInitializationPeriod)
	case flags.InitialReadinessDelay < 0:
		return snapshot.Invalid("Snapshot", "options.initialReadinessDelay: %s, must not be negative",
			flags.InitialReadinessDelay)
	}
	return checkSurge(&flags.Surge)
}

func checkSurge(s *surge.Settings) error {
	switch {
	case s.Window < 0:
		return snapshot.Invalid("Snapshot", "options.surge.window: %s, must not be negative", s.Window)
	case !(s.Margin >= 1):
		return snapshot.Invalid("Snapshot", "options.surge.margin: %v, must be greater than or equal to 1", s.Margin)
	case !(s.SteepFactor >= s.Margin):
		return snapshot.Invalid("Snapshot", "options.surge.steepFactor: %v, must be greater than or equal to the margin %v",
			s.SteepFactor, s.Margin)
	case s.LeastCPUMilli < 0:
		return snapshot.Invalid("Snapshot", "options.surge.leastCPU: %dm, must not be negative", s.LeastCPUMilli)
	case s.ReadyFor < 0:
		return snapshot.Invalid("Snapshot", "options.surge.readyFor: %s, must not be negative", s.ReadyFor)
	}
	return nil
}

// checkWindows refuses annotations that would be misread.
func (s *Step) checkWindows() error {
	for i := range s.PodMetrics {
		m := &s.PodMetrics[i]
		window, marked := m.Annotations[observehorizontal.WindowAnnotation]
		switch {
		case !marked:
		case window != observehorizontal.SurgeWindow && window != observehorizontal.EarlierWindow:
			return snapshot.Invalid("PodMetrics "+m.Name, "metadata.annotations[%s]: %q, known are %q and %q",
				observehorizontal.WindowAnnotation, window, observehorizontal.SurgeWindow, observehorizontal.EarlierWindow)
		case m.Timestamp.IsZero():
			return snapshot.Invalid("PodMetrics "+m.Name, "timestamp: Required value")
		case m.Window.Duration <= 0:
			return snapshot.Invalid("PodMetrics "+m.Name, "window: %s, must be greater than 0", m.Window.Duration)
		}
	}
	return nil
}

func (s *Step) checkHistory() error {
	if state := s.Snapshot.State; state != nil && state.Version != horizontal.StateVersion {
		return snapshot.Invalid("Snapshot", "state.version: %d, this program knows %d", state.Version,
			horizontal.StateVersion)
	}
	if s.Snapshot.History == nil {
		return nil
	}
	for i, e := range s.Snapshot.History.ScaleEvents {
		if e.Change == 0 || e.Change == math.MinInt32 {
			return snapshot.Invalid("Snapshot", "history.scaleEvents[%d].change: %d, want a number of replicas", i, e.Change)
		}
		if e.Time.IsZero() {
			return snapshot.Invalid("Snapshot", "history.scaleEvents[%d].time: Required value", i)
		}
	}
	for i, r := range s.Snapshot.History.Recommendations {
		if r.Time.IsZero() {
			return snapshot.Invalid("Snapshot", "history.recommendations[%d].time: Required value", i)
		}
	}
	return nil
}

func (s *Step) checkErrors() error {
	seen := map[int]bool{}
	for i, e := range s.Snapshot.Errors {
		switch {
		case e.MetricIndex < 0 || e.MetricIndex >= s.Autoscaler().NumMetrics():
			return snapshot.Invalid("Snapshot", "errors[%d].metricIndex: %d, the %s has %d metrics",
				i, e.MetricIndex, kindOf(s), s.Autoscaler().NumMetrics())
		case seen[e.MetricIndex]:
			return snapshot.Invalid("Snapshot", "errors[%d].metricIndex: Duplicate value: %d", i, e.MetricIndex)
		case e.Message == "":
			return snapshot.Invalid("Snapshot", "errors[%d].message: Required value", i)
		}
		seen[e.MetricIndex] = true
	}
	for i, a := range s.Snapshot.Asked {
		if a.MetricIndex < 0 || a.MetricIndex >= s.Autoscaler().NumMetrics() {
			return snapshot.Invalid("Snapshot", "asked[%d].metricIndex: %d, the %s has %d metrics",
				i, a.MetricIndex, kindOf(s), s.Autoscaler().NumMetrics())
		}
	}
	return nil
}
