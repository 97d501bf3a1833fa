// Package session is one run of plimsoll migrate, including the manifests that it reads.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/steps"
	"github.com/plimsoll-dev/plimsoll/internal/typed"
)

// Printer prints manifests to one writer, and findings to another.
type Printer struct {
	Out, Findings io.Writer
	// Places has the positions of objects in files.
	Places map[*unstructured.Unstructured]objects.Place

	printed, failed int
}

// OptionsOf returns the options for the conversion of a ScaledObject.
type OptionsOf func(*unstructured.Unstructured) keda.Options

// Convert prints the WorkloadAutoscaler of an HPA or a ScaledObject, unless the API server would refuse it.
func (p *Printer) Convert(ctx context.Context, object *unstructured.Unstructured, optionsOf OptionsOf) error {
	var result *convert.Result
	var err error
	if object.GetKind() == keda.Kind {
		result, err = keda.FromScaledObject(object, optionsOf(object))
	} else {
		result, err = convert.FromHPA(object)
	}
	if err != nil {
		p.failed++
		var wrong *typed.Error
		at := ""
		if errors.As(err, &wrong) {
			at = wrong.Field.String()
		}
		fmt.Fprintf(p.Findings, "%s: cannot be migrated: %v\n", p.title(object, at), err)
		return nil
	}
	isAccepted, err := steps.CheckResult(ctx, result)
	if err != nil {
		return err
	}
	p.report(object, result.Findings)
	if !isAccepted {
		return nil
	}
	raw, err := convert.Printable(result.WorkloadAutoscaler)
	if err != nil {
		return err
	}
	return p.Print(raw)
}

// Back prints the replaced object, and what is lost with the WorkloadAutoscaler.
func (p *Printer) Back(original *unstructured.Unstructured, lost []convert.Finding) error {
	p.report(original, lost)
	return p.Print(original.Object)
}

func (p *Printer) report(object *unstructured.Unstructured, findings []convert.Finding) {
	if slices.ContainsFunc(findings, func(f convert.Finding) bool { return f.IsLost }) {
		p.failed++
	}
	for _, f := range findings {
		word := "note"
		if f.IsLost {
			word = "not migrated"
		}
		fmt.Fprintf(p.Findings, "%s: %s: %s: %s\n", p.title(object, f.Field), f.Field, word, f.Message)
	}
}

// Print prints a document.
func (p *Printer) Print(raw map[string]any) error {
	text, err := yaml.Marshal(raw)
	if err != nil {
		return err
	}
	separator := ""
	if p.printed > 0 {
		separator = "---\n"
	}
	p.printed++
	_, err = fmt.Fprintf(p.Out, "%s%s", separator, text)
	return err
}

// Result returns an error if an object could not be migrated, or if there was none.
func (p *Printer) Result() error {
	switch {
	case p.failed > 0:
		return fmt.Errorf("%d of the objects cannot be migrated completely", p.failed)
	case p.printed == 0:
		return errors.New("there is nothing to migrate")
	}
	return nil
}

// title returns the object's name, and the field's position in its file.
func (p *Printer) title(object *unstructured.Unstructured, field string) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	title := object.GetKind() + " " + name
	if place, ok := p.Places[object]; ok {
		return fmt.Sprintf("%s:%d: %s", place.File, place.LineOf(objects.ParseField(field)), title)
	}
	return title
}
