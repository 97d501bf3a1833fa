package vertical

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/controller/inspect"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

var _ inspect.VerticalSource = (*Loop)(nil)

// UpdaterState implements inspect.VerticalSource: it returns the updater's inputs for the object, and its state if one
// of its passes has included it.
func (l *Loop) UpdaterState(object types.NamespacedName) *snapshotvertical.Snapshot {
	running := l.updater.Load()
	if running == nil {
		return nil
	}
	recommends, updates := &l.cfg.Recommender, l.cfg.Updater
	settings := snapshotvertical.Settings{
		Recommender: observevertical.RecommendFlags{
			Policy: recommends.Policy, NoOverrides: recommends.NoOverrides, IntegerCPU: recommends.IntegerCPU,
		},
		Updater: updates.Defaults, Gates: updates.Gates, KnowsGates: true,
	}
	differs := l.cfg.Conflict.Divergences(l.cfg.Divergences)
	s := &snapshotvertical.Snapshot{Flags: settings.Flags(), Updater: running.UpdaterState(object)}
	s.Annotations = map[string]string{snapshot.DivergencesAnnotation: differs.String()}
	return s
}
