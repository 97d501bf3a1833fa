package vertical

import (
	"cmp"
	"strings"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// Annotations of the admission controller's Lease: the pods that it ignores. The updater must not evict them, because
// they would come back unchanged.
const (
	// AnnotationIgnoredNamespaces lists the namespaces whose pods it leaves alone, separated by commas.
	AnnotationIgnoredNamespaces = "plimsoll.dev/ignored-namespaces"
	// AnnotationOnlyNamespace is the one namespace whose pods it changes; empty for all.
	AnnotationOnlyNamespace = "plimsoll.dev/only-namespace"
)

// ControllingVPA returns the VPA that applies if several name one workload: the oldest of those that change new pods
// (upstream: GetControllingVPAForPod). found is the result for those before next, or nil.
func ControllingVPA(found, next *vpav1.VerticalPodAutoscaler) *vpav1.VerticalPodAutoscaler {
	if !appliesToNewPods(next) || found != nil && Older(found, next) <= 0 {
		return found
	}
	return next
}

func appliesToNewPods(vpa *vpav1.VerticalPodAutoscaler) bool {
	return ModeOf(&vpa.Spec) != vertical.ModeOff || HasBoost(&vpa.Spec)
}

// Older is upstream's order of objects for one workload: negative if a was created before b, or at the same time and
// its name comes first.
func Older(a, b *vpav1.VerticalPodAutoscaler) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}
