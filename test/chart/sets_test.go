package chart

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// valueSet is a file of testdata: values as an installation has them.
type valueSet struct {
	name, namespace, values string
}

// namespaceLine is the comment of a set that is not for plimsoll-system.
var namespaceLine = regexp.MustCompile(`(?m)^# Namespace: (\S+)$`)

// valueSets are the files of testdata.
func valueSets(t testing.TB) []valueSet {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d sets, %v", len(paths), err)
	}
	var sets []valueSet
	for _, path := range paths {
		set := valueSet{name: strings.TrimSuffix(filepath.Base(path), ".yaml"), namespace: namespace, values: read(t, path)}
		if found := namespaceLine.FindStringSubmatch(set.values); found != nil {
			set.namespace = found[1]
		}
		sets = append(sets, set)
	}
	return sets
}

// longest is how many lines of a new object a golden file has; longer ones are files of config/.
const longest = 80

// TestValueSets compares what each set changes with its golden file: the objects that it adds and removes, and the
// difference of the others from those of the default values. What the default values are, TestSameAsKustomize says.
func TestValueSets(t *testing.T) {
	without := texts(t, mustRender(t, namespace, ""))
	for _, set := range valueSets(t) {
		t.Run(set.name, func(t *testing.T) {
			var golden strings.Builder
			with := texts(t, inDefaultNamespace(mustRender(t, set.namespace, set.values), set.namespace))
			for _, name := range sortedKeys(without, with) {
				before, after := without[name], with[name]
				switch {
				case after == "":
					fmt.Fprintf(&golden, "--- %s\n", name)
				case before == "" && strings.Count(after, "\n") > longest:
					fmt.Fprintf(&golden, "+++ %s: %d lines\n", name, strings.Count(after, "\n"))
				case before == "":
					fmt.Fprintf(&golden, "+++ %s\n%s", name, prefixed("+", after))
				case before != after:
					fmt.Fprintf(&golden, "*** %s\n%s", name, unified(t, before, after))
				}
			}
			compareFile(t, filepath.Join("testdata", set.name+".diff"), golden.String())
		})
	}
}

// inDefaultNamespace gives the objects of another namespace the keys that they have by default, to be compared.
func inDefaultNamespace(objects []*unstructured.Unstructured, from string) []*unstructured.Unstructured {
	for _, object := range objects {
		if object.GetNamespace() == from {
			object.SetNamespace(namespace)
		}
	}
	return objects
}

func texts(t *testing.T, objects []*unstructured.Unstructured) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		found[key(object)] = string(text)
	}
	return found
}

func sortedKeys(maps ...map[string]string) []string {
	var keys []string
	for _, m := range maps {
		for key := range m {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func prefixed(prefix, text string) string {
	var all strings.Builder
	for line := range strings.Lines(text) {
		all.WriteString(prefix + line)
	}
	return all.String()
}

// TestAnotherNamespace: nothing is left in plimsoll-system, and no reference to it.
func TestAnotherNamespace(t *testing.T) {
	values := read(t, "testdata/everything.yaml")
	for name, text := range texts(t, mustRender(t, "autoscaling", values)) {
		kind, _, _ := strings.Cut(name, " ")
		if kind == "CustomResourceDefinition" || kind == "PrometheusRule" || kind == "ConfigMap" {
			continue // descriptions, and a dashboard
		}
		if strings.Contains(text, namespace) {
			t.Errorf("%s is about %s:\n%s", name, namespace, text)
		}
	}
}

// TestNotes: the notes say what to do next for each mode, and name the namespace where a command needs it.
func TestNotes(t *testing.T) {
	for values, want := range map[string][]string{
		"": {"plimsoll doctor\n", "while kube-controller-manager's own loop is on",
			"VerticalPodAutoscalers are left alone"},
		"horizontalPodAutoscalers: act":        {"must be off"},
		"horizontalPodAutoscalers: shadow":     {"writes nothing about them"},
		"horizontalPodAutoscalers: ignore":     {"decides none"},
		"vertical: {enabled: true}":            {"kind: WorkloadAutoscaler", "VerticalPodAutoscalers are recommended for"},
		"# elsewhere\nlogging: {verbosity: 1}": {"plimsoll doctor --controller-namespace=elsewhere\n"},
	} {
		in := namespace
		if strings.HasPrefix(values, "# elsewhere") {
			in = "elsewhere"
		}
		_, notes, err := render(t, in, values)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(notes, text) {
				t.Errorf("values %q: no %q in\n%s", values, text, notes)
			}
		}
	}
}
