package main

import (
	"os"
	"regexp"
	"testing"
)

// argument is an argument of the container in a manifest or a template.
var argument = regexp.MustCompile(`(?m)^ +- (--[a-z][^\s{]*)$`)

// TestManifestsArguments: the program has the flags that config/ and the chart set.
func TestManifestsArguments(t *testing.T) {
	for path, least := range map[string]int{
		"../../../config/scalers/deployment.yaml":                    2,
		"../../../charts/plimsoll/templates/scalers/deployment.yaml": 4,
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var arguments []string
		for _, found := range argument.FindAllSubmatch(text, -1) {
			arguments = append(arguments, string(found[1]))
		}
		if err := newServe().ParseFlags(arguments); err != nil || len(arguments) < least {
			t.Errorf("%s: %q: %v", path, arguments, err)
		}
	}
}
