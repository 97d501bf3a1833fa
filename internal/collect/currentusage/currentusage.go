// Package currentusage reads the current usage of the containers of some pods: memory from the kubelets' samples where
// there are any, and everything else from metrics.k8s.io.
package currentusage

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Kubelets has samples of earlier scrapes; podusage.Subscription implements it.
type Kubelets interface {
	Latest(now time.Time, pods []*observe.Pod, v *podusage.View) error
}

// Metrics reads metrics.k8s.io; metricsapi.Client implements it.
type Metrics interface {
	Resource(ctx context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error)
}

// Config configures a Reader.
type Config struct {
	// Kubelets is nil where kubelets are not read.
	Kubelets Kubelets
	Metrics  Metrics
	// Pod returns a pod from a cache; nil if there is none.
	Pod func(namespace, name string) *observe.Pod
	Log logr.Logger
}

// Reader reads the current usage of containers.
type Reader struct{ cfg Config }

// New makes a Reader.
func New(cfg Config) (*Reader, error) {
	if cfg.Metrics == nil || cfg.Pod == nil {
		return nil, errors.New("currentusage: metrics and pods are needed")
	}
	return &Reader{cfg: cfg}, nil
}

// Read returns the current usage of the containers of the named pods. It leaves out pods without usage. It requests a
// whole namespace from metrics.k8s.io, and only if a pod is missing from the kubelets' samples.
func (r *Reader) Read(ctx context.Context, namespace string, pods []string) map[string]map[string]vertical.Amounts {
	used := r.sampled(namespace, pods)
	if len(used) == len(pods) {
		return used
	}
	list, err := r.cfg.Metrics.Resource(ctx, namespace, "")
	if err != nil {
		r.cfg.Log.V(1).Info("no usage of pods available", "namespace", namespace, "err", err.Error())
		return used
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if used[pod.Name] != nil {
			continue
		}
		used[pod.Name] = make(map[string]vertical.Amounts, len(pod.Containers))
		for j := range pod.Containers {
			used[pod.Name][pod.Containers[j].Name] = observevertical.AmountsOf(pod.Containers[j].Usage)
		}
	}
	return used
}

// sampled returns the memory of containers from the kubelets' samples.
func (r *Reader) sampled(namespace string, pods []string) map[string]map[string]vertical.Amounts {
	used := map[string]map[string]vertical.Amounts{}
	if r.cfg.Kubelets == nil {
		return used
	}
	var view podusage.View
	for _, name := range pods {
		pod := r.cfg.Pod(namespace, name)
		if pod == nil || r.cfg.Kubelets.Latest(time.Now(), []*observe.Pod{pod}, &view) != nil {
			continue
		}
		for _, c := range view.Containers(0) {
			if !c.HasMemory {
				continue
			}
			if used[name] == nil {
				used[name] = map[string]vertical.Amounts{}
			}
			used[name][c.Name] = vertical.Amounts{}.With(vertical.Memory, vertical.Amount(c.MemoryBytes))
		}
	}
	return used
}
