package vertical

import (
	"cmp"
	"strings"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// Annotations of the admission controller's Lease: what it never looks at, as the
// updater must not evict what nobody would change.
const (
	// AnnotationIgnoredNamespaces are the namespaces whose pods it leaves alone, with
	// commas between.
	AnnotationIgnoredNamespaces = "plimsoll.dev/ignored-namespaces"
	// AnnotationOnlyNamespace is the one namespace whose pods it looks at; all without it.
	AnnotationOnlyNamespace = "plimsoll.dev/only-namespace"
)

// Stronger is which VPA counts where several name one workload: the oldest of those that
// apply to new pods. found is the one that counts among those before next, or nil.
func Stronger(found, next *vpav1.VerticalPodAutoscaler) *vpav1.VerticalPodAutoscaler {
	if !appliesToNewPods(next) || found != nil && Older(found, next) <= 0 {
		return found
	}
	return next
}

func appliesToNewPods(vpa *vpav1.VerticalPodAutoscaler) bool {
	return ModeOf(&vpa.Spec) != vertical.ModeOff || HasBoost(&vpa.Spec)
}

// Older is upstream's order of objects for one workload: negative where a was
// created before b, or at the same time and its name comes first.
func Older(a, b *vpav1.VerticalPodAutoscaler) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}
