package rules

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/advise/containerusage"
)

// TestPartialSamples: a sample that lacks an amount is missing only in the metric of that amount.
func TestPartialSamples(t *testing.T) {
	const file, pod = "testdata/rules/container-without-sample/bad.yaml", "web-5d4f8c9b7d-bcdfg"
	for name, c := range map[string]struct {
		partial containerusage.Partial
		// missing has the resources that metrics lack.
		missing []string
	}{
		"memory alone": {containerusage.Partial{HasMemory: true}, []string{"cpu"}},
		"CPU alone":    {containerusage.Partial{HasCPU: true}, []string{"memory"}},
		"nothing":      {containerusage.Partial{}, []string{"cpu", "memory"}},
	} {
		collection := load(t, filepath.FromSlash(file))
		c.partial.Namespace, c.partial.Pod, c.partial.Container = "default", pod, "mesh"
		collection.Usage.Partial = []containerusage.Partial{c.partial}
		var got []string
		for _, f := range checkUnsampled(collection) {
			if f.Object.Meta.Name != "web" {
				continue
			}
			_, lack, _ := strings.Cut(f.Why, " lack ")
			resource, _, _ := strings.Cut(lack, " ")
			got = append(got, resource)
		}
		if strings.Join(got, " ") != strings.Join(c.missing, " ") {
			t.Errorf("%s: metrics lack %q, want %q", name, got, c.missing)
		}
	}
}
