package kubelet

import (
	"net/http"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
)

// Reading is what is known of an answer beside its text.
type Reading struct {
	// CPU is what reading it cost: deciphering and decompressing. Asking, and shaking hands where there is no connection
	// yet, does not count.
	CPU      time.Duration
	Exchange rate.Exchange
}

// ExchangeOf is that of a request and its answer, which has just begun to arrive.
func ExchangeOf(sent time.Time, answer *http.Response) rate.Exchange {
	e := rate.Exchange{Sent: sent, Received: time.Now()}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		e.Date = date
	}
	return e
}
