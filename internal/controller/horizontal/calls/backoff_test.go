package calls

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestBackoff: it doubles up to the longest pause, and a success ends it.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const period = 15 * time.Second
		var b Backoff
		for _, seconds := range []float64{1, 2, 4, 8, 12, 12, 12} {
			b.Note(errors.New("refused"), period)
			if got := time.Until(b.until).Seconds(); got < seconds || got > seconds*5/4 {
				t.Errorf("a pause of %v s, want %v s and up to a quarter more", got, seconds)
			}
		}
		b.Note(nil, period)
		if !b.until.IsZero() {
			t.Error("a success does not end it")
		}
		b.Note(errors.New("refused"), period)
		if got := time.Until(b.until); got > 2*time.Second {
			t.Errorf("after a success it begins with %s", got)
		}
	})
}
