package horizontal

import (
	"errors"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/query"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// MetricsSource answers for the three metrics APIs.
type MetricsSource = query.Source

// answer is what is known to one metric.
type answer struct {
	// usage stands for an answer where nobody had to be asked.
	usage observehorizontal.PodUsage
	observehorizontal.Response
	// asked is when it was asked for; zero where nobody was.
	asked time.Time
	// took is how long it took, with any waiting.
	took time.Duration
}

// collection is what is known to the metrics of one object.
type collection struct {
	// answers belong to the metrics. Those that are not known are pending: asked for, and
	// not there yet.
	answers        []answer
	known, pending []bool
}

func newCollection(metrics int) *collection {
	return &collection{answers: make([]answer, metrics), known: make([]bool, metrics), pending: make([]bool, metrics)}
}

// isComplete says that there is nothing to ask.
func (q *collection) isComplete() bool { return !slices.Contains(q.known, false) }

func read(translate *observehorizontal.Answers, i int, a *answer) metric.Reading {
	if a.usage != nil {
		return translate.Measured(i, a.usage)
	}
	if errors.Is(a.Err, errAwaited) {
		return metric.Reading{Pending: true}
	}
	reading := translate.Reading(i, &a.Response)
	reading.Asked = a.asked
	return reading
}
