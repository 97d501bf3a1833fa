package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// Single is all about one autoscaler, with what was recorded of it from one moment to another. It needs no Run: it reads
// the autoscaler itself, which is an error if that cannot be read. What else cannot be read is said in the result.
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
	o := &view.Object{
		Row: row, Now: time.Now().UnixMilli(), Lines: []view.Line{}, Notes: []view.Note{}, Manifest: string(text),
	}
	var reading sync.WaitGroup
	reading.Go(func() { r.advice.Read(ctx, key.Namespace) })
	if err := r.explain(ctx, o); err != nil {
		o.Unexplained = err.Error()
	}
	r.addEvents(ctx, o)
	reading.Wait()
	r.advice.Add(ctx, o)
	if key.Kind != observe.VerticalPodAutoscaler {
		r.addHistory(ctx, o, from, to)
	}
	return o, ctx.Err()
}

// get is the autoscaler as manifests show it.
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
		if err != nil || autoscaler.Workload == nil {
			return autoscaler.HorizontalPodAutoscaler, err
		}
		return autoscaler.Workload, nil
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

// addHistory adds what was recorded from one moment to another, or why there is nothing.
func (r *Reader) addHistory(ctx context.Context, o *view.Object, from, to time.Time) {
	key := keyOf(&o.Row)
	h, source, err := r.reader.History(ctx, key)
	if err != nil {
		o.Unrecorded = err.Error()
		return
	}
	report, err := loadreport.New(key, h, source, from, to)
	if err != nil {
		o.Unrecorded = fmt.Sprintf("nothing is recorded of %s %s from %s to %s (%s)", key.Kind, key.NamespacedName,
			from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339), source.Text(time.Now()))
		return
	}
	o.History = report.Output()
}
