package chart

import (
	"regexp"
	"testing"
)

// TestOneVersionOfHelm: the library that renders here and the program that make helm builds are the same version.
func TestOneVersionOfHelm(t *testing.T) {
	version := regexp.MustCompile(`(?m)helm\.sh/helm/v4 (v\S+)`)
	library := version.FindStringSubmatch(read(t, "go.mod"))
	program := version.FindStringSubmatch(read(t, "../../tools/helm/go.mod"))
	if library == nil || program == nil || library[1] != program[1] {
		t.Errorf("the library is %q, the program %q", library, program)
	}
}
