package main

import (
	"net/http"
	"sync/atomic"
	"time"
)

// serverClock knows how far the API server's clock is ahead of the one here: the API
// server judges the certificates that are made here.
type serverClock struct{ ahead atomic.Int64 }

// offset is how far; zero as long as nothing is known. Half a second is what the header
// cannot tell.
func (c *serverClock) offset() time.Duration { return time.Duration(c.ahead.Load()) }

// wrap looks at the Date of each answer.
func (c *serverClock) wrap(next http.RoundTripper) http.RoundTripper {
	return dated{next: next, clock: c}
}

type dated struct {
	next  http.RoundTripper
	clock *serverClock
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

// WrappedRoundTripper lets client-go find what it wraps.
func (d dated) WrappedRoundTripper() http.RoundTripper { return d.next }
