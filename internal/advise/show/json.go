package show

import (
	"io"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/rules"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// Report is what -o json prints.
type Report struct {
	Findings []Finding `json:"findings"`
	Skipped  []Skipped `json:"skipped,omitempty"`
	// Unexamined are objects that no rule examines, or whose target none does.
	Unexamined []Unexamined `json:"unexamined,omitempty"`
	Ignored    int          `json:"ignored,omitempty"`
}

// Finding is one of them.
type Finding struct {
	Rule   string `json:"rule"`
	Level  string `json:"level"`
	Object Object `json:"object"`
	Field  string `json:"field"`
	// Line is the field's in the object's file.
	Line   int    `json:"line,omitempty"`
	Why    string `json:"why"`
	Remedy string `json:"remedy,omitempty"`
	Source string `json:"source"`
	// Snippet is YAML to paste into a manifest.
	Snippet string `json:"snippet,omitempty"`
	Patch   *Patch `json:"patch,omitempty"`
}

// Object says which object is meant, and where it stands.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is absent where the manifest names none.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	File      string `json:"file,omitempty"`
	Document  int    `json:"document,omitempty"`
	Line      int    `json:"line,omitempty"`
}

// Patch is a JSON patch, or an object to create.
type Patch struct {
	Command    string            `json:"command"`
	Operations []rules.Operation `json:"operations,omitempty"`
	Create     map[string]any    `json:"create,omitempty"`
}

// Skipped is a rule that was not looked for.
type Skipped struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// Unexamined is an object that was not examined.
type Unexamined struct {
	Object Object `json:"object"`
	Target string `json:"target,omitempty"`
	Why    string `json:"why"`
}

// JSON writes the report as one document.
func JSON(w io.Writer, report *rules.Report) error {
	out := Report{Findings: []Finding{}, Ignored: report.Ignored}
	for _, f := range report.Findings {
		out.Findings = append(out.Findings, Finding{
			Rule: f.Rule.Name, Level: f.Rule.Level.String(), Object: objectOf(f.Object), Field: f.Field.String(),
			Line: f.Object.Place.LineOf(f.Field),
			Why:  f.Why, Remedy: f.Remedy, Source: f.Rule.Source, Snippet: f.Snippet, Patch: patchOf(f.Patch),
		})
	}
	for _, s := range report.Skipped {
		out.Skipped = append(out.Skipped, Skipped{Rule: s.Rule.Name, Why: s.Why})
	}
	for _, u := range report.Unexamined {
		out.Unexamined = append(out.Unexamined, Unexamined{Object: objectOf(u.Object), Target: u.Target, Why: u.Why})
	}
	return output.JSON(w, out)
}

func objectOf(o *objects.Object) Object {
	return Object{
		APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.NamedNamespace(), Name: o.Name,
		File: o.Place.File, Document: o.Place.Document, Line: o.Place.Line,
	}
}

func patchOf(p *rules.Patch) *Patch {
	if p == nil {
		return nil
	}
	return &Patch{Command: p.Command(), Operations: p.Operations, Create: p.Create}
}
