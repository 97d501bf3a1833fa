// Package report writes a report about an autoscaler and a time to one file: a page that needs no server, or JSON.
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

// Config has the content of a report.
type Config struct {
	// Object has the data. The report takes ownership of it.
	Object *view.Object
	// From and To bound the requested time, Made is the time of the report.
	From, To, Made time.Time
	// FitsRecord moves the start of the time to the start of the record.
	FitsRecord bool
	// Program is the name and the version of the program that makes the report.
	Program string
	// Cluster is the name of the kubeconfig's context; empty if none is used.
	Cluster string
	// Secrets has texts that the report must not contain.
	Secrets []string
}

// Report is the report in JSON, which the page shows. docs/reference/json.md has its fields.
type Report struct {
	Made    time.Time `json:"made"`
	Program string    `json:"program"`
	Cluster string    `json:"cluster,omitempty"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	// Source is the origin of the history, as plimsoll explain --last prints it; empty without a history.
	Source string `json:"source,omitempty"`
	// Gaps has the parts of that time that the history lacks, oldest first.
	Gaps []Gap `json:"gaps"`
	// Object has times in milliseconds since 1970, except for its history.
	Object *view.Object `json:"object"`
}

// New returns a report. It removes secrets, and texts in the form of one.
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

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error { return output.JSON(w, r) }

func sourceOf(h *loadreport.Output) loadreport.Source {
	source := loadreport.Source{NoLeader: h.NoController, NoCheckpoint: h.NoCheckpoint}
	if h.SavedAt != nil {
		source.SavedAt = *h.SavedAt
	}
	source.IsSinceStart = h.NoCheckpoint != "" || h.Source == "ControllerAndAutoscalerCheckpoint"
	return source
}

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
