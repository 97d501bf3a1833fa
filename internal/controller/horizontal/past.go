package horizontal

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Past reads the load from before this process first decided an object. Only the wait function that Start returns
// blocks.
type Past interface {
	// Ask starts reading the past of an object with this policy and these pods. It returns false if there is no way to
	// read it.
	Ask(of observehorizontal.Autoscaler, policy *horizontal.Policy, pods []*observe.Pod, startUp time.Duration) bool
	// Take returns the data read so far, once; isOver is set if nothing more will come.
	Take(key observe.Key, uid types.UID) (data checkpoints.Data, isOver bool)
	// Forget drops an object.
	Forget(key observe.Key)
	// Start reads until ctx ends; wait blocks until the last read has ended.
	Start(ctx context.Context) (wait func())
}

// fillPast starts the backfill of an object's history once its checkpoint was read, and merges the result. Only the
// object's worker calls it. It never blocks a decision.
func (r *reconciler) fillPast(p *pass) {
	record, settings := p.record, &p.policy.Forecast
	if r.past == nil || r.keeper != nil && !record.isRestored.Load() {
		return
	}
	asked := &record.past
	if asked.Begin(settings) {
		since, _ := record.loads.Since()
		asked.IsOver = !checkpoints.LacksPast(record.state.Forecast, settings, since, p.start) ||
			!r.past.Ask(p.autoscaler, &p.policy, p.pods, p.observation.StartUp)
		return
	}
	if asked.IsOver {
		return
	}
	data, isOver := r.past.Take(p.autoscaler.Key(), p.autoscaler.UID)
	asked.IsOver = isOver
	if err := errors.Join(record.mergeHistory(data.History), record.mergeForecast(data.Forecast)); err != nil {
		r.log.Error(err, "history from before the start is not used", "object", p.autoscaler.Key().String())
	}
}
