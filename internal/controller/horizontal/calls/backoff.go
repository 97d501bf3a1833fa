package calls

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// firstBackoff is the pause after the first failure.
const firstBackoff = time.Second

// Backoff says when a call that failed is tried again.
type Backoff struct {
	steps wait.Backoff
	until time.Time
}

// Note takes in how the call went. The pause after a failure doubles up to longest.
func (b *Backoff) Note(err error, longest time.Duration) {
	if err == nil {
		*b = Backoff{}
		return
	}
	if b.until.IsZero() {
		// A quarter is for jitter, which comes on top.
		b.steps = wait.Backoff{Duration: firstBackoff, Factor: 2, Jitter: 0.25, Steps: 32, Cap: longest * 4 / 5}
	}
	b.until = time.Now().Add(b.steps.Step())
}

// Until is the end of the pause; zero after a success.
func (b *Backoff) Until() time.Time { return b.until }

// IsActive reports whether the pause lasts.
func (b *Backoff) IsActive() bool { return time.Now().Before(b.until) }
