// Package currentusage reads what the containers of some pods use now: their memory
// from the kubelets' samples where those are known, and everything else from
// metrics.k8s.io.
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

// Kubelets has samples that were taken before; podusage.Subscription does.
type Kubelets interface {
	Latest(now time.Time, pods []*observe.Pod, v *podusage.View) error
}

// Metrics is metrics.k8s.io; metricsapi.Client is one.
type Metrics interface {
	Resource(ctx context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error)
}

// Config is what a Reader needs.
type Config struct {
	// Kubelets is nil where kubelets are not read.
	Kubelets Kubelets
	Metrics  Metrics
	// Pod finds a pod in a cache; nil is none.
	Pod func(namespace, name string) *observe.Pod
	Log logr.Logger
}

// Reader reads what containers use.
type Reader struct{ cfg Config }

// New makes a Reader.
func New(cfg Config) (*Reader, error) {
	if cfg.Metrics == nil || cfg.Pod == nil {
		return nil, errors.New("currentusage: metrics and pods are needed")
	}
	return &Reader{cfg: cfg}, nil
}

// Read reads what the containers of the named pods use. A pod about which nothing is
// known is left out. metrics.k8s.io is asked for a namespace as a whole, and only if the
// kubelets' samples do not have all of the pods.
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

// sampled is the memory that containers use by the kubelets' samples.
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
