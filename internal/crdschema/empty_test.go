package crdschema

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// switches are the structs whose presence has a meaning of its own, as their descriptions say.
var switches = map[string]string{
	"spec.behavior":    "as that of an HPA: both directions then have defaults",
	"spec.scaleToZero": "it permits zero replicas",
}

// TestAbsentAndEmptyMeanTheSame: in each field of a spec null means the same as no field. An empty text, list or struct
// means the same too, or is refused with a message that says so.
func TestAbsentAndEmptyMeanTheSame(t *testing.T) {
	d, shown := definitionOf(t), map[string]bool{}
	for _, object := range examplesOf(t) {
		spec := d.whole.Properties["spec"]
		eachField(object["spec"].(map[string]any), &spec, "spec", func(f shownField) {
			shown[f.kind] = true
			meaning := func(value any, isPresent bool) meaning {
				before := f.parent[f.name]
				defer func() { f.parent[f.name] = before }()
				if f.parent[f.name] = value; !isPresent {
					delete(f.parent, f.name)
				}
				return meaningOf(t, object)
			}
			absent := meaning(nil, false)
			if null := meaning(nil, true); !null.equals(absent) {
				t.Errorf("%s: null means %s, and no field %s", f.path, null, absent)
			}
			empty, hasEmpty := emptyOf(f.schema)
			if !hasEmpty || switches[f.kind] != "" {
				return
			}
			got := meaning(empty, true)
			isSaid := saysEmpty(got.refused, f.path)
			if isText := empty == ""; !isSaid && (isText || !got.equals(absent)) {
				t.Errorf("%s: %#v means %s, and no field %s", f.path, empty, got, absent)
			}
		})
	}
	fields := map[string]bool{}
	spec := d.whole.Properties["spec"]
	fieldsOf(&spec, "spec", fields)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !shown[name] && !slices.ContainsFunc(repeated, func(part string) bool { return strings.Contains(name, part) }) {
			t.Errorf("no object has %s", name)
		}
	}
}

// meaning is what an object means: a policy, or why it is refused.
type meaning struct {
	refused field.ErrorList
	policy  horizontal.Policy
	specs   []sources.Spec
	refusal horizontal.Refusal
}

func (m meaning) equals(other meaning) bool {
	if m.refused != nil || other.refused != nil {
		return m.refused != nil && other.refused != nil
	}
	return reflect.DeepEqual(m, other)
}

func (m meaning) String() string {
	if m.refused != nil {
		return fmt.Sprintf("%.300v", m.refused)
	}
	return fmt.Sprintf("%+v %+v %+v", m.policy, m.specs, m.refusal)
}

func meaningOf(t *testing.T, object map[string]any) (m meaning) {
	t.Helper()
	stored, refused, err := Store(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	if m.refused = refused; refused != nil {
		return m
	}
	var typed plimsollv1alpha1.WorkloadAutoscaler
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &typed); err != nil {
		t.Fatal(err)
	}
	m.policy, m.specs, m.refusal = observehorizontal.PolicyOf(observehorizontal.WorkloadAutoscaler(&typed),
		observehorizontal.DefaultOptions())
	return m
}

// saysSo matches the details of errors about an empty value.
var saysSo = regexp.MustCompile(`at least 1 (chars|items)|date-time`)

// saysEmpty reports whether one of the errors is about the field, and says that it is empty.
func saysEmpty(errs field.ErrorList, path string) bool {
	return slices.ContainsFunc(errs, func(e *field.Error) bool {
		if strings.HasPrefix(e.Field, path+".") {
			return e.Type == field.ErrorTypeRequired
		}
		isNoWord := e.Type == field.ErrorTypeNotSupported && e.BadValue == ""
		return e.Field == path && (isNoWord || e.Type == field.ErrorTypeRequired || saysSo.MatchString(e.Detail))
	})
}

// emptyOf returns the empty value of a field's type. Numbers and booleans have none.
func emptyOf(s *schema.Structural) (empty any, ok bool) {
	switch {
	case s.XIntOrString || s.Type == "string":
		return "", true
	case s.Type == "object":
		return map[string]any{}, true
	case s.Type == "array":
		return []any{}, true
	}
	return nil, false
}

// shownField is a field of an object.
type shownField struct {
	parent map[string]any
	name   string
	schema *schema.Structural
	// kind is the path without indices.
	path, kind string
}

