//go:build prometheus

package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/scaler"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/world"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

const monitoring = "../../../../config/monitoring/"

var shared harness.Shared

func TestMain(m *testing.M) { shared.Main(m) }

// TestAlerts: promtool accepts the rules, and each is raised where it should be.
func TestAlerts(t *testing.T) {
	promtool(t, "check", "rules", monitoring+"alerts.yaml")
	promtool(t, "test", "rules", monitoring+"alerts_test.yaml")
}

// isOfOthers matches series of cAdvisor and of kube-state-metrics, which are not served here.
var isOfOthers = regexp.MustCompile(`\b(container_|kube_pod_)`)

// queries are those of the dashboard's panels of Plimsoll's own series, with Grafana's variables filled in.
func queries(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(monitoring + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, p := range dashboard.Panels {
		for i, target := range p.Targets {
			if isOfOthers.MatchString(target.Expr) {
				continue
			}
			expr := strings.NewReplacer("$namespace", ".*", "$__rate_interval", "1m").Replace(target.Expr)
			found[fmt.Sprintf("%s, query %d", p.Title, i+1)] = expr
		}
	}
	return found
}

// ownMetrics are metrics that Plimsoll reads itself: of the pods, of the Prometheus server that scrapes Plimsoll, and of a scaler.
const ownMetrics = `{"apiVersion": "plimsoll.dev/v1alpha1", "kind": "WorkloadAutoscaler", "metadata": {"name": "own", "namespace": %q},
	"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "own"}, "maxReplicas": 3, "metrics": [
		{"name": "requests", "type": "PodEndpoint", "podEndpoint": {"port": %d, "metric": {"name": "http_requests_total"}, "valueType": "Rate",
			"target": {"type": "AverageValue", "averageValue": "100"}}},
		{"name": "up", "type": "Prometheus", "prometheus": {"serverAddress": %q, "query": "sum(up)", "target": {"type": "Value", "value": "100"}}},
		{"name": "scaler", "type": "ExternalScaler", "externalScaler": {"scalerAddress": %q}}]}}`

// workloadAutoscaler has a metric with a fallback.
const workloadAutoscaler = `{"apiVersion": "plimsoll.dev/v1alpha1", "kind": "WorkloadAutoscaler",
	"metadata": {"name": "worker", "namespace": %q},
	"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "worker"}, "maxReplicas": 10,
		"metrics": [{"name": "queue", "type": "External", "fallback": {"replicas": 3}, "external": {"metric": {"name": "queue_length",
			"selector": {"matchLabels": {"service": "jobs"}}}, "target": {"type": "AverageValue", "averageValue": "10"}}}]}}`

// TestDashboard: with Plimsoll deciding on a cluster, each query of the dashboard has
// data.
func TestDashboard(t *testing.T) {
	s := shared.Namespace(t)
	s.Kubectl("apply", "-f", "../../../../config/crd")
	s.Kubectl("apply", "-k", "../../../../config/crd/plimsoll")
	s.Kubectl("wait", "--for=condition=Established", "crd", "verticalpodautoscalers.autoscaling.k8s.io",
		"workloadautoscalers.plimsoll.dev")
	web, worker := harness.Workload{}, harness.Workload{Name: "worker"}
	s.Create(web.Deployment(), web.Service(0), worker.Deployment(), harness.Queue("jobs", 35))
	s.KubectlInput(fmt.Sprintf(workloadAutoscaler, s.Name), "apply", "-f", "-")
	s.Kubectl("autoscale", "deployment", "web", "--cpu=50%", "--min=1", "--max=10")
	s.KubectlInput(fmt.Sprintf(`{"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web", "namespace": %q},
		"spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "updatePolicy": {"updateMode": "Off"}}}`, s.Name), "apply", "-f", "-")
	queue, err := scaler.Serve(t.Context(), scaler.Config{})
	if err != nil {
		t.Fatal(err)
	}
	queue.Set("", "", scaler.State{IsActive: true, Metrics: []scaler.Metric{{Name: "queue", Value: 5, Target: 10}}})
	querying := freeAddress(t)
	own := harness.Workload{Name: "own", Annotations: map[string]string{world.AnnotationMetrics: "true"}}
	s.Create(own.Deployment())
	s.KubectlInput(fmt.Sprintf(ownMetrics, s.Name, s.Cluster.PodMetricsPort(), "http://"+querying, queue.Address()), "apply", "-f", "-")
	shared.Plimsoll(t).Stop(t.Context()) // two must not work on the same objects
	instance := shared.Plimsoll(t).StartInstance(t, "measured", "--leader-elect=false", "--resource-metrics-source=auto",
		"--recommender-interval=5s", "--pod-endpoint-allowed-cidr=127.0.0.0/8", "--metric-server="+querying,
		"--metric-server="+queue.Address())
	defer instance.Stop()
	_, port, err := net.SplitHostPort(instance.Address())
	if err != nil {
		t.Fatal(err)
	}
	url := start(t, t.TempDir(), fmt.Sprintf("global: {scrape_interval: 2s}\nscrape_configs: [{job_name: plimsoll, "+
		"static_configs: [{targets: ['127.0.0.1:%s']}]}]\n", port), "--web.listen-address="+querying)
	client, err := api.NewClient(api.Config{Address: url, RoundTripper: http.DefaultTransport})
	if err != nil {
		t.Fatal(err)
	}
	server := prometheusv1.NewAPI(client)
	missing := queries(t)
	missing["samples of a WorkloadAutoscaler"] = "plimsoll_workload_sample_age_seconds"
	missing["limit of a WorkloadAutoscaler"] = "plimsoll_workload_bound"
	// Pods that start are scraped by the server, and stay for as long as a rate looks back.
	await(t, time.Minute, func() error { return hasData(t.Context(), server, "scraping", "plimsoll_horizontal_running") })
	s.SetLoad("web", 17.5)
	await(t, 3*time.Minute, func() error {
		var errs []error
		for title, query := range missing {
			if err := hasData(t.Context(), server, title, query); err != nil {
				errs = append(errs, err)
				continue
			}
			delete(missing, title)
		}
		return errors.Join(errs...)
	})
}

func hasData(ctx context.Context, server prometheusv1.API, title, query string) error {
	value, _, err := server.Query(ctx, query, time.Now())
	if err != nil {
		return fmt.Errorf("%s: %s: %w", title, query, err)
	}
	vector, ok := value.(model.Vector)
	// A division of nothing has no data either.
	isData := func(s *model.Sample) bool { return !math.IsNaN(float64(s.Value)) }
	if !ok || !slices.ContainsFunc(vector, isData) {
		return fmt.Errorf("%s: %s has no data", title, query)
	}
	return nil
}
