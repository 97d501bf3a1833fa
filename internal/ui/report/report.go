// Package report makes one file of what is to be shown of an autoscaler and of a time: a page that needs no server, or
// the same as JSON.
package report

import (
	"io"
	"reflect"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// Config is what a report is made of.
type Config struct {
	// Object is what was read. It is the report's from then on.
	Object *view.Object
	// From and To is the time that was asked about, Made when the report is made.
	From, To, Made time.Time
	// FitsRecord has the time begin with what is recorded of it.
	FitsRecord bool
	// Program is the name and the version of what makes the report.
	Program string
	// Cluster is the name of the kubeconfig's context; empty if none is used.
	Cluster string
	// Secrets are texts that the report must not have.
	Secrets []string
}

// Report is the form for programs, and what the page shows. docs/reference/json.md has its fields.
type Report struct {
	Made    time.Time `json:"made"`
	Program string    `json:"program"`
	Cluster string    `json:"cluster,omitempty"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	// Source is where the history was read from, as plimsoll explain --last prints it; empty where there is none.
	Source string `json:"source,omitempty"`
	// Gaps are the parts of that time of which something is missing in the history, oldest first.
	Gaps []Gap `json:"gaps"`
	// Object has times in milliseconds since 1970, but for its history.
	Object *view.Object `json:"object"`
}

// New makes a report. Secrets, and what has the form of one, are left out.
func New(c *Config) *Report {
	redact(reflect.ValueOf(c.Object), c.Secrets)
	r := &Report{
		Made: c.Made.UTC().Truncate(time.Second), Program: c.Program, Cluster: cmderror.Redact(c.Cluster, c.Secrets),
		From: c.From.UTC(), To: c.To.UTC(), Gaps: []Gap{}, Object: c.Object,
	}
	if h := c.Object.History; h != nil {
		if c.FitsRecord && len(h.Points) > 0 && h.Points[0].Time.After(r.From) {
			r.From, h.From = h.Points[0].Time, h.Points[0].Time
		}
		source := sourceOf(h)
		r.Source = source.Text(c.Made)
		r.Gaps = gapsOf(h)
	}
	return r
}

// WriteJSON writes the form for programs.
func (r *Report) WriteJSON(w io.Writer) error { return output.JSON(w, r) }

func sourceOf(h *loadreport.Output) loadreport.Source {
	source := loadreport.Source{NoLeader: h.NoController, NoCheckpoint: h.NoCheckpoint}
	if h.SavedAt != nil {
		source.SavedAt = *h.SavedAt
	}
	source.IsSinceStart = h.NoCheckpoint != "" || h.Source == "ControllerAndAutoscalerCheckpoint"
	return source
}

// redact leaves secrets out of all texts of a value.
func redact(v reflect.Value, secrets []string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			redact(v.Elem(), secrets)
		}
	case reflect.Slice:
		for i := range v.Len() {
			redact(v.Index(i), secrets)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			redact(v.Field(i), secrets)
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(cmderror.Redact(v.String(), secrets))
		}
	}
}
