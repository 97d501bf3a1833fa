package sources

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// Answer is what is known of a metric that one server has for the whole object.
type Answer struct {
	// Series are the values of the metric's series, in the metric's own unit.
	Series []float64
	// TargetMilli is the target that the server gave, in thousandths; 0 if it gave none.
	TargetMilli int64
	// Activity is whether the server says that there is work. It may be known although Err is set.
	Activity metric.Activity
	// At is when the values were measured; Asked is when the server was asked for them.
	At, Asked time.Time
	// Err is why there are no values. The values of an earlier answer are not kept beside it.
	Err error
	// IsPending is set as long as the server has had no time to answer for the first time.
	IsPending bool
}
