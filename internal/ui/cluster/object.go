package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/ui/explained"
	"github.com/plimsoll-dev/plimsoll/internal/ui/server"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
	"github.com/plimsoll-dev/plimsoll/internal/ui/whatif"
)

// ahead is the divisor of the shown past that gives the length of the time axis after now.
const ahead = 4

// Object returns all data about one autoscaler, with its record of the last part of its time.
func (r *Reader) Object(ctx context.Context, kind, namespace, name string, last time.Duration) (*view.Object, error) {
	row, ok := r.rows.row(view.IDOf(kind, namespace, name))
	if !ok {
		return nil, r.missing(kind)
	}
	now := time.Now()
	o := &view.Object{
		Row: row, Now: now.UnixMilli(), Until: now.Add(last / ahead).UnixMilli(),
		Lines: []output.Line{}, Notes: []view.Note{},
		Manifest: r.manifest(kind, namespace, name),
	}
	for _, w := range r.watches {
		if note, isOne := w.note(); isOne && w.kind == kind {
			o.Notes = append(o.Notes, note)
		}
	}
	why, past := "why/"+last.String()+"/"+row.ID, "past/"+last.String()+"/"+row.ID
	r.parts.begin(ctx, why, func(ctx context.Context, into *view.Object) {
		into.Row, into.Lines, into.Now = row, []output.Line{}, now.UnixMilli()
		into.Until = now.Add(last / ahead).UnixMilli()
		if err := r.explain(ctx, into, now.Add(-last)); err != nil {
			into.Unexplained = err.Error()
		}
	})
	if kind != view.VPA {
		r.parts.begin(ctx, past, func(ctx context.Context, into *view.Object) { r.addPast(ctx, &row, last, into) })
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if part, at := r.parts.take(patient, why); part == nil {
		o.Unexplained = "the next decision is awaited"
	} else {
		known := *part
		known.Row, known.Now, known.Until, known.Manifest = o.Row, o.Now, o.Until, o.Manifest
		known.Notes = slices.Concat(o.Notes, part.Notes)
		o = &known
		addAge(o, "Explanation", at)
	}
	r.addEvents(ctx, o)
	r.advice.Add(ctx, o)
	if kind == view.VPA {
		return o, nil
	}
	if part, at := r.parts.take(patient, past); part == nil {
		o.Unrecorded = "the history is being read"
	} else {
		o.History, o.Unrecorded = part.History, part.Unrecorded
		addAge(o, "History", at)
	}
	return o, nil
}

// missing returns why there is no row: the objects of a kind cannot be read, or not yet.
func (r *Reader) missing(kind string) error {
	for _, w := range r.watches {
		if note, isOne := w.note(); isOne && w.kind == kind {
			return fmt.Errorf("%s: %s", note.What, note.Why)
		}
	}
	return server.ErrNotFound
}

// addAge adds a note that a part is old.
func addAge(o *view.Object, what string, at time.Time) {
	if time.Since(at) > partIsNew {
		why := "it is as of " + at.Format(time.TimeOnly) + ", and is being read"
		o.Notes = append(o.Notes, view.Note{What: what, Why: why, IsPending: true})
	}
}

// addPast adds the record of the last part of the time.
func (r *Reader) addPast(ctx context.Context, row *view.Row, last time.Duration, into *view.Object) {
	report, err := r.reader.Report(ctx, keyOf(row), last, time.Now())
	if err != nil {
		into.Unrecorded = err.Error()
		return
	}
	into.History = report.Output()
}

func keyOf(row *view.Row) observe.Key {
	key := observe.Key{NamespacedName: types.NamespacedName{Namespace: row.Namespace, Name: row.Name}}
	switch row.Kind {
	case view.VPA:
		key.Kind = observe.VerticalPodAutoscaler
	case view.WLA:
		key.Kind = observe.WorkloadAutoscaler
	default:
		key.Kind = observe.HorizontalPodAutoscaler
	}
	return key
}

// explain adds the output of plimsoll explain, and its numbers, for a time axis from a time on.
func (r *Reader) explain(ctx context.Context, o *view.Object, from time.Time) error {
	key := keyOf(&o.Row)
	if key.Kind == observe.VerticalPodAutoscaler {
		e, err := r.reader.Vertical(ctx, key.NamespacedName)
		if err != nil {
			return err
		}
		explained.AddVertical(o, e)
		return nil
	}
	e, err := r.reader.Horizontal(ctx, key)
	if err != nil {
		return err
	}
	explained.AddHorizontal(o, e, from)
	return nil
}

func (r *Reader) manifest(kind, namespace, name string) string {
	for _, w := range r.watches {
		if w.kind != kind {
			continue
		}
		object, isThere, err := w.informer.GetStore().GetByKey(namespace + "/" + name)
		if err != nil || !isThere {
			return ""
		}
		text, err := yaml.Marshal(whole(object))
		if err != nil {
			return fmt.Sprintf("# %v\n", err)
		}
		return string(text)
	}
	return ""
}

// whole returns a copy of an object with its kind and version, which clients leave out, and without managedFields.
func whole(object any) any {
	switch o := object.(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		own := o.DeepCopy()
		own.APIVersion, own.Kind, own.ManagedFields = autoscalingv2.SchemeGroupVersion.String(), view.HPA, nil
		return own
	case *plimsollv1alpha1.WorkloadAutoscaler:
		own := o.DeepCopy()
		own.APIVersion, own.Kind, own.ManagedFields = plimsollv1alpha1.SchemeGroupVersion.String(), view.WLA, nil
		return own
	case *vpav1.VerticalPodAutoscaler:
		own := o.DeepCopy()
		own.APIVersion, own.Kind, own.ManagedFields = vpav1.SchemeGroupVersion.String(), view.VPA, nil
		return own
	}
	return object
}

// WhatIf simulates other settings of a horizontal autoscaler.
func (r *Reader) WhatIf(ctx context.Context, asked *view.WhatIfRequest) (*view.WhatIf, error) {
	if _, ok := r.rows.row(view.IDOf(asked.Kind, asked.Namespace, asked.Name)); !ok {
		return nil, server.ErrNotFound
	}
	played, err := whatif.Play(ctx, r.reader, asked, r.config.ClusterFlags, time.Now())
	var invalid *whatif.InvalidError
	if errors.As(err, &invalid) {
		return nil, fmt.Errorf("%w: %w", server.ErrInvalid, err)
	}
	if err != nil {
		return nil, err
	}
	return played, nil
}
