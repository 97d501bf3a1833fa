package checkpoints

import (
	"fmt"
	"hash/fnv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// NameOf returns the name of an autoscaler's checkpoint: hpa-NAME or wla-NAME, with a hash instead of the end of a name
// that is too long.
func NameOf(key observe.Key) types.NamespacedName {
	name := "hpa-" + key.Name
	if key.Kind == observe.WorkloadAutoscaler {
		name = "wla-" + key.Name
	}
	if len(name) > validation.DNS1123SubdomainMaxLength {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name)) // it never fails
		hash := fmt.Sprintf("-%016x", h.Sum64())
		// A part of a name ends in a letter or a digit.
		name = strings.TrimRight(name[:validation.DNS1123SubdomainMaxLength-len(hash)], "-.") + hash
	}
	return types.NamespacedName{Namespace: key.Namespace, Name: name}
}
