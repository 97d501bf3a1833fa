// Package horizontal has the snapshots of HorizontalPodAutoscalers and WorkloadAutoscalers: all inputs of one decision.
// It makes them from live decisions, reads and writes them, and decides them again with the controller's own core.
package horizontal

import (
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1 "k8s.io/metrics/pkg/apis/metrics/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// NoteAnnotation on a Snapshot is a sentence of the step's, which explanations
// begin with.
const NoteAnnotation = "plimsoll.dev/note"

// MetricLabel on a value of external.metrics.k8s.io is the index of its metric among those of the object, whatever its
// other labels are.
const MetricLabel = "plimsoll.dev/metric"

// Step is one document of a stream: the inputs of one decision.
type Step struct {
	Snapshot *Snapshot
	// HPA or Workload is the object. The other one is nil.
	HPA      *autoscalingv2.HorizontalPodAutoscaler
	Workload *plimsollv1alpha1.WorkloadAutoscaler
	Scale    *autoscalingv1.Scale
	// Pods may include pods of others: the scale's selector chooses.
	Pods []*corev1.Pod
	// PodMetrics, Custom and External are the responses of the metrics APIs. A pod has several PodMetrics if single
	// intervals are known, too: observe.IsInterval.
	PodMetrics []metricsv1beta1.PodMetrics
	Custom     []custommetricsv1beta2.MetricValue
	External   []externalmetricsv1beta1.ExternalMetricValue

	// lists are the responses with the PodMetrics.
	lists []*metricsv1beta1.PodMetricsList
}

// Snapshot has all inputs that are not objects of the API. Its name is the autoscaler's.
type Snapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Time is the time of the decision.
	Time    time.Time `json:"time"`
	Options *Options  `json:"options,omitempty"`
	// State is the complete state before the step, as Plimsoll saves it. It has precedence over History.
	State *horizontal.State `json:"state,omitempty"`
	// History has earlier decisions. Without it and State, the history of the previous step continues.
	History *History `json:"history,omitempty"`
	Errors  []Error  `json:"errors,omitempty"`
	// Awaited are the metrics whose values had been requested but had not arrived: they are no failure.
	Awaited []int `json:"awaited,omitempty"`
	// Asked has the times of the requests for metrics; a metric without one was not requested.
	Asked []Asked `json:"asked,omitempty"`
	// Sources are the readings of metrics that Plimsoll reads itself.
	Sources []SourceReading `json:"sources,omitempty"`
	// ScaleError is the API's error in place of the scale, which may be omitted then.
	ScaleError string `json:"scaleError,omitempty"`
	// AmbiguousSelector names another object that selects the same pods.
	AmbiguousSelector string `json:"ambiguousSelector,omitempty"`
	// VerticalConflict describes the conflict with a vertical autoscaler; empty means that there is none, absent that it
	// was not checked.
	VerticalConflict *string `json:"verticalConflict,omitempty"`
	// Trigger is the reason for deciding then: "periodic", which is the default, "samples" for new samples, "event" for a
	// change of pods or of the replica count. A decision with trigger "event" never scales down.
	Trigger string `json:"trigger,omitempty"`
	// Refusal is the reason why a WorkloadAutoscaler may not write the scale.
	Refusal *Refusal `json:"refusal,omitempty"`
	// NewerAwaited is true while the kubelets' first samples are awaited, so that there is no scale-down.
	NewerAwaited bool `json:"newerAwaited,omitempty"`
	// StartUp is the time of the target's pods from their creation until they are ready; absent if it is unknown.
	StartUp *metav1.Duration `json:"startUp,omitempty"`
	// Samples is the origin of CPU and memory; absent for metrics.k8s.io, unless it replaces the nodes' samples, or if it
	// is unknown.
	Samples *Samples `json:"samples,omitempty"`
}

// MaxSilentAgents is the maximum number of named agents.
const MaxSilentAgents = 5