var index = regexp.MustCompile(`\[\d+\]`)

// eachField calls do for each field of an object that the schema has. The entries of maps are no fields.
func eachField(object map[string]any, s *schema.Structural, path string, do func(shownField)) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		of, ok := s.Properties[name]
		if !ok {
			continue
		}
		at := path + "." + name
		switch value := object[name].(type) {
		case map[string]any:
			eachField(value, &of, at, do)
		case []any:
			for i := range value {
				if item, ok := value[i].(map[string]any); ok {
					eachField(item, of.Items, fmt.Sprintf("%s[%d]", at, i), do)
				}
			}
		}
		do(shownField{object, name, &of, at, index.ReplaceAllString(at, "")})
	}
}

func definitionOf(t *testing.T) *definition {
	t.Helper()
	d, err := read(workloadAutoscalers, "v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// examplesOf returns the WorkloadAutoscalers of config/samples and those that clusters hold: these have each field.
func examplesOf(t *testing.T) []map[string]any {
	t.Helper()
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	all := storedOf(t, next, "plimsoll.dev/v1alpha1 WorkloadAutoscaler")
	for _, file := range files {
		all = append(all, objectOf(t, file))
	}
	return all
}

// TestDefaults: SetDefaults gives an object from a file what the definition gives one that is created. A default is
// stored, and the description has it: who reads an object sees what it means, and a later default is for new objects
// alone. A time without one has it from a flag of the controller.
func TestDefaults(t *testing.T) {
	for _, object := range examplesOf(t) {
		stored, refused, err := Store(t.Context(), object)
		if err != nil || refused != nil {
			t.Fatalf("%v, %v", refused, err)
		}
		var ours, theirs plimsollv1alpha1.WorkloadAutoscaler
		for into, from := range map[*plimsollv1alpha1.WorkloadAutoscaler]map[string]any{
			&ours: object, &theirs: stored.Object,
		} {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from, into); err != nil {
				t.Fatal(err)
			}
		}
		if plimsollv1alpha1.SetDefaults(&ours.Spec); !reflect.DeepEqual(ours.Spec, theirs.Spec) {
			t.Errorf("%s: SetDefaults gives %+v, the definition %+v", ours.Name, ours.Spec, theirs.Spec)
		}
	}
	spec := definitionOf(t).whole.Properties["spec"]
	eachSchema(&spec, "spec", func(path string, s *schema.Structural, isRequired bool) {
		isTime := strings.HasSuffix(path, "Seconds")
		said := regexp.MustCompile(`default is \d+`).FindString(s.Description)
		isOfFlag := strings.Contains(s.Description, "the controller's flag")
		switch value := s.Default.Object; {
		case isRequired || path == "spec.schedules.durationSeconds":
		case isTime && isOfFlag != (value == nil):
			t.Errorf("%s: the default is %v, the description says %q", path, value, s.Description)
		case isTime && !isOfFlag && said != fmt.Sprint("default is ", value):
			t.Errorf("%s: the default is %v, the description says %q", path, value, s.Description)
		}
	})
}

func eachSchema(s *schema.Structural, path string, do func(path string, s *schema.Structural, isRequired bool)) {
	for name := range s.Properties {
		of := s.Properties[name]
		do(path+"."+name, &of, s.ValueValidation != nil && slices.Contains(s.ValueValidation.Required, name))
		eachSchema(&of, path+"."+name, do)
	}
	if s.Items != nil {
		eachSchema(s.Items, path, do)
	}
}

// TestWordsOfAStatusAreOpen: a definition that is older than the controller accepts the statuses of the controller.
// Only words of the spec are enumerations there too, and those of conditions.
func TestWordsOfAStatusAreOpen(t *testing.T) {
	status := definitionOf(t).whole.Properties["status"]
	eachSchema(&status, "status", func(path string, s *schema.Structural, _ bool) {
		isOfSpec := path == "status.metrics.type" || path == "status.forecast.mode" || path == "status.conditions.status"
		isClosed := s.ValueValidation != nil && len(s.ValueValidation.Enum) > 0
		isClosed = isClosed || s.Items != nil && s.Items.ValueValidation != nil && len(s.Items.ValueValidation.Enum) > 0
		if isClosed != isOfSpec {
			t.Errorf("%s is an enumeration: %t", path, isClosed)
		}
	})
}
