package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/crdschema"
)

// TestManifests: each whole WorkloadAutoscaler and VerticalPodAutoscaler of a page is what an API server accepts that has
// the definitions of config/crd. internal/dev/test/integration applies those of some pages.
func TestManifests(t *testing.T) {
	t.Parallel()
	found := 0
	for name := range pages(t) {
		text, err := os.ReadFile(filepath.Join(repository(t), name))
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "\n```yaml\n")[1:] {
			block, _, _ = strings.Cut(block, "\n```")
			if !strings.Contains(block, "\nkind: WorkloadAutoscaler\n") && !strings.Contains(block, "\nkind: VerticalPodAutoscaler\n") {
				continue
			}
			found++
			document, err := yaml.YAMLToJSONStrict([]byte(block))
			var object map[string]any
			if err == nil {
				// Integers are int64, as the API server has them.
				err = utiljson.Unmarshal(document, &object)
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, block)
				continue
			}
			refused, err := crdschema.Validate(t.Context(), object)
			if err != nil || len(refused) > 0 {
				t.Errorf("%s: %v %v\n%s", name, err, refused, block)
			}
		}
	}
	if found < 12 {
		t.Errorf("%d manifests were found", found)
	}
}
