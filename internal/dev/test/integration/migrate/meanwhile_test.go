package migrate

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// A change of the WorkloadAutoscaler's spec between two writes is read first, and stays. One that no step depends on,
// as of its status, delays none.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, 35)
	changes := w.WatchChanges("web")
	var patches atomic.Int32
	p := proxy{before: func(r *http.Request) {
		if r.Method != http.MethodPatch {
			return
		}
		n := patches.Add(1)
		change := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/touched":"%d"}}}`, n)
		if n == 1 {
			change = `{"spec":{"maxReplicas":9}}`
		}
		_, err := w.WLAs.Patch(t.Context(), "web", types.MergePatchType, []byte(change), metav1.PatchOptions{})
		if err != nil {
			t.Error(err)
		}
	}}
	w.must("hpa/web", "--apply", "--yes", observe, "--kubeconfig="+p.start(w))
	w.isMigrated("web")
	if _, o := w.objects("web"); o.Spec.MaxReplicas != 9 {
		t.Errorf("maxReplicas is %d again", o.Spec.MaxReplicas)
	}
	// The first, which is a conflict, then the mode, and the mark.
	if n := patches.Load(); n != 3 {
		t.Errorf("%d patches", n)
	}
	w.HoldsReplicas(patience/2, harness.Deployment, "web", 4)
	w.wantChanges(changes)
}

// TestMissingTarget: an HPA without a target is refused without waiting for its decisions, also before the first one and
// with --yes.
func TestMissingTarget(t *testing.T) {
	t.Parallel()
	w := emptyWorkload(t)
	w.Create(queue("web"))
	began, long := time.Now(), 5*time.Minute
	_, stderr, err := w.run("hpa/web", "--apply", "--yes", "--observe="+long.String())
	if took := time.Since(began); err == nil || !strings.Contains(stderr, "correct spec.scaleTargetRef") || took > long {
		t.Errorf("after %s: %v: %s", took, err, stderr)
	}
	if hpa, o := w.objects("web"); hpa == nil || o != nil {
		t.Errorf("written: %+v, %+v", hpa, o)
	}
}
