package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/recurring"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/scheduled"
)

// crd checks objects as an API server with the CRD of WorkloadAutoscalers does.
type crd struct {
	schema validation.SchemaValidator
	rules  *schemacel.Validator
	whole  *schema.Structural
}

func workloadAutoscalers(t *testing.T) *crd {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "crd", "plimsoll",
		"plimsoll.dev_workloadautoscalers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		t.Fatal(err)
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		d.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		t.Fatal(err)
	}
	c := &crd{}
	if c.schema, _, err = validation.NewSchemaValidator(&props); err != nil {
		t.Fatal(err)
	}
	if c.whole, err = schema.NewStructural(&props); err != nil {
		t.Fatal(err)
	}
	c.rules = schemacel.NewValidator(c.whole, true, celconfig.PerCallLimit)
	return c
}

// errors are those of a WorkloadAutoscaler with these schedules, as YAML.
func (c *crd) errors(t *testing.T, schedules string) field.ErrorList {
	t.Helper()
	var object map[string]any
	text := "apiVersion: plimsoll.dev/v1alpha1\nkind: WorkloadAutoscaler\nmetadata: {name: web}\nspec:\n" +
		"  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  maxReplicas: 40\n  " +
		strings.ReplaceAll(strings.TrimSpace(schedules), "\n", "\n  ")
	// Whole numbers stay whole, as in the API server.
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if err := utiljson.Unmarshal(asJSON, &object); err != nil {
		t.Fatal(err)
	}
	errs := validation.ValidateCustomResource(nil, object, c.schema)
	ruled, _ := c.rules.Validate(t.Context(), nil, c.whole, object, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, ruled...)
}

// TestProposalsAreValid: what is printed to be pasted is accepted by the CRD, and starts when the proposal does.
func TestProposalsAreValid(t *testing.T) {
	rules := workloadAutoscalers(t)
	// The pattern refuses the first, CEL the second.
	for start, isFine := range map[string]bool{"61 8 * * *": false, "1 8 * * sat-sun": false, "1 8 * * fri-sat": true} {
		errs := rules.errors(t, fmt.Sprintf("schedules: [{name: x, start: %s, durationSeconds: 300, minReplicas: 1}]", start))
		if isFine != (len(errs) == 0) {
			t.Fatalf("%s: %v", start, errs)
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, location := range []*time.Location{time.UTC, berlin} {
		var proposals []recurring.Proposal
		for days := recurring.Weekdays(1); days <= recurring.EveryDay && len(proposals) < 32; days += 4 {
			proposals = append(proposals, recurring.Proposal{
				Days: days, Hour: int(days) % 24, Minute: int(days) % 60, Duration: time.Minute, MinReplicas: 1,
			})
		}
		proposals[1].Hour, proposals[1].Minute = proposals[0].Hour, proposals[0].Minute
		proposals[3].EveryHours, proposals[4].EveryHours, proposals[4].Hour = 1, 2, 1
		proposals[2].Duration, proposals[2].MinReplicas = 3*time.Hour, 40
		entries := entriesOf(&objects.Horizontal{}, location, proposals)
		text := snippet(entries, proposals)
		if errs := rules.errors(t, text); len(errs) > 0 {
			t.Fatalf("%v in\n%s", errs, text)
		}
		var pasted struct {
			Schedules []plimsollv1alpha1.Schedule `json:"schedules"`
		}
		if err := yaml.UnmarshalStrict([]byte(text), &pasted); err != nil || len(pasted.Schedules) != len(proposals) {
			t.Fatalf("%v: %+v", err, pasted)
		}
		for i := range pasted.Schedules {
			wantStarts(t, &pasted.Schedules[i], &proposals[i], location)
		}
	}
}

// wantStarts reads the schedule as the controller does: it starts on the proposal's days, at its time.
func wantStarts(t *testing.T, s *plimsollv1alpha1.Schedule, p *recurring.Proposal, location *time.Location) {
	t.Helper()
	read, errs := scheduled.Of(s, field.NewPath("schedule"))
	if errs != nil {
		t.Fatal(errs)
	}
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, location)
	var days recurring.Weekdays
	for range 14 * 24 {
		at = read.Start.Next(at)
		days |= 1 << at.Weekday()
		if p.EveryHours == 0 && at.Hour() != p.Hour || p.EveryHours > 0 && at.Hour()%p.EveryHours != p.Hour%p.EveryHours ||
			at.Minute() != p.Minute {
			t.Fatalf("%s starts at %s", s.Start, at)
		}
	}
	if days != p.Days || read.Location.String() == "Local" || read.Duration != p.Duration ||
		read.MinReplicas != p.MinReplicas {
		t.Errorf("%+v is read as %+v on %v", p, read, days)
	}
}
