package sources

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// Answer is the latest result for a metric that one server has for the whole object.
type Answer struct {
	// Series are the values of the metric's series, in the metric's own unit.
	Series []float64
	// IsLeast is true if Series is only the least that the value can be. Incomplete says why; it is empty if the rest will
	// be known within seconds.
	IsLeast    bool
	Incomplete string
	// TargetMilli is the server's target, in thousandths; 0 if it has none.
	TargetMilli int64
	// Activity is the server's report whether there is work. It may be known although Err is set.
	Activity metric.Activity
	// At is the time of the values; Asked is the time of the request.
	At, Asked time.Time
	// Err is the error in place of values. The values of an earlier answer are not kept beside it.
	Err error
	// IsPending is true until the first response, or its timeout.
	IsPending bool
}
