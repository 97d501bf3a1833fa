package promquery

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestSeries: a poll counts once, whatever the number of objects; metrics of objects count by their results.
func TestSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, registry := newNetwork(t), prometheus.NewRegistry()
		n.serve("prometheus:9090", answerWith("42"))
		n.serve("empty:9090", answerWith("NaN"))
		n.serve("broken:9090", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
		s, end := n.run(Config{Registerer: registry})
		look := func() {
			for i := range 3 {
				s.look(object("team-a", i), spec("prometheus:9090", "up"))
			}
			isZero := spec("empty:9090", "up")
			isZero.IsNullZero = true
			s.look(object("team-a", 3), isZero)
			s.look(object("team-a", 4), spec("empty:9090", "up"))
			s.look(object("team-a", 5), spec("broken:9090", "up"))
		}
		look()
		sleep(9 * time.Second)
		want := func(answered, failing string) string {
			return `
# HELP plimsoll_metric_server_metrics Metrics of objects that are read from these servers. The label 'state' is 'answered', or 'failing' if the metric cannot be read.
# TYPE plimsoll_metric_server_metrics gauge
plimsoll_metric_server_metrics{metric_type="Prometheus",state="answered"} ` + answered + `
plimsoll_metric_server_metrics{metric_type="Prometheus",state="failing"} ` + failing + `
# HELP plimsoll_metric_server_polls_total Polls of servers for Prometheus and ExternalScaler metrics. The label 'result' is 'success', 'empty' if the result of a query is empty, NaN or infinite, or 'failure'.
# TYPE plimsoll_metric_server_polls_total counter
plimsoll_metric_server_polls_total{metric_type="Prometheus",result="empty"} 2
plimsoll_metric_server_polls_total{metric_type="Prometheus",result="failure"} 2
plimsoll_metric_server_polls_total{metric_type="Prometheus",result="success"} 2
`
		}
		names := []string{"plimsoll_metric_server_metrics", "plimsoll_metric_server_polls_total"}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want("4", "2")), names...); err != nil {
			t.Error(err)
		}
		end()
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want("0", "0")), names...); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
}
