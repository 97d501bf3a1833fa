package updater

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
)

// A setting without effect is reported in the object's status and in one event, also while the Lease is not renewed,
// until the feature is available.
func TestFeaturesThatAreOff(t *testing.T) {
	canResize := false
	r := newRig(t, func(c *Config) {
		c.Resizes = func() bool { return canResize }
		c.Lease.Name = "nobody"
	}, "old", "new")
	object := func(name string) *vpav1.VerticalPodAutoscaler {
		found, _, err := r.cfg.Autoscalers.GetStore().GetByKey(namespace + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return found.(*vpav1.VerticalPodAutoscaler)
	}
	object("old").Spec.UpdatePolicy.UpdateMode = ptr.To(vpav1.UpdateModeInPlaceOrRecreate)
	object("new").Spec.UpdatePolicy.UpdateMode = ptr.To(vpav1.UpdateModeInPlace)
	reason := func(name string) string {
		for _, c := range object(name).Status.Conditions {
			if c.Type == report.FeatureType {
				return c.Reason
			}
		}
		return ""
	}
	for range 3 {
		r.passOnce()
	}
	if old, young := reason("old"), reason("new"); old != report.PodsResize || young != report.InPlace {
		t.Errorf("%q and %q", old, young)
	}
	events := 0
	for len(r.events.Events) > 0 {
		if event := <-r.events.Events; strings.HasPrefix(event, "Warning FeatureOff ") {
			events++
		}
	}
	if events != 2 {
		t.Errorf("%d events, want one for each object", events)
	}
	canResize, r.passes.features.gates.InPlace = true, true
	r.passOnce()
	if old, young := reason("old"), reason("new"); old != "" || young != "" {
		t.Errorf("all is there, and still %q and %q", old, young)
	}
}
