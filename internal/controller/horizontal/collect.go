package horizontal

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/ask"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// MetricsSource answers for the three metrics APIs.
type MetricsSource = ask.Source

// answer is what is known to one metric.
type answer struct {
	// usage stands for an answer where nobody had to be asked.
	usage observe.PodUsage
	ask.Answer
	// asked is when it was asked for; zero where nobody was.
	asked time.Time
	took  time.Duration
}

// collection is the questions of one object, and the answers.
type collection struct {
	questions ask.Questions
	// answers belong to the metrics; those of known need not be asked for.
	answers []answer
	known   []bool
}

func newCollection(source MetricsSource, p *pass) *collection {
	n := len(p.policy.Metrics)
	return &collection{
		questions: ask.Questions{Source: source, HPA: p.hpa, Policy: &p.policy, Selector: p.target.Scale.Status.Selector},
		answers:   make([]answer, n), known: make([]bool, n),
	}
}

// isComplete says that there is nothing to ask.
func (q *collection) isComplete() bool { return !slices.Contains(q.known, false) }

// lacksResource says that there is a resource metric to ask for.
func (q *collection) lacksResource() bool {
	for i, known := range q.known {
		if !known && isResource(q.questions.Policy.Metrics[i].Type) {
			return true
		}
	}
	return false
}

// askAll asks for what is not known, side by side. The caller holds no worker
// meanwhile, so that an API that hangs keeps none.
func (q *collection) askAll(ctx context.Context) {
	var asking sync.WaitGroup
	for i := range q.answers {
		if q.known[i] {
			continue
		}
		asking.Go(func() {
			start := time.Now()
			q.answers[i].Answer, q.answers[i].asked = q.questions.Ask(ctx, i)
			q.answers[i].took = time.Since(start)
		})
	}
	asking.Wait()
}

func read(translate *observe.Answers, i int, kind metric.Type, a *answer) metric.Reading {
	if a.usage != nil {
		return translate.Measured(i, a.usage)
	}
	reading := a.Reading(translate, i, kind)
	reading.Asked = a.asked
	return reading
}
