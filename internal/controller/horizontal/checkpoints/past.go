package checkpoints

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

// AskedPast is the state of the backfill of an autoscaler. Its zero value has not begun.
type AskedPast struct {
	isAsked, isOff bool
	// identity is that of the forecast's settings. With other metrics or another target the earlier backfill was of
	// another load.
	identity uint64
	// IsOver is set once nothing more will come.
	IsOver bool
}

// Begin reports whether a backfill with these settings is new, and records that it has begun.
func (a *AskedPast) Begin(settings *forecast.Settings) (isNew bool) {
	now := AskedPast{isAsked: true, isOff: settings.Mode == forecast.Off, identity: settings.Identity, IsOver: a.IsOver}
	if *a == now {
		return false
	}
	now.IsOver = false
	*a = now
	return true
}

// LacksPast reports whether the process has less than a forecast needs: of learnt, which may be nil, or, without a
// forecast, of the history. since is when that begins; the zero time if it is empty.
func LacksPast(learnt *forecast.State, settings *forecast.Settings, since, now time.Time) bool {
	if settings.Mode != forecast.Off {
		return learnt.IsLearning(settings)
	}
	return since.IsZero() || now.Sub(since) < forecast.Needed
}
