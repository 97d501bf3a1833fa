package manifests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

const several = `# Only a comment.
---
apiVersion: v1
kind: List
items:
- {apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: old}, spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}}}
- {apiVersion: example.com/v1, kind: Unknown, metadata: {name: any}, spec: {whatever: true}}
---
{"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "usual", "namespace": "shop"}, "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "50m"}}]}}
`

func TestRead(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"inner/all.yml": several, "notes.txt": "kind: {{{"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Read([]string{folder, "-"}, strings.NewReader(several))
	if err != nil || len(c.Horizontals) != 2 || len(c.Ranges) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	h := c.Horizontals[0]
	if !h.IsV1 || h.MinReplicas() != 1 || *h.Metrics()[0].Resource.Target.AverageUtilization != 80 || h.Namespace != "default" {
		t.Errorf("the HPA is %+v", h)
	}
	if place := c.Ranges[0].Place; place.Document != 3 || place.Line != 9 {
		t.Errorf("the LimitRange is at %+v, want document 3 in line 9", place)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for content, want := range map[string]string{
		"kind: [":       "web.yaml: document 1 (line 1)",
		"---\n- a list": "document 1 (line 2): it is not an object",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {templte: {}}": `Deployment web: strict decoding error: unknown field "spec.templte"`,
		"kind: A\nkind: B": "already set",
	} {
		err := Add(&objects.Collection{}, "web.yaml", strings.NewReader(content))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", content, err, want)
		}
	}
	err := Add(&objects.Collection{}, "big.yaml", strings.NewReader(strings.Repeat("#", maxBytes+1)))
	if err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("error %v", err)
	}
}
