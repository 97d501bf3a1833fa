package recommender

import (
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
)

// guard keeps a defect to one object.
type guard struct {
	log logr.Logger
	// panicked counts it.
	panicked func()
}

// do does something about one object; what goes wrong with it is no reason to
// leave the others alone.
func (g guard) do(about types.NamespacedName, do func()) {
	defer func() {
		if cause := recover(); cause != nil {
			g.panicked()
			g.log.Error(fmt.Errorf("%v", cause), "an object could not be decided", "object", about.String(),
				"stack", string(debug.Stack()))
		}
	}()
	do()
}
