package checkpoints

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

// AskedPast is what was asked about an autoscaler's time before it was decided here. Its zero value has asked nothing.
type AskedPast struct {
	isAsked, isOff bool
	// identity is that of the forecast's settings. With other metrics or another target, what was asked was of something
	// else.
	identity uint64
	// IsOver says that nothing more will come.
	IsOver bool
}

// Begin reports whether nothing was asked for such settings yet, and notes that it is now.
func (a *AskedPast) Begin(settings *forecast.Settings) (isNew bool) {
	now := AskedPast{isAsked: true, isOff: settings.Mode == forecast.Off, identity: settings.Identity, IsOver: a.IsOver}
	if *a == now {
		return false
	}
	now.IsOver = false
	*a = now
	return true
}

// LacksPast reports whether less is known of an autoscaler than a forecast needs: what is learnt, which may be nil, or
// without a forecast the history, which begins at since; that is zero if it is empty.
func LacksPast(learnt *forecast.State, settings *forecast.Settings, since, now time.Time) bool {
	if settings.Mode != forecast.Off {
		return learnt.IsLearning(settings)
	}
	return since.IsZero() || now.Sub(since) < forecast.Needed
}
