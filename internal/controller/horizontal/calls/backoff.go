package calls

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// firstBackoff is the pause after the first failure.
const firstBackoff = time.Second

// Backoff is the pause after failed calls.
type Backoff struct {
	steps wait.Backoff
	until time.Time
}

// Note records the result of a call. The pause after a failure doubles up to longest.
func (b *Backoff) Note(err error, longest time.Duration) {
	if err == nil {
		*b = Backoff{}
		return
	}
	if b.until.IsZero() {
		// The jitter adds up to a quarter.
		b.steps = wait.Backoff{Duration: firstBackoff, Factor: 2, Jitter: 0.25, Steps: 32, Cap: longest * 4 / 5}
	}
	b.until = time.Now().Add(b.steps.Step())
}

// Until returns the end of the pause; the zero time after a success.
func (b *Backoff) Until() time.Time { return b.until }

// IsActive reports whether the pause has not ended.
func (b *Backoff) IsActive() bool { return time.Now().Before(b.until) }
