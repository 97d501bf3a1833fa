package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// Single returns all data about one autoscaler, with its record from one moment to another. It needs no Run: it reads
// the autoscaler itself, and fails if it cannot. The result has notes about other data that cannot be read.
func (r *Reader) Single(ctx context.Context, key observe.Key, from, to time.Time) (*view.Object, error) {
	object, err := r.get(ctx, key)
	if err != nil {
		return nil, err
	}
	row, _ := rowOf(object)
	text, err := yaml.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", key.Kind, key.NamespacedName, err)
	}
	now := time.Now()
	o := &view.Object{
		Row: row, Now: now.UnixMilli(), Until: to.UnixMilli(), Lines: []output.Line{}, Notes: []view.Note{},
		Manifest: string(text),
	}
	var reading sync.WaitGroup
	reading.Go(func() { r.advice.Read(ctx, key.Namespace) })
	if err := r.explain(ctx, o, from); err != nil {
		o.Unexplained = err.Error()
	}
	r.addEvents(ctx, o)
	reading.Wait()
	r.advice.Add(ctx, o)
	if key.Kind == observe.VerticalPodAutoscaler {
		return o, ctx.Err()
	}
	report, err := r.reader.ReportBetween(ctx, key, from, to, now)
	if err != nil {
		o.Unrecorded = err.Error()
		return o, ctx.Err()
	}
	o.History = report.Output()
	return o, nil
}

// get returns the autoscaler in the form of a manifest.
func (r *Reader) get(ctx context.Context, key observe.Key) (any, error) {
	object, err := r.typed(ctx, key)
	if err != nil {
		return nil, err
	}
	return withoutManagers(whole(object))
}

func (r *Reader) typed(ctx context.Context, key observe.Key) (any, error) {
	if key.Kind != observe.VerticalPodAutoscaler {
		autoscaler, err := r.reader.Autoscaler(ctx, key)
		if err != nil {
			return nil, err
		}
		return autoscaler.Object(), nil
	}
	config := rest.CopyConfig(r.config.REST)
	config.WarningHandler = rest.NoWarnings{}
	client, err := vpa.New(config)
	if err != nil {
		return nil, err
	}
	object, err := client.Get(ctx, key.Namespace, key.Name)
	return object, apierror.Request{
		Verb: "get", Resource: "verticalpodautoscalers.autoscaling.k8s.io", Namespace: key.Namespace, Name: key.Name,
	}.Sentence(err)
}
