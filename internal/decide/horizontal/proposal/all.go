package proposal

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// Sources has the inputs of all proposals of one decision.
type Sources struct {
	// Metrics belong to Specs, index for index.
	Specs     []source.Spec
	Metrics   []metric.Result
	Surge     *surge.Result
	Fallbacks []fallback.Active
	Schedules []schedules.InForce
	// IsIdle is set if the metrics that have values without pods propose no replicas.
	IsIdle bool
	// Forecast is the forecast, and Ahead the count to which it raised another one.
	Forecast     *forecast.Result
	ForecastMode forecast.Mode
	Ahead        int32
}

// Append appends the proposal of each source, as status shows them: of every metric that could be computed, of the
// surge window, of every active fallback, of every schedule with a min and of the forecast. Their MayLower is not set.
func (s *Sources) Append(dst []Proposal) []Proposal {
	for i := range s.Metrics {
		if r := &s.Metrics[i]; r.Failure == nil && !r.Pending {
			p := Proposal{Source: Metric, Index: i, Replicas: r.Replicas}
			if s.IsIdle && s.Specs[i].HasValueWithoutPods() {
				p.Replicas = 0
			}
			dst = append(dst, p)
		}
	}
	if s.Surge.Proposes() {
		dst = append(dst, Proposal{Source: Surge, Index: s.Surge.Metric, Replicas: s.Surge.Replicas})
	}
	for _, f := range s.Fallbacks {
		dst = append(dst, Proposal{Source: Fallback, Index: f.Metric, Replicas: f.Replicas})
	}
	for i := range s.Schedules {
		if least := s.Schedules[i].MinReplicas; least > 0 {
			dst = append(dst, Proposal{Source: Schedule, Index: i, Replicas: least})
		}
	}
	if ahead := max(s.Forecast.Replicas, s.Ahead); ahead > 0 && s.ForecastMode == forecast.Active {
		dst = append(dst, Proposal{Source: Forecast, Replicas: ahead})
	}
	return dst
}
