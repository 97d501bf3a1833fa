package summary

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// TestElsewhere: without the controller, a metric that only it reads has no value; the status has what it last came to.
func TestElsewhere(t *testing.T) {
	rate := averageOf(source.PodEndpoint, "requests_total")
	rate.GivenName, rate.IsRate = "requests", true
	const down = `metric "requests": unable to get pod endpoint metric requests_total: unable to fetch metrics from the ` +
		"pods: none of 2 pods that are ready has a sample: it answered 404 Not Found"
	of := func(failure string, desired int32, queue bool) Input {
		p := upTo(10, rate)
		o := horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 2}, Pods: readyPods(2), Readings: []metric.Reading{{Pending: true}},
		}
		if queue {
			p.Metrics = append(p.Metrics, averageOf(source.External, "queue"))
			o.Readings = append(o.Readings, metric.Reading{Series: []int64{2000}})
		}
		in := played(&p, []int{0}, o)
		in.State, in.IsHistoryUnknown = nil, true
		in.Elsewhere, in.ShownDesired = map[int]string{0: failure}, desired
		return in
	}
	checkSentences(t, map[string]Input{
		"Stays at 2: requests cannot be read by the controller (none of 2 pods that are ready has a sample: it " +
			"answered 404 Not Found).": of(down, 2, false),
		"Cannot be decided here, because only the controller reads requests; the target has 2 replicas, and the " +
			"controller wants 4 (from the object's status).": of("", 4, false),
		"Cannot be decided here, because only the controller reads requests; the target has 2 replicas.": of("", 0, false),
		"Stays at 2: queue is at 100 % of its target; requests cannot be read.":                          of(down, 2, true),
		"Stays at 2: queue is at 100 % of its target; only the controller reads requests.":               of("", 2, true),
	})
}

// TestShownForecast: a sentence made without the forecast's own state has what the status says of it.
func TestShownForecast(t *testing.T) {
	p := upTo(10, averageOf(source.External, "queue"))
	p.Forecast.Mode = forecast.Active
	of := func(r metric.Reading, isUnknown bool, shown int32) Input {
		in := played(&p, []int{0}, horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 4}, Readings: []metric.Reading{r},
		})
		in.IsHistoryUnknown, in.ShownForecast = isUnknown, shown
		return in
	}
	down, value := metric.Reading{Error: "down"}, metric.Reading{Series: []int64{4000}}
	checkSentences(t, map[string]Input{
		"Stays at 4: queue cannot be read (external metrics API: down); the forecast asks for 6 (from the object's " +
			"status), which counts once the load is known.": of(down, false, 6),
		"Stays at 4: queue is at 100 % of its target; the forecast asks for 6 (from the object's status).": of(value, true, 6),
		"Stays at 4: queue is at 100 % of its target.":                                                     of(value, true, 4),
	})
	if got := Of(of(value, false, 6)).Text; got != "Stays at 4: queue is at 100 % of its target." {
		t.Errorf("with a known forecast that asks for nothing: %s", got)
	}
	want := "Comes to 4 to 6 replicas, depending on earlier decisions, which are not known here: queue is at 100 % of " +
		"its target; the forecast asks for 6 (from the object's status)."
	if got := Between(of(value, true, 6), 4, 6); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
