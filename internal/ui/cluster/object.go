package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/ui/server"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
	"github.com/plimsoll-dev/plimsoll/internal/ui/whatif"
)

// Object is all about one autoscaler, with what was recorded of the last part of its time.
func (r *Reader) Object(ctx context.Context, kind, namespace, name string, last time.Duration) (*view.Object, error) {
	row, isThere := r.rows.row(view.IDOf(kind, namespace, name))
	if !isKind(kind) || !isThere {
		return nil, server.ErrNotFound
	}
	o := &view.Object{Row: row, Now: time.Now().UnixMilli(), Lines: []view.Line{}, Manifest: r.manifest(kind, namespace, name)}
	key := observe.Key{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	var text bytes.Buffer
	var err error
	switch kind {
	case view.VPA:
		err = r.explainVertical(ctx, key.NamespacedName, &text)
	case view.WLA:
		key.Kind = observe.WorkloadAutoscaler
		err = r.explainHorizontal(ctx, key, &text)
	default:
		key.Kind = observe.HorizontalPodAutoscaler
		err = r.explainHorizontal(ctx, key, &text)
	}
	if err != nil {
		o.Unexplained = err.Error()
	} else {
		o.Lines = linesOf(text.String())
	}
	if kind == view.VPA {
		return o, nil
	}
	report, err := r.reader.Report(ctx, key, last, time.Now())
	if err != nil {
		o.Unrecorded = err.Error()
		return o, nil
	}
	o.History = report.Output()
	return o, nil
}

func (r *Reader) explainHorizontal(ctx context.Context, key observe.Key, text *bytes.Buffer) error {
	e, err := r.reader.Horizontal(ctx, key)
	if err != nil {
		return err
	}
	return e.WriteText(text, explainhorizontal.Style{AllPods: true})
}

func (r *Reader) explainVertical(ctx context.Context, name types.NamespacedName, text *bytes.Buffer) error {
	e, err := r.reader.Vertical(ctx, name)
	if err != nil {
		return err
	}
	return e.WriteText(text)
}

// linesOf are the lines of what explain prints: a label in a column of its own, and what it says. Lines without a label
// belong to the one before.
func linesOf(text string) []view.Line {
	lines := []view.Line{}
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		line = strings.TrimRight(line, " \n")
		label, says := line, ""
		if at := len("  ") + labelWidth; len(line) > at && strings.HasPrefix(line, "  ") && line[at] == ' ' {
			label, says = strings.TrimRight(line[:at], " "), line[at+1:]
		}
		lines = append(lines, view.Line{Label: label, Text: says})
	}
	return lines
}

// labelWidth is that of the labels of an explanation.
const labelWidth = 14

// manifest is the object as YAML, as the cache has it.
func (r *Reader) manifest(kind, namespace, name string) string {
	for _, w := range r.watches {
		if w.kind != kind {
			continue
		}
		object, isThere, err := w.informer.GetStore().GetByKey(namespace + "/" + name)
		if err != nil || !isThere {
			return ""
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Sprintf("# %v\n", err)
		}
		return string(text)
	}
	return ""
}

// WhatIf plays other settings of a horizontal autoscaler.
func (r *Reader) WhatIf(ctx context.Context, asked *view.WhatIfRequest) (*view.WhatIf, error) {
	if _, isThere := r.rows.row(view.IDOf(asked.Kind, asked.Namespace, asked.Name)); !isThere {
		return nil, server.ErrNotFound
	}
	played, err := whatif.Play(ctx, r.reader, asked, time.Now())
	var invalid *whatif.InvalidError
	if errors.As(err, &invalid) {
		return nil, fmt.Errorf("%w: %w", server.ErrInvalid, err)
	}
	return played, err
}
