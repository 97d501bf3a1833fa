package externalscaler

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// TestSeries: polls and metrics are counted, also those of absent scalers.
func TestSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, registry := newNetwork(), prometheus.NewRegistry()
		n.serve(t, "team-a/scaler", queue())
		s, _, end := run(t, Config{Dial: n.dial, Registerer: registry})
		missing := spec()
		missing.Address = "missing:6000"
		s.Set(worker, []sources.Spec{{ExternalScaler: spec()}, {ExternalScaler: missing}})
		settle(11 * time.Second)
		want := func(answered, failing string) string {
			return `
# HELP plimsoll_metric_server_metrics Metrics of objects that are read from these servers. The label 'state' is 'answered', or 'failing' if the metric cannot be read.
# TYPE plimsoll_metric_server_metrics gauge
plimsoll_metric_server_metrics{metric_type="ExternalScaler",state="answered"} ` + answered + `
plimsoll_metric_server_metrics{metric_type="ExternalScaler",state="failing"} ` + failing + `
# HELP plimsoll_metric_server_polls_total Polls of servers for Prometheus and ExternalScaler metrics. The label 'result' is 'success', 'empty' if the result of a query is empty, NaN or infinite, or 'failure'.
# TYPE plimsoll_metric_server_polls_total counter
plimsoll_metric_server_polls_total{metric_type="ExternalScaler",result="empty"} 0
plimsoll_metric_server_polls_total{metric_type="ExternalScaler",result="failure"} 3
plimsoll_metric_server_polls_total{metric_type="ExternalScaler",result="success"} 3
`
		}
		names := []string{"plimsoll_metric_server_metrics", "plimsoll_metric_server_polls_total"}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want("1", "1")), names...); err != nil {
			t.Error(err)
		}
		end()
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want("0", "0")), names...); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
}
