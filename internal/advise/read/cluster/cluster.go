// Package cluster reads the input of plimsoll advise from a cluster, with the
// permissions of the caller, and records what it may not read.
package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/advise/containerusage"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// pageSize is how many objects are asked for at once.
const pageSize = 500

// kind is one that is read.
type kind struct {
	name           string
	group, version string
	resource       string
	isForAllSpaces bool
	mayNotBeServed bool
}

func (k *kind) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.group, Version: k.version, Resource: k.resource}
}

func (k *kind) String() string {
	if k.group == "" {
		return k.resource
	}
	return k.resource + "." + k.group
}

var kinds = []kind{
	{name: objects.HPA, group: "autoscaling", version: "v2", resource: "horizontalpodautoscalers"},
	{name: objects.WLA, group: "plimsoll.dev", version: "v1alpha1", resource: "workloadautoscalers", mayNotBeServed: true},
	{name: objects.VPA, group: "autoscaling.k8s.io", version: "v1", resource: "verticalpodautoscalers",
		mayNotBeServed: true},
	{name: objects.Deployment, group: "apps", version: "v1", resource: "deployments"},
	{name: objects.StatefulSet, group: "apps", version: "v1", resource: "statefulsets"},
	{name: objects.DaemonSet, group: "apps", version: "v1", resource: "daemonsets"},
	{name: objects.ReplicaSet, group: "apps", version: "v1", resource: "replicasets"},
	{name: objects.Job, group: "batch", version: "v1", resource: "jobs"},
	{name: objects.CronJob, group: "batch", version: "v1", resource: "cronjobs"},
	{name: objects.Rollout, group: "argoproj.io", version: "v1alpha1", resource: "rollouts", mayNotBeServed: true},
	{name: objects.ScaledObject, group: "keda.sh", version: "v1alpha1", resource: "scaledobjects", mayNotBeServed: true},
	{name: objects.PDB, group: "policy", version: "v1", resource: "poddisruptionbudgets"},
	{name: objects.Pod, version: "v1", resource: "pods"},
	{name: objects.LimitRange, version: "v1", resource: "limitranges"},
	{name: objects.Node, version: "v1", resource: "nodes", isForAllSpaces: true},
}

// Reader reads from a cluster.
type Reader struct {
	Client dynamic.Interface
	// Namespace is the one that is read; all if it is empty.
	Namespace string
	// ClusterFlags are those by which commands name the cluster.
	ClusterFlags []string
	// Kinds says which kinds the cluster has; nil if that is not asked.
	Kinds Kinds
}

// Kinds has the resources of API versions: client-go's discovery.
type Kinds interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Read reads everything. Autoscalers are what it is about: without the right to list
// HPAs and VPAs there is an error, and without any other right its rules are left out.
func (r *Reader) Read(ctx context.Context, now time.Time) (*objects.Collection, error) {
	c := &objects.Collection{IsCluster: true, ClusterFlags: r.ClusterFlags, Now: now, Unread: map[string]string{}}
	for i := range kinds {
		k := &kinds[i]
		err := r.each(ctx, k, func(raw map[string]any) error {
			c.Add(raw, objects.Place{})
			return nil
		})
		switch {
		case err == nil || k.mayNotBeServed && apierrors.IsNotFound(err):
		case apierrors.IsForbidden(err):
			c.Unread[k.name] = fmt.Sprintf("you may not list %s%s", k, r.in(k))
		default:
			return nil, fmt.Errorf("listing %s: %w", k, err)
		}
	}
	if c.Unread[objects.HPA] != "" && c.Unread[objects.VPA] != "" {
		return nil, r.refused(c.Unread[objects.HPA])
	}
	c.Served = r.served(c)
	return c, nil
}

// served asks what the cluster has of the kinds that autoscalers refer to. What cannot be asked is not known.
func (r *Reader) served(c *objects.Collection) map[string]objects.Service {
	all := map[string]objects.Service{}
	lists := map[string]*metav1.APIResourceList{}
	for _, ref := range c.References() {
		version := ref.APIVersion
		if _, asked := lists[version]; !asked && r.Kinds != nil && version != "" {
			list, err := r.Kinds.ServerResourcesForGroupVersion(version)
			switch {
			case err == nil:
				lists[version] = list
			case apierrors.IsNotFound(err):
				lists[version] = &metav1.APIResourceList{}
			default:
				lists[version] = nil
			}
		}
		if list := lists[version]; list != nil {
			all[version+" "+ref.Kind] = serviceOf(list, ref.Kind)
		}
	}
	return all
}

