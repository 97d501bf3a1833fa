package horizontaltest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	scaleclient "k8s.io/client-go/scale"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
)

func (w *World) updateStatus(hpa *autoscalingv2.HorizontalPodAutoscaler, by string) (runtime.Object, error) {
	w.Mu.Lock()
	before := w.BeforeStatus
	w.Mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return nil, err
		}
	}
	stored := w.HPA(hpa.Namespace + "/" + hpa.Name)
	if stored.ResourceVersion != hpa.ResourceVersion {
		return nil, apierrors.NewConflict(HPAResource.GroupResource(), hpa.Name,
			errors.New("the object has been modified"))
	}
	stored.Status = hpa.Status
	stored.ManagedFields = WroteStatus(stored.ManagedFields, by)
	w.Mu.Lock()
	hide := w.HideStatus
	w.Mu.Unlock()
	if hide {
		// Stored, but not sent to watchers: only the response has it.
		w.Mu.Lock()
		defer w.Mu.Unlock()
		w.Version++
		stored.ResourceVersion = strconv.Itoa(w.Version)
		w.Hidden = append(w.Hidden, stored)
		return stored.DeepCopy(), nil
	}
	w.Store(HPAResource, stored)
	return stored.DeepCopy(), nil
}

// Scales implements scale.ScalesGetter for Deployments.
func (w *World) Scales(namespace string) scaleclient.ScaleInterface {
	return &scaleOf{w: w, namespace: namespace}
}

type scaleOf struct {
	scaleclient.ScaleInterface
	w         *World
	namespace string
}

// Get implements scale.ScaleInterface.
func (s *scaleOf) Get(
	_ context.Context, resource schema.GroupResource, name string, _ metav1.GetOptions,
) (*autoscalingv1.Scale, error) {
	object, err := s.w.Client.Tracker().Get(DeploymentResource, s.namespace, name)
	if err != nil {
		return nil, apierrors.NewNotFound(resource, name)
	}
	d := object.(*appsv1.Deployment)
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name, UID: d.UID,
			ResourceVersion: d.ResourceVersion},
		Spec: autoscalingv1.ScaleSpec{Replicas: *d.Spec.Replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: d.Status.Replicas,
			Selector: metav1.FormatLabelSelector(d.Spec.Selector)},
	}, nil
}

// Update implements scale.ScaleInterface.
func (s *scaleOf) Update(
	ctx context.Context, resource schema.GroupResource, scale *autoscalingv1.Scale, options metav1.UpdateOptions,
) (*autoscalingv1.Scale, error) {
	w := s.w
	w.Mu.Lock()
	before := w.BeforeScale
	w.Mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return nil, err
		}
	}
	name := s.namespace + "/" + scale.Name
	d := w.Deployment(name)
	if d.ResourceVersion != scale.ResourceVersion {
		return nil, apierrors.NewConflict(resource, scale.Name, errors.New("the object has been modified"))
	}
	w.Mu.Lock()
	w.Scaled = append(w.Scaled, fmt.Sprintf("%s %d→%d", scale.Name, *d.Spec.Replicas, scale.Spec.Replicas))
	w.Mu.Unlock()
	w.SetReplicas(name, scale.Spec.Replicas)
	return s.Get(ctx, resource, scale.Name, metav1.GetOptions{})
}

// Resource implements query.Source: every pod of the selector uses w.usage.
func (w *World) Resource(_ context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Asked = append(w.Asked, time.Now())
	list := &metricsv1beta1.PodMetricsList{}
	pods := w.Pods(namespace)
	for i := range pods {
		p := &pods[i]
		if metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: p.Labels}) != selector {
			continue
		}
		list.Items = append(list.Items, metricsv1beta1.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Name},
			Timestamp:  metav1.Now(), Window: metav1.Duration{Duration: 10 * time.Second},
			Containers: []metricsv1beta1.ContainerMetrics{{Name: "web", Usage: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewMilliQuantity(w.Usage, resource.DecimalSI),
			}}},
		})
	}
	return list, nil
}

// Custom implements query.Source.
func (w *World) Custom(
	ctx context.Context, query metricsapi.CustomQuery,
) (*custommetricsv1beta2.MetricValueList, error) {
	w.Mu.Lock()
	f := w.CustomValue
	w.Mu.Unlock()
	if f == nil {
		return nil, errors.New("no custom metrics API")
	}
	milli, err := f(ctx)
	if err != nil {
		return nil, err
	}
	return &custommetricsv1beta2.MetricValueList{Items: []custommetricsv1beta2.MetricValue{{
		Timestamp: metav1.Now(), Value: *resource.NewMilliQuantity(milli, resource.DecimalSI),
		DescribedObject: corev1.ObjectReference{Kind: query.Kind.Kind, Name: query.Name, Namespace: query.Namespace},
		Metric:          custommetricsv1beta2.MetricIdentifier{Name: query.Metric},
	}}}, nil
}

// External implements query.Source.
func (w *World) External(
	ctx context.Context, _, metric, _ string,
) (*externalmetricsv1beta1.ExternalMetricValueList, error) {
	w.Mu.Lock()
	f, measured := w.ExternalValue, metav1.NewTime(w.Measured)
	w.Mu.Unlock()
	if measured.IsZero() {
		measured = metav1.Now()
	}
	if f == nil {
		return nil, errors.New("no external metrics API")
	}
	milli, err := f(ctx)
	if err != nil {
		return nil, err
	}
	return &externalmetricsv1beta1.ExternalMetricValueList{Items: []externalmetricsv1beta1.ExternalMetricValue{{
		MetricName: metric, Timestamp: measured, Value: *resource.NewMilliQuantity(milli, resource.DecimalSI),
	}}}, nil
}

// Event implements record.EventRecorder.
func (w *World) Event(object runtime.Object, kind, reason, message string) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	name := object.(metav1.Object).GetName()
	w.Events = append(w.Events, fmt.Sprintf("%s %s %s: %s", name, kind, reason, message))
}

// Eventf implements record.EventRecorder.
func (w *World) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	w.Event(object, kind, reason, fmt.Sprintf(format, args...))
}
