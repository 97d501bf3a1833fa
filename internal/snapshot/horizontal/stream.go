package horizontal

import (
	"io"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// NewReader reads a stream about HorizontalPodAutoscalers and WorkloadAutoscalers alone.
func NewReader(r io.Reader) *snapshot.ReaderOf[*Step] {
	return snapshot.NewReaderOf[*Step](r, Format())
}

// Encode writes the step as a YAML document that [NewReader] reads.
func Encode(w io.Writer, s *Step) error {
	objects := []runtime.Object{s.Snapshot, objectOf(s)}
	if s.Scale != nil {
		objects = append(objects, s.Scale)
	}
	for _, pod := range s.Pods {
		objects = append(objects, pod)
	}
	for i := range s.PodMetrics {
		objects = append(objects, &s.PodMetrics[i])
	}
	if len(s.Custom) > 0 {
		objects = append(objects, &custommetricsv1beta2.MetricValueList{Items: s.Custom})
	}
	if len(s.External) > 0 {
		objects = append(objects, &externalmetricsv1beta1.ExternalMetricValueList{Items: s.External})
	}
	return snapshot.Encode(w, scheme, objects)
}

// Add implements [snapshot.Step].
func (s *Step) Add(item runtime.Object) error {
	switch item := item.(type) {
	case *Snapshot:
		return snapshot.SetOnce(&s.Snapshot, item)
	case *autoscalingv2.HorizontalPodAutoscaler:
		return snapshot.SetOnce(&s.HPA, item)
	case *plimsollv1alpha1.WorkloadAutoscaler:
		return snapshot.SetOnce(&s.Workload, item)
	case *autoscalingv1.Scale:
		return snapshot.SetOnce(&s.Scale, item)
	case *corev1.Pod:
		s.Pods = append(s.Pods, item)
	case *metricsv1beta1.PodMetrics:
		s.PodMetrics = append(s.PodMetrics, *item)
	case *custommetricsv1beta2.MetricValueList:
		s.Custom = append(s.Custom, item.Items...)
	case *externalmetricsv1beta1.ExternalMetricValueList:
		s.External = append(s.External, item.Items...)
	default:
		return snapshot.ErrListInList
	}
	return nil
}