// serviceOf finds a kind as API servers' clients do: as it is written, or all in lower case.
func serviceOf(list *metav1.APIResourceList, kind string) objects.Service {
	var found objects.Service
	for i := range list.APIResources {
		resource := &list.APIResources[i]
		if strings.Contains(resource.Name, "/") || kind != resource.Kind && kind != strings.ToLower(resource.Kind) {
			continue
		}
		found.IsServed = true
		for j := range list.APIResources {
			found.HasScale = found.HasScale || list.APIResources[j].Name == resource.Name+"/scale"
		}
	}
	return found
}

// refused is the error for somebody who may list no autoscalers.
func (r *Reader) refused(unread string) error {
	role, where := "Role", "-n "+r.Namespace
	if r.Namespace == "" {
		role, where = "ClusterRole", "-A"
	}
	return &cmderror.Error{
		What: unread + ", nor verticalpodautoscalers.autoscaling.k8s.io",
		Next: fmt.Sprintf("ask for a %s with that right (kubectl auth can-i list horizontalpodautoscalers.autoscaling %s)",
			role, where),
	}
}

func (r *Reader) in(k *kind) string {
	if r.Namespace == "" || k.isForAllSpaces {
		return " in the whole cluster"
	}
	return " in namespace " + r.Namespace
}

// each visits the objects of a kind, page by page.
func (r *Reader) each(ctx context.Context, k *kind, visit func(map[string]any) error) error {
	var resource dynamic.ResourceInterface = r.Client.Resource(k.gvr())
	if r.Namespace != "" && !k.isForAllSpaces {
		resource = r.Client.Resource(k.gvr()).Namespace(r.Namespace)
	}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := resource.List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			complete(&list.Items[i], k)
			if err := visit(list.Items[i].Object); err != nil {
				return err
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// complete adds what lists leave out of their items.
func complete(o *unstructured.Unstructured, k *kind) {
	if o.GetKind() == "" {
		o.SetGroupVersionKind(k.gvr().GroupVersion().WithKind(k.name))
	}
}

// podMetrics are the samples by the versions that serve them, which have the same fields.
var podMetrics = []kind{
	{name: "PodMetrics", group: "metrics.k8s.io", version: "v1", resource: "pods"},
	{name: "PodMetrics", group: "metrics.k8s.io", version: "v1beta1", resource: "pods"},
}

// eachPodMetrics is each of the first version that is served.
func (r *Reader) eachPodMetrics(ctx context.Context, visit func(map[string]any) error) (err error) {
	for i := range podMetrics {
		err = r.each(ctx, &podMetrics[i], visit)
		if !apierrors.IsNotFound(err) && !apierrors.IsServiceUnavailable(err) {
			break
		}
	}
	return err
}

// Usage is what containers use at this moment, as metrics.k8s.io shows it. Why it is
// unknown is returned as a text; that is no error.
func (r *Reader) Usage(ctx context.Context) (samples *containerusage.Samples, why string) {
	samples = &containerusage.Samples{IsMoment: true, Source: "metrics.k8s.io, one moment"}
	err := r.eachPodMetrics(ctx, func(raw map[string]any) error {
		var m metricsv1beta1.PodMetrics
		if !canRead(raw, &m) {
			return nil // as if nothing were known of this pod
		}
		for i := range m.Containers {
			c := &m.Containers[i]
			_, hasCPU := c.Usage[corev1.ResourceCPU]
			_, hasMemory := c.Usage[corev1.ResourceMemory]
			if !hasCPU || !hasMemory {
				samples.Partial = append(samples.Partial, containerusage.Partial{
					Namespace: m.Namespace, Pod: m.Name, Container: c.Name, HasCPU: hasCPU, HasMemory: hasMemory,
				})
				continue
			}
			samples.All = append(samples.All, containerusage.Sample{
				Time: m.Timestamp.Time, Namespace: m.Namespace, Pod: m.Name, Container: c.Name,
				CPUMilli: c.Usage.Cpu().MilliValue(), MemoryBytes: c.Usage.Memory().Value(),
			})
		}
		return nil
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("you may not list %s%s", &podMetrics[0], r.in(&podMetrics[0]))
	case err != nil:
		return nil, "metrics.k8s.io does not answer"
	case len(samples.All) == 0:
		return nil, "metrics.k8s.io knows of no pod"
	}
	return samples, ""
}

// canRead decodes the object, unless that takes hours.
func canRead(raw map[string]any, into *metricsv1beta1.PodMetrics) bool {
	text, err := json.Marshal(raw)
	return err == nil && quantity.Check(text, into) == nil && json.Unmarshal(text, into) == nil
}
