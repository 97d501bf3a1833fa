package explain

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	verticaldivergence "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/explain/live"
	explainvertical "github.com/plimsoll-dev/plimsoll/internal/explain/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// clusterReader explains objects of a cluster, with the rights of the user who runs explain.
type clusterReader struct {
	options *explainOptions
	reader  live.Reader
	finder  leader.Finder
	// verticals reads vertical autoscalers.
	verticals *vpa.Client
}

func newClusterReader(o *explainOptions) (*clusterReader, error) {
	config, err := o.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.UserAgent = "plimsoll-explain"
	// One person asks a few things, and waits for the answer.
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	r := &clusterReader{
		options: o,
		finder: leader.Finder{
			Client: client, Config: config, Namespace: o.controllerNamespace, Lease: o.controllerLease, Port: o.controllerPort,
			Address: o.controllerAddress,
		},
	}
	if r.verticals, err = vpa.New(config); err != nil {
		return nil, err
	}
	r.reader, err = newReader(config, client)
	return r, err
}

func newReader(config *rest.Config, client kubernetes.Interface) (live.Reader, error) {
	access, err := scale.NewAccess(config)
	if err != nil {
		return live.Reader{}, err
	}
	scales, err := scale.New(scale.Config{Scales: access.Scales, Mapper: access.Mapper})
	if err != nil {
		return live.Reader{}, err
	}
	metrics, err := metricsapi.New(metricsapi.Config{Rest: config, Mapper: access.Mapper})
	if err != nil {
		return live.Reader{}, err
	}
	return live.Reader{Client: client, Scales: scales, Metrics: metrics, Options: observehorizontal.DefaultOptions()}, nil
}

// explain explains an object as it is now.
func (r *clusterReader) explain(ctx context.Context, object types.NamespacedName, isVertical bool) error {
	if isVertical {
		return r.explainVertical(ctx, object)
	}
	e, err := r.horizontal(ctx, object)
	if err != nil {
		return err
	}
	return r.options.show(e)
}

func (r *clusterReader) explainVertical(ctx context.Context, object types.NamespacedName) error {
	step, err := r.reader.ReadVertical(ctx, r.verticals, object, time.Now())
	if err != nil {
		return err
	}
	why := "nobody tells what upstream's updater remembers"
	set := verticalDivergences(step, r.options.decider)
	if set != verticaldivergence.None || r.options.controllerAddress != "" {
		if state, err := r.finder.UpdaterState(ctx, object); err == nil {
			step.Snapshot.Flags, step.Snapshot.Updater, step.Snapshot.Annotations = state.Flags, state.Updater, state.Annotations
			set, why = verticalDivergences(step, r.options.decider), "no pass of the updater has looked at the object yet"
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
	e, err := explainvertical.Explain(step, set)
	if err != nil {
		return err
	}
	return r.options.showVertical(e)
}

// verticalDivergences are those of whoever decides: what is said to have been decided
// with, or what follows from who wrote the status.
func verticalDivergences(step *snapshotvertical.Step, decider string) verticaldivergence.Set {
	if decider == string(explainhorizontal.Upstream) {
		return verticaldivergence.None
	}
	if text := step.Snapshot.Annotations[snapshot.DivergencesAnnotation]; text != "" {
		if set, err := verticaldivergence.Parse(text); err == nil {
			return set
		}
	}
	if explainvertical.IsPlimsolls(step.Object) || decider == string(explainhorizontal.Plimsoll) {
		return verticaldivergence.Default
	}
	return verticaldivergence.None
}

// showVertical prints an explanation, and saves what it is made of.
func (o *explainOptions) showVertical(e *explainvertical.Explanation) error {
	if o.save != "" {
		err := save(o.save, func(w io.Writer) error { return snapshotvertical.Encode(w, e.Step) })
		if err != nil {
			return err
		}
	}
	switch o.output {
	case "json":
		return e.WriteJSON(o.out)
	case "yaml":
		return e.WriteYAML(o.out)
	default:
		return e.WriteText(o.out)
	}
}

// explainSavedVertical explains a step of a file.
func (o *explainOptions) explainSavedVertical(step *snapshotvertical.Step) error {
	e, err := explainvertical.Explain(step, verticalDivergences(step, o.decider))
	if err != nil {
		return err
	}
	return o.showVertical(e)
}

// horizontal explains the object as it is now.
func (r *clusterReader) horizontal(ctx context.Context, object types.NamespacedName) (*explainhorizontal.Explanation, error) {
	hpa, err := r.reader.Object(ctx, object)
	if err != nil {
		return nil, err
	}
	controller := explainhorizontal.ControllerOf(hpa)
	if r.options.decider != "auto" {
		controller = explainhorizontal.Controller(r.options.decider)
	}
	why := "kube-controller-manager keeps it to itself"
	if controller != explainhorizontal.Upstream || r.options.controllerAddress != "" {
		own, err := r.finder.Next(ctx, object)
		if err == nil {
			e, err := explainhorizontal.Explain(own, explainhorizontal.Plimsoll.Divergences(), r.options.period)
			if e != nil {
				e.Controller = explainhorizontal.Plimsoll
			}
			return e, err
		}
		why = err.Error()
	}
	step, err := r.reader.Read(ctx, hpa, time.Now())
	if err != nil {
		return nil, err
	}
	return withoutHistory(step, controller, r.reader.Rescales(ctx, object), r.options.period, why)
}
