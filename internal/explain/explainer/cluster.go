package explainer

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	verticaldivergence "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	explainvertical "github.com/plimsoll-dev/plimsoll/internal/explain/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/kube/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// ClusterReader explains objects of a cluster, with the permissions of the user who runs explain.
type ClusterReader struct {
	options Options
	reader  inputReader
	finder  leader.Finder
	vpas    *vpa.Client
	// checkpoints has histories if the leader cannot be reached.
	checkpoints *checkpoints.Client
}

// NewClusterReader returns a ClusterReader; it calls no API. The finder needs no client.
func NewClusterReader(config *rest.Config, finder leader.Finder, options Options) (*ClusterReader, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	finder.Client, finder.Config = client, config
	r := &ClusterReader{options: options, finder: finder}
	if r.vpas, err = vpa.New(config); err != nil {
		return nil, err
	}
	if r.checkpoints, err = checkpoints.New(config); err != nil {
		return nil, err
	}
	r.reader, err = newReader(config, client)
	return r, err
}

func newReader(config *rest.Config, client kubernetes.Interface) (inputReader, error) {
	access, err := scale.NewAccess(config)
	if err != nil {
		return inputReader{}, err
	}
	scales, err := scale.New(scale.Config{Scales: access.Scales, Mapper: access.Mapper})
	if err != nil {
		return inputReader{}, err
	}
	metrics, err := metricsapi.New(metricsapi.Config{Rest: config, Mapper: access.Mapper})
	if err != nil {
		return inputReader{}, err
	}
	wlas, err := wla.New(config)
	if err != nil {
		return inputReader{}, err
	}
	return inputReader{
		Client: client, WLAs: wlas, Scales: scales, Metrics: metrics, Options: observehorizontal.DefaultOptions(),
	}, nil
}

// Vertical explains a VerticalPodAutoscaler as it is now.
func (r *ClusterReader) Vertical(
	ctx context.Context, object types.NamespacedName,
) (*explainvertical.Explanation, error) {
	step, err := r.reader.ReadVertical(ctx, r.vpas, object, time.Now())
	if err != nil {
		return nil, err
	}
	why := "upstream's updater does not expose its state"
	set := r.options.verticalDivergences(step)
	if set != verticaldivergence.None || r.finder.Address != "" {
		if state, err := r.finder.UpdaterState(ctx, object); err == nil {
			step.Snapshot.Flags, step.Snapshot.Updater, step.Snapshot.Annotations = state.Flags, state.Updater, state.Annotations
			set, why = r.options.verticalDivergences(step), "no pass of the updater has processed the VPA yet"
		} else {
			why = err.Error()
		}
	}
	if step.Snapshot.Annotations == nil {
		step.Snapshot.Annotations = map[string]string{snapshot.DivergencesAnnotation: set.String()}
	}
	if step.Snapshot.Updater == nil {
		step.Snapshot.UpdaterUnknown = why
	}
	return explainvertical.Explain(step, set)
}

// Horizontal explains a HorizontalPodAutoscaler or a WorkloadAutoscaler as it is now.
func (r *ClusterReader) Horizontal(ctx context.Context, object observe.Key) (*explainhorizontal.Explanation, error) {
	autoscaler, controller, err := r.autoscaler(ctx, object)
	if err != nil {
		return nil, err
	}
	e, err := r.horizontal(ctx, object, autoscaler, controller)
	if err == nil && object.Kind == observe.HorizontalPodAutoscaler {
		e.AddOlder(autoscaler.HPA, r.kubernetes)
	}
	return e, err
}

// kubernetes returns the version of the cluster, empty if unknown.
func (r *ClusterReader) kubernetes() string {
	version, err := r.reader.Client.Discovery().ServerVersion()
	if err != nil {
		return ""
	}
	return version.GitVersion
}

func (r *ClusterReader) horizontal(
	ctx context.Context, object observe.Key, autoscaler observehorizontal.Autoscaler,
	controller explainhorizontal.Controller,
) (*explainhorizontal.Explanation, error) {
	why := explainhorizontal.NotExposed(autoscaler)
	if controller != explainhorizontal.Upstream || r.finder.Address != "" {
		own, err := r.finder.Next(ctx, object)
		if err == nil {
			// The sentence has times of the day: use the reader's time zone, as without the controller.
			own.Snapshot.Time = own.Snapshot.Time.Local()
			e, err := explainhorizontal.Explain(own, explainhorizontal.Plimsoll.Divergences(), r.options.periodOf(own))
			if e != nil {
				e.Controller = explainhorizontal.Plimsoll
			}
			return e, err
		}
		why = err.Error()
	}
	step, err := r.reader.Read(ctx, autoscaler, time.Now())
	if err != nil {
		return nil, err
	}
	return r.options.withoutHistory(step, controller, r.reader.Rescales(ctx, object), why)
}

// Autoscaler returns the object itself.
func (r *ClusterReader) Autoscaler(ctx context.Context, object observe.Key) (observehorizontal.Autoscaler, error) {
	autoscaler, _, err := r.autoscaler(ctx, object)
	return autoscaler, err
}

// Pods returns those of the target; none if its scale has no selector.
func (r *ClusterReader) Pods(ctx context.Context, autoscaler observehorizontal.Autoscaler) ([]*corev1.Pod, error) {
	return r.reader.Pods(ctx, autoscaler)
}

// autoscaler returns the object, and the controller that decides on it. Only Plimsoll decides on WorkloadAutoscalers.
func (r *ClusterReader) autoscaler(
	ctx context.Context, object observe.Key,
) (observehorizontal.Autoscaler, explainhorizontal.Controller, error) {
	if object.Kind == observe.WorkloadAutoscaler {
		autoscaler, err := r.reader.Workload(ctx, object.NamespacedName)
		return autoscaler, explainhorizontal.Plimsoll, err
	}
	hpa, err := r.reader.Object(ctx, object.NamespacedName)
	if err != nil {
		return observehorizontal.Autoscaler{}, explainhorizontal.Undecided, err
	}
	autoscaler := observehorizontal.HPA(hpa)
	if r.options.Controller != Auto {
		return autoscaler, r.options.Controller, nil
	}
	return autoscaler, explainhorizontal.ControllerOf(autoscaler), nil
}
