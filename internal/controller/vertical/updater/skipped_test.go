package updater

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// Pods whose node has refused are counted in every pass, although no pod of the workload is changed. The pass in which
// the node refuses does not count as a skip, and has the one event.
func TestSkippedPodsAreCountedInEveryPass(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Gates.InPlace, c.Defaults.Divergences = true, allAtOnce&^divergence.ResizeChecks
	}, "web")
	r.object("web").Spec.UpdatePolicy.UpdateMode = ptr.To(vpav1.UpdateModeInPlace)
	refused := 0
	r.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		refused++
		err := apierrors.NewForbidden(corev1.Resource("pods"), "web", nil)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NodeCapacity"}}
		return true, nil, err
	})
	for pass, want := range []float64{0, 2, 4} {
		r.passOnce()
		if got := testutil.ToFloat64(r.passes.metrics.infeasible.WithLabelValues("1", "web", namespace)); got != want {
			t.Errorf("pass %d: %g pods were skipped until then, want %g", pass, got, want)
		}
	}
	if refused != 2 {
		t.Errorf("%d resizes were refused, want one of each pod", refused)
	}
	close(r.events.Events)
	events := 0
	for event := range r.events.Events {
		if strings.Contains(event, eventResizeSkipped) {
			events++
		}
	}
	if events != 2 {
		t.Errorf("%d events, want one of each pod", events)
	}
}
