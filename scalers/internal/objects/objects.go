// Package objects has the scalers of WorkloadAutoscalers. The server takes a scaler from the object, not from the
// request: a client that can connect to the server gets no more than the values of metrics that exist.
package objects

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

var resource = schema.GroupVersionResource{Group: "plimsoll.dev", Version: "v1alpha1", Resource: "workloadautoscalers"}

// Objects is a cache of WorkloadAutoscalers.
type Objects struct {
	informer cache.SharedIndexInformer
}

// New makes a cache. It is empty before Run. removed is called for each metric that is deleted or gets another type.
func New(client dynamic.Interface, removed func(id, trigger string)) (*Objects, error) {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(resource).Informer()
	if err := informer.SetTransform(shorten); err != nil {
		return nil, err
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) { compare(before, after, removed) },
		DeleteFunc: func(before any) { compare(before, nil, removed) },
	}); err != nil {
		return nil, err
	}
	return &Objects{informer: informer}, nil
}

// Run fills the cache, until the context ends.
func (o *Objects) Run(ctx context.Context) { o.informer.Run(ctx.Done()) }

// HasSynced reports whether the cache has all objects.
func (o *Objects) HasSynced() bool { return o.informer.HasSynced() }

// object has those fields of a WorkloadAutoscaler that the cache keeps.
type object struct {
	unstructured.Unstructured
	target  job.Target
	metrics map[string]job.Scaler
}

// spec has those fields of a WorkloadAutoscaler that are decoded.
type spec struct {
	Spec struct {
		ScaleTargetRef job.Target `json:"scaleTargetRef"`
		Metrics        []struct {
			Name   string      `json:"name"`
			Type   string      `json:"type"`
			Scaler *job.Scaler `json:"scaler"`
		} `json:"metrics"`
	} `json:"spec"`
}

// shorten keeps the scalers of an object. An object without any is kept by its name.
func shorten(o any) (any, error) {
	full, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	short := &object{metrics: map[string]job.Scaler{}}
	short.SetGroupVersionKind(full.GroupVersionKind())
	short.SetNamespace(full.GetNamespace())
	short.SetName(full.GetName())
	short.SetUID(full.GetUID())
	short.SetResourceVersion(full.GetResourceVersion())
	var s spec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(full.Object, &s); err != nil {
		// An object of another version of the API: its metrics are unknown, until it changes.
		return short, nil //nolint:nilerr // a request for one of them has an error
	}
	short.target = s.Spec.ScaleTargetRef
	for _, m := range s.Spec.Metrics {
		if m.Type == "Scaler" && m.Scaler != nil {
			short.metrics[m.Name] = *m.Scaler
		}
	}
	return short, nil
}

// compare calls removed for the metrics of an object that it no longer has, or with another type. after is nil if it
// was deleted.
func compare(before, after any, removed func(id, trigger string)) {
	if unknown, ok := before.(cache.DeletedFinalStateUnknown); ok {
		before = unknown.Obj
	}
	old, ok := before.(*object)
	if !ok {
		return
	}
	var metrics map[string]job.Scaler
	if o, ok := after.(*object); ok {
		metrics = o.metrics
	}
	for name, scaler := range old.metrics {
		if now, ok := metrics[name]; !ok || now.Type != scaler.Type {
			j := job.Job{Namespace: old.GetNamespace(), Object: old.GetName(), Metric: name}
			removed(j.ID(), scaler.Type)
		}
	}
}

// ErrNotSeen is returned for a metric that is not in the cache, or has other fields there.
var ErrNotSeen = errors.New("this server has not seen the metric yet")

// Job returns the metric of an object. text is the scaler as the requester knows it, in JSON.
func (o *Objects) Job(namespace, name, metric, text string) (job.Job, error) {
	item, exists, err := o.informer.GetStore().GetByKey(namespace + "/" + name)
	if err != nil {
		return job.Job{}, err
	}
	kept, ok := item.(*object)
	if !exists || !ok {
		return job.Job{}, fmt.Errorf("%w: no WorkloadAutoscaler %s/%s", ErrNotSeen, namespace, name)
	}
	scaler, ok := kept.metrics[metric]
	if !ok {
		return job.Job{}, fmt.Errorf("%w: WorkloadAutoscaler %s/%s has no metric %s of type Scaler",
			ErrNotSeen, namespace, name, metric)
	}
	if !scaler.Is(text) {
		return job.Job{}, fmt.Errorf("%w: the metric %s of WorkloadAutoscaler %s/%s was edited",
			ErrNotSeen, metric, namespace, name)
	}
	return job.Job{Namespace: namespace, Object: name, Metric: metric, Target: kept.target, Scaler: scaler}, nil
}
