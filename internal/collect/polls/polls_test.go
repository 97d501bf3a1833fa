package polls

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestSeries: the types of metrics share the series, and each of theirs is there from the begin.
func TestSeries(t *testing.T) {
	registry := prometheus.NewRegistry()
	one, err := New(registry, "Prometheus")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(registry, "ExternalScaler"); err != nil {
		t.Fatal(err)
	}
	one.Polled(3*time.Millisecond, Success)
	one.Polled(3*time.Second, Failure)
	var c Counts
	c.Add(nil)
	c.Add(nil)
	c.Add(errors.New("down"))
	one.Metrics(c)
	const want = `
# HELP plimsoll_metric_server_metrics Metrics of objects that are read from these servers. The label 'state' is 'answered', or 'failing' if the metric cannot be read.
# TYPE plimsoll_metric_server_metrics gauge
plimsoll_metric_server_metrics{metric_type="ExternalScaler",state="answered"} 0
plimsoll_metric_server_metrics{metric_type="ExternalScaler",state="failing"} 0
plimsoll_metric_server_metrics{metric_type="Prometheus",state="answered"} 2
plimsoll_metric_server_metrics{metric_type="Prometheus",state="failing"} 1
# HELP plimsoll_metric_server_polls_total Polls of servers for Prometheus and ExternalScaler metrics. The label 'result' is 'success', 'empty' if the result of a query is empty, NaN or infinite, or 'failure'.
# TYPE plimsoll_metric_server_polls_total counter
plimsoll_metric_server_polls_total{metric_type="ExternalScaler",result="empty"} 0
plimsoll_metric_server_polls_total{metric_type="ExternalScaler",result="failure"} 0
plimsoll_metric_server_polls_total{metric_type="ExternalScaler",result="success"} 0
plimsoll_metric_server_polls_total{metric_type="Prometheus",result="empty"} 0
plimsoll_metric_server_polls_total{metric_type="Prometheus",result="failure"} 1
plimsoll_metric_server_polls_total{metric_type="Prometheus",result="success"} 1
`
	names := []string{"plimsoll_metric_server_metrics", "plimsoll_metric_server_polls_total"}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "plimsoll_metric_server_poll_duration_seconds"); err != nil || n != 2 {
		t.Errorf("%d series, %v", n, err)
	}
}
