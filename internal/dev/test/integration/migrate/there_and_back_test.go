package migrate

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

func equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// times is the number of HPAs that are migrated there and back under each load. make test-migrate has ten.
var times = flag.Int("times", 2, "how many HPAs are migrated there and back under each load")

// Under steady load nothing is scaled at all, there and back, and no condition looks like an error.
func TestSteadyLoad(t *testing.T) {
	t.Parallel()
	for i := range *times {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, 35)
			before := w.HPA("web")
			changes, faults := w.WatchChanges("web"), w.faults("web")
			table, progress := w.apply()
			w.isMigrated("web")
			for _, want := range []string{"NAMESPACE", "APART", w.Name} {
				if !strings.Contains(table, want) {
					t.Errorf("%q is missing in the table:\n%s", want, table)
				}
			}
			if files := w.files(); len(files) != 1 || !strings.Contains(progress, files[0][len(w.backups)+1:]) ||
				!strings.Contains(w.read(files[0]), "kind: HorizontalPodAutoscaler") {
				t.Errorf("files %v\n%s", files, progress)
			}
			w.awaitDecided("web", 4)
			w.HoldsReplicas(patience, harness.Deployment, "web", 4)
			w.back()
			w.isBack(before)
			w.HoldsReplicas(patience, harness.Deployment, "web", 4)
			if all := changes.All(); len(all) > 0 {
				t.Errorf("scaled: %v", all)
			}
			if all := faults(); len(all) > 0 {
				t.Errorf("conditions looked like errors:\n%s", strings.Join(all, "\n"))
			}
		})
	}
}
