package process

import (
	"net/http"
	"sync/atomic"
	"time"
)

// ServerClock measures how far the API server's clock is ahead of the local one: the API server verifies the
// certificates that are made here.
type ServerClock struct{ ahead atomic.Int64 }

// Offset returns the difference; zero before it is known. The header is exact to half a second.
func (c *ServerClock) Offset() time.Duration { return time.Duration(c.ahead.Load()) }

// Wrap reads the Date of each answer.
func (c *ServerClock) Wrap(next http.RoundTripper) http.RoundTripper {
	return dated{next: next, clock: c}
}

type dated struct {
	next  http.RoundTripper
	clock *ServerClock
}

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(r)
	if err == nil {
		if date, problem := http.ParseTime(response.Header.Get("Date")); problem == nil {
			d.clock.ahead.Store(int64(time.Until(date)))
		}
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (d dated) WrappedRoundTripper() http.RoundTripper { return d.next }