// Samples is the source of the pods' samples.
type Samples struct {
	// AgentPods and KubeletPods count the pods with samples from agents of nodes and from kubelets.
	AgentPods   int `json:"agentPods,omitempty"`
	KubeletPods int `json:"kubeletPods,omitempty"`
	// SilentAgents did not answer, of nodes with the object's pods. MoreSilentAgents are not named.
	SilentAgents     []SilentAgent `json:"silentAgents,omitempty"`
	MoreSilentAgents int           `json:"moreSilentAgents,omitempty"`
	// NodesUnread is why samples of nodes could not be read, so that metrics.k8s.io replaces them or pods count as
	// missing.
	NodesUnread string `json:"nodesUnread,omitempty"`
	// Unread are the nodes of NodesUnread; absent if all can be read.
	Unread *UnreadNodes `json:"unread,omitempty"`
}

// UnreadNodes are nodes of the object's pods whose samples cannot be read.
type UnreadNodes struct {
	// Nodes is how many there are; absent if that is not known.
	Nodes int `json:"nodes,omitempty"`
	// Message is the error of the first of them.
	Message string `json:"message"`
}

// SilentAgent is an agent that did not answer, and why.
type SilentAgent struct {
	Node    string `json:"node"`
	Message string `json:"message"`
}

// Refusal is the reason why a WorkloadAutoscaler may not write the scale, whatever its mode.
type Refusal struct {
	// Reason and Message are those of the condition AbleToScale.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Summary is the status's.
	Summary string `json:"summary,omitempty"`
	// IsExpected is set if nobody needs to act: the cause is gone already, or a migration removes it.
	IsExpected bool `json:"isExpected,omitempty"`
}

// Options are the flags of the controller; absent ones have their defaults.
type Options struct {
	Tolerance               *float64         `json:"tolerance,omitempty"`
	DownscaleStabilization  *metav1.Duration `json:"downscaleStabilization,omitempty"`
	CPUInitializationPeriod *metav1.Duration `json:"cpuInitializationPeriod,omitempty"`
	InitialReadinessDelay   *metav1.Duration `json:"initialReadinessDelay,omitempty"`
	Surge                   *SurgeOptions    `json:"surge,omitempty"`
	// Forecast is the mode of forecasts for objects without one: Off, Preview or Active.
	Forecast string `json:"forecast,omitempty"`
}

// SurgeOptions are the flags of the surge window; absent ones have their defaults.
type SurgeOptions struct {
	// Window 0 means that there is none.
	Window      *metav1.Duration   `json:"window,omitempty"`
	SteepFactor *float64           `json:"steepFactor,omitempty"`
	Margin      *float64           `json:"margin,omitempty"`
	LeastCPU    *resource.Quantity `json:"leastCPU,omitempty"`
	ReadyFor    *metav1.Duration   `json:"readyFor,omitempty"`
}

// History is a state that people can write.
type History struct {
	Recommendations []Recommendation `json:"recommendations,omitempty"`
	ScaleEvents     []ScaleEvent     `json:"scaleEvents,omitempty"`
}

// Recommendation is an earlier proposal of the metrics, before any limit.
type Recommendation struct {
	Time     time.Time `json:"time"`
	Replicas int32     `json:"replicas"`
}

// ScaleEvent is a change of the count, positive up and negative down.
type ScaleEvent struct {
	Time   time.Time `json:"time"`
	Change int32     `json:"change"`
}

// Error is the client's error for a metric whose API call failed.
type Error struct {
	MetricIndex int    `json:"metricIndex"`
	Message     string `json:"message"`
}

// Asked is the time of the request for a metric.
type Asked struct {
	MetricIndex int       `json:"metricIndex"`
	Time        time.Time `json:"time"`
}

// DeepCopyObject makes a Snapshot one of the objects that a scheme can have.
func (s *Snapshot) DeepCopyObject() runtime.Object {
	c := *s
	s.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	if s.Options != nil {
		options := *s.Options
		c.Options = &options
	}
	if s.State != nil {
		state := s.State.Clone()
		c.State = &state
	}
	if s.History != nil {
		c.History = &History{
			Recommendations: append([]Recommendation(nil), s.History.Recommendations...),
			ScaleEvents:     append([]ScaleEvent(nil), s.History.ScaleEvents...),
		}
	}
	c.Errors = append([]Error(nil), s.Errors...)
	c.Asked = append([]Asked(nil), s.Asked...)
	c.Sources = copySources(s.Sources)
	if s.VerticalConflict != nil {
		text := *s.VerticalConflict
		c.VerticalConflict = &text
	}
	if s.Refusal != nil {
		refusal := *s.Refusal
		c.Refusal = &refusal
	}
	if s.Samples != nil {
		samples := *s.Samples
		samples.SilentAgents = append([]SilentAgent(nil), samples.SilentAgents...)
		c.Samples = &samples
	}
	return &c
}

