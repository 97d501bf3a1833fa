package horizontal

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// newKeeper returns the keeper of checkpoints, or nil without checkpoints.
func (r *reconciler) newKeeper(cfg *Config) (*checkpoints.Keeper, error) {
	if cfg.Checkpoints == nil {
		return nil, nil
	}
	var filled <-chan struct{}
	if cfg.WorkloadAutoscalers != nil {
		filled = cfg.WorkloadAutoscalers.Settled()
	}
	return checkpoints.New(&checkpoints.Config{
		Filled: filled,
		Client: cfg.Checkpoints, Encode: r.encode, MayFlush: cfg.MayWriteAtEnd, Registerer: cfg.Registerer, Log: cfg.Log,
		IsKnown: func(key observe.Key, uid types.UID) bool {
			found, err := r.observer.get(key)
			return err == nil && found.UID == uid
		},
	})
}

// restore merges an object's checkpoint into its history and forecast, once the keeper has read it. Only the object's
// worker calls it. No decision waits for it.
func (r *reconciler) restore(autoscaler observehorizontal.Autoscaler, record *hpaRecord) {
	if r.keeper == nil || record.isRestored.Load() {
		return
	}
	saved, isFound, isFinal := r.keeper.Take(autoscaler.Key(), autoscaler.UID)
	if isFound {
		err := errors.Join(record.mergeHistory(saved.History), record.mergeForecast(saved.Forecast))
		if err != nil {
			r.keeper.Damaged(autoscaler.Key(), err)
		}
	}
	record.isRestored.Store(isFinal)
}

func (r *hpaRecord) mergeHistory(encoded []byte) error {
	if len(encoded) == 0 {
		return nil
	}
	if err := r.loads.Merge(encoded); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// mergeForecast replaces the forecast by the saved one, unless this process has learnt more since its start.
func (r *hpaRecord) mergeForecast(encoded []byte) error {
	if len(encoded) == 0 {
		return nil
	}
	learnt, err := checkpoints.MoreLearnt(encoded, r.state.Forecast)
	if err != nil {
		return fmt.Errorf("forecast: %w", err)
	}
	r.state.Forecast = learnt
	return nil
}

// encode returns the data to save of an object. It returns none if another controller acts on the object, or if
// decisions are only compared with those of another controller: that one may be another Plimsoll, which saves its own.
// It returns none either if nothing is new since the checkpoint was read.
func (r *reconciler) encode(key observe.Key, uid types.UID) (checkpoints.Data, error) {
	record := r.records.find(key)
	if record == nil || r.hpas.Compares(key.Kind) {
		return checkpoints.Data{}, nil
	}
	if !r.queue.Hold(key) {
		return checkpoints.Data{}, checkpoints.ErrBusy
	}
	defer r.queue.Release(key)
	if record.uid != uid || !record.loads.HasNew() || record.contest.IsPaused() || r.contests.Why(&record.contest) != "" {
		return checkpoints.Data{}, nil
	}
	var data checkpoints.Data
	var err error
	if data.History, err = record.loads.Encode(); err != nil {
		return data, fmt.Errorf("encoding the history: %w", err)
	}
	if record.state.Forecast == nil {
		return data, nil
	}
	if data.Forecast, err = record.state.Forecast.AppendBinary(nil); err != nil {
		return data, fmt.Errorf("encoding the forecast: %w", err)
	}
	return data, nil
}
