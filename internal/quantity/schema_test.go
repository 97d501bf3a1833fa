package quantity

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The schema keeps out what this package refuses, so that it is not even stored, and
// nothing else.
func TestSchemaBoundsEachQuantity(t *testing.T) {
	files, err := filepath.Glob("../../config/crd/*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	files = append(files, "../../config/crd/plimsoll/plimsoll.dev_workloadautoscalers.yaml")
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition map[string]any
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		each(definition, func(schema map[string]any) {
			found++
			checkBounds(t, file, schema)
		})
	}
	if found < 10 {
		t.Errorf("only %d quantities were found", found)
	}
}

func checkBounds(t *testing.T, file string, schema map[string]any) {
	t.Helper()
	pattern, _ := schema["pattern"].(string)
	is, err := regexp.Compile(pattern)
	if pattern == "" || err != nil || schema["maxLength"] != float64(MaxLength) {
		t.Fatalf("%s: %v, %v", file, schema, err)
	}
	for why, text := range ruinous {
		if len(text) <= MaxLength && is.MatchString(text) {
			t.Errorf("%s: %q is let through", why, text)
		}
	}
	for _, text := range []string{"1.5Gi", "100m", "1e6", "1E-9", "1e+99", "+.5", "1E", "1Ei"} {
		if !is.MatchString(text) {
			t.Errorf("%q is refused", text)
		}
	}
	rule := fmt.Sprint(schema["x-kubernetes-validations"])
	isPositive := strings.Contains(rule, "must be positive")
	if is.MatchString("0") == isPositive || is.MatchString("-1") != (rule == "<nil>") {
		t.Errorf("%s, beside the rules %s", pattern, rule)
	}
}

// each visits the schemas of what is a number or a text.
func each(node any, visit func(map[string]any)) {
	switch n := node.(type) {
	case map[string]any:
		if n["x-kubernetes-int-or-string"] == true {
			visit(n)
		}
		for name, child := range n {
			if name != "port" { // a number or a name, no quantity
				each(child, visit)
			}
		}
	case []any:
		for _, child := range n {
			each(child, visit)
		}
	}
}
