package updater

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// states has the state of each object between passes, by UID. It needs no lock: one pass runs at a time.
type states struct {
	states map[types.UID]update.State
	names  map[types.UID]types.NamespacedName
}

func newStates() *states {
	return &states{states: map[types.UID]update.State{}, names: map[types.UID]types.NamespacedName{}}
}

// of returns the zero State for an object that no pass has decided.
func (s *states) of(object types.UID) update.State { return s.states[object] }

func (s *states) has(object types.UID) bool {
	_, ok := s.names[object]
	return ok
}

func (s *states) set(vpa *vpav1.VerticalPodAutoscaler, state update.State) {
	s.states[vpa.UID] = state
	s.names[vpa.UID] = types.NamespacedName{Namespace: vpa.Namespace, Name: vpa.Name}
}

// prune drops deleted objects, and returns the names that no object has any more. It keeps the states of objects whose
// lookup failed in this pass.
func (s *states) prune(objects cache.Store) (gone []types.NamespacedName) {
	for uid, name := range s.names {
		object, exists, err := objects.GetByKey(name.String())
		vpa, ok := object.(*vpav1.VerticalPodAutoscaler)
		if err != nil || exists && ok && vpa.UID == uid {
			continue
		}
		delete(s.states, uid)
		delete(s.names, uid)
		if !exists {
			gone = append(gone, name)
		}
	}
	return gone
}
