package horizontal

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

func sourceText(proposed proposal.Proposal) string {
	switch proposed.Source {
	case proposal.Schedule:
		return "the schedules in force alone"
	case proposal.Surge:
		return fmt.Sprintf("metric %d in the surge window", proposed.Index+1)
	case proposal.Fallback:
		return fmt.Sprintf("the fallback of metric %d", proposed.Index+1)
	case proposal.Forecast:
		return "the forecast"
	default:
		return fmt.Sprintf("metric %d", proposed.Index+1)
	}
}

func metricVerdict(v metric.Verdict) string {
	switch v {
	case metric.Scaled:
		return "scaled by the usage ratio"
	case metric.DirectionKept:
		return "unchanged: counting all pods would reverse the direction"
	case metric.NothingReady:
		return "unchanged: no pod is ready"
	default:
		return v.String()
	}
}

func surgeVerdict(v surge.Verdict) string {
	switch v {
	case surge.TooFewPods:
		return "in too few pods"
	case surge.NotHigher:
		return "proposed no more than without the surge window"
	case surge.Unhelped:
		return "ignored: the last scale-up did not reduce the load per pod"
	case surge.Doubted:
		return "ignored: the last surges were not confirmed"
	case surge.Asking:
		return "proposed more"
	default:
		return v.String()
	}
}