// OptionsOf returns all flags, also those with default values: a snapshot means the same after a change of the
// defaults.
func OptionsOf(o observehorizontal.Options) *Options {
	return &Options{
		Tolerance:               &o.Tolerance,
		DownscaleStabilization:  &metav1.Duration{Duration: o.DownscaleStabilization},
		CPUInitializationPeriod: &metav1.Duration{Duration: o.CPUInitializationPeriod},
		InitialReadinessDelay:   &metav1.Duration{Duration: o.InitialReadinessDelay},
		Forecast:                o.Forecast.String(),
		Surge: &SurgeOptions{
			Window:      &metav1.Duration{Duration: o.Surge.Window},
			SteepFactor: &o.Surge.SteepFactor,
			Margin:      &o.Surge.Margin,
			LeastCPU:    resource.NewMilliQuantity(o.Surge.LeastCPUMilli, resource.DecimalSI),
			ReadyFor:    &metav1.Duration{Duration: o.Surge.ReadyFor},
		},
	}
}

// Flags returns the options with the defaults of absent ones. Divergences are the caller's choice.
func (o *Options) Flags() observehorizontal.Options {
	flags := observehorizontal.DefaultOptions()
	if o == nil {
		return flags
	}
	if o.Tolerance != nil {
		flags.Tolerance = *o.Tolerance
	}
	for _, f := range []struct {
		set  *metav1.Duration
		flag *time.Duration
	}{
		{o.DownscaleStabilization, &flags.DownscaleStabilization},
		{o.CPUInitializationPeriod, &flags.CPUInitializationPeriod},
		{o.InitialReadinessDelay, &flags.InitialReadinessDelay},
	} {
		if f.set != nil {
			*f.flag = f.set.Duration
		}
	}
	if mode, err := observehorizontal.ParseForecastMode(o.Forecast); err == nil {
		flags.Forecast = mode
	}
	if o.Surge != nil {
		o.Surge.into(&flags.Surge)
	}
	return flags
}

func (o *SurgeOptions) into(flags *surge.Settings) {
	if o.Window != nil {
		flags.Window = o.Window.Duration
	}
	if o.SteepFactor != nil {
		flags.SteepFactor = *o.SteepFactor
	}
	if o.Margin != nil {
		flags.Margin = *o.Margin
	}
	if o.LeastCPU != nil {
		flags.LeastCPUMilli = o.LeastCPU.MilliValue()
	}
	if o.ReadyFor != nil {
		flags.ReadyFor = o.ReadyFor.Duration
	}
}

// Format is that of the snapshots of HorizontalPodAutoscalers and WorkloadAutoscalers.
func Format() snapshot.Format {
	return snapshot.Format{Marks: []string{"Snapshot"}, Scheme: scheme, New: func() snapshot.Step { return &Step{} }}
}

// scheme has the kinds that such a snapshot may contain, and no others.
var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(snapshot.GroupVersion, &Snapshot{}, &plimsollv1alpha1.WorkloadAutoscaler{})
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.List{}, &corev1.Pod{})
	s.AddKnownTypes(autoscalingv1.SchemeGroupVersion, &autoscalingv1.Scale{})
	s.AddKnownTypes(autoscalingv2.SchemeGroupVersion, &autoscalingv2.HorizontalPodAutoscaler{})
	s.AddKnownTypes(metricsv1beta1.SchemeGroupVersion, &metricsv1beta1.PodMetrics{})
	// v1 has the same fields. The first version is written.
	s.AddKnownTypes(metricsv1.SchemeGroupVersion, &metricsv1beta1.PodMetrics{})
	s.AddKnownTypes(custommetricsv1beta2.SchemeGroupVersion, &custommetricsv1beta2.MetricValueList{})
	s.AddKnownTypes(externalmetricsv1beta1.SchemeGroupVersion, &externalmetricsv1beta1.ExternalMetricValueList{})
	return s
}
