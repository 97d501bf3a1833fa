package prometheushistory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Pod is a pod that exists or existed.
type Pod struct {
	Namespace, Name string
	// Labels are its last ones; nil if Prometheus has none.
	Labels map[string]string
	// Containers holds the usage of its containers, by name.
	Containers map[string]*Use
}

// Use is the usage of a container, each list in order of time.
type Use struct{ CPU, Memory []Sample }

// Sample is thousandths of a core, or bytes, and when.
type Sample struct {
	At    time.Time
	Value float64
}

// Client reads from a Prometheus server.
type Client struct {
	config Config
	api    prometheusv1.API
	// bounded is the same API with a bound on each response, for queries with small ones.
	bounded prometheusv1.API
}

// New validates the configuration. It makes no request.
func New(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	transport, err := cfg.transport()
	if err != nil {
		return nil, fmt.Errorf("client of Prometheus: %w", err)
	}
	c := &Client{config: cfg}
	for to, through := range map[*prometheusv1.API]http.RoundTripper{&c.api: transport, &c.bounded: bounded{transport}} {
		client, err := api.NewClient(api.Config{Address: cfg.Address, RoundTripper: through})
		if err != nil {
			return nil, fmt.Errorf("--prometheus-address=%s: %w", cfg.Address, err)
		}
		*to = prometheusv1.NewAPI(client)
	}
	return c, nil
}

// ErrEmpty is returned if Prometheus has no data: usually because names do not match.
var ErrEmpty = errors.New(
	"no series: check --history-cpu-metric, --prometheus-cadvisor-job-name and the names of labels")

type key struct{ namespace, pod string }

// History returns the usage of the pods of these namespaces until now, sorted by namespace and name. Without namespaces
// it makes no request.
func (c *Client) History(ctx context.Context, namespaces []string, now time.Time) ([]*Pod, error) {
	if len(namespaces) == 0 {
		return nil, nil
	}
	pods := map[key]*Pod{}
	cpu := fmt.Sprintf("rate(%s[%s])", c.selector(c.config.CPUMetric, namespaces), model.Duration(c.config.Resolution))
	const milli = 1000
	if err := c.use(ctx, cpu, now, pods,
		func(u *Use, s Sample) { s.Value *= milli; u.CPU = append(u.CPU, s) }); err != nil {
		return nil, fmt.Errorf("history of CPU: %w", err)
	}
	memory := c.selector(c.config.MemoryMetric, namespaces)
	if err := c.use(ctx, memory, now, pods, func(u *Use, s Sample) { u.Memory = append(u.Memory, s) }); err != nil {
		return nil, fmt.Errorf("history of memory: %w", err)
	}
	if len(pods) == 0 {
		return nil, ErrEmpty
	}
	if err := c.labels(ctx, namespaces, now, pods); err != nil {
		return nil, fmt.Errorf("labels of pods: %w", err)
	}
	return sorted(pods), nil
}

// selector selects the containers of some namespaces.
func (c *Client) selector(metric string, namespaces []string) string {
	matchers := []string{
		fmt.Sprintf(`%s=~".+"`, c.config.PodLabel), fmt.Sprintf(`%s!="POD"`, c.config.ContainerLabel),
		fmt.Sprintf(`%s!=""`, c.config.ContainerLabel), matchAny(c.config.NamespaceLabel, namespaces),
	}
	if c.config.Job != "" {
		matchers = append(matchers, fmt.Sprintf("job=%q", c.config.Job))
	}
	return metric + "{" + strings.Join(matchers, ", ") + "}"
}

func matchAny(label string, values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = regexp.QuoteMeta(v)
	}
	return fmt.Sprintf("%s=~%q", label, strings.Join(quoted, "|"))
}

// use reads the samples of one resource.
func (c *Client) use(
	ctx context.Context, query string, now time.Time, pods map[key]*Pod, keep func(*Use, Sample),
) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.QueryTimeout)
	defer cancel()
	value, _, err := c.api.QueryRange(ctx, query, prometheusv1.Range{
		Start: now.Add(-c.config.Length), End: now, Step: c.config.Resolution,
	})
	if err != nil {
		return err
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return fmt.Errorf("%s is answered with a %s, want a matrix", query, value.Type())
	}
	for _, series := range matrix {
		where := key{string(series.Metric[model.LabelName(c.config.NamespaceLabel)]),
			string(series.Metric[model.LabelName(c.config.PodLabel)])}
		container := string(series.Metric[model.LabelName(c.config.ContainerLabel)])
		if where.namespace == "" || where.pod == "" || container == "" {
			return fmt.Errorf("a series of %s lacks the namespace, the pod or the container: %s", query, series.Metric)
		}
		u := useOf(pods, where, container)
		for _, point := range series.Values {
			keep(u, Sample{At: point.Timestamp.Time(), Value: float64(point.Value)})
		}
	}
	return nil
}

func useOf(pods map[key]*Pod, where key, container string) *Use {
	pod := pods[where]
	if pod == nil {
		pod = &Pod{Namespace: where.namespace, Name: where.pod, Containers: map[string]*Use{}}
		pods[where] = pod
	}
	if pod.Containers[container] == nil {
		pod.Containers[container] = &Use{}
	}
	return pod.Containers[container]
}

// labels sets the last labels of the pods.
func (c *Client) labels(ctx context.Context, namespaces []string, now time.Time, pods map[key]*Pod) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.QueryTimeout)
	defer cancel()
	query := fmt.Sprintf("%s[%s]", narrow(c.config.PodLabels, matchAny(c.config.PodNamespaceLabel, namespaces)),
		model.Duration(c.config.Length))
	value, _, err := c.api.Query(ctx, query, now)
	if err != nil {
		return err
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return fmt.Errorf("%s is answered with a %s, want a matrix", query, value.Type())
	}
	newest := map[key]model.Time{}
	for _, series := range matrix {
		where := key{string(series.Metric[model.LabelName(c.config.PodNamespaceLabel)]),
			string(series.Metric[model.LabelName(c.config.PodNameLabel)])}
		pod := pods[where]
		if pod == nil || len(series.Values) == 0 {
			continue
		}
		if at := series.Values[len(series.Values)-1].Timestamp; pod.Labels == nil || at.After(newest[where]) {
			newest[where], pod.Labels = at, c.labelsOf(series.Metric)
		}
	}
	return nil
}

func (c *Client) labelsOf(metric model.Metric) map[string]string {
	labels := map[string]string{}
	for name, value := range metric {
		if plain, ok := strings.CutPrefix(string(name), c.config.PodLabelPrefix); ok {
			labels[plain] = string(value)
		}
	}
	return labels
}

func narrow(selector, matcher string) string {
	before, ok := strings.CutSuffix(strings.TrimSpace(selector), "}")
	if !ok {
		return selector + "{" + matcher + "}"
	}
	if strings.HasSuffix(strings.TrimSpace(before), "{") {
		return before + matcher + "}"
	}
	return before + ", " + matcher + "}"
}

func sorted(pods map[key]*Pod) []*Pod {
	all := make([]*Pod, 0, len(pods))
	for _, pod := range pods {
		for _, u := range pod.Containers {
			u.CPU, u.Memory = inOrder(u.CPU), inOrder(u.Memory)
		}
		all = append(all, pod)
	}
	slices.SortFunc(all, func(a, b *Pod) int {
		if order := strings.Compare(a.Namespace, b.Namespace); order != 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

// inOrder sorts: a restarted container has several series.
func inOrder(samples []Sample) []Sample {
	slices.SortStableFunc(samples, func(a, b Sample) int { return a.At.Compare(b.At) })
	return samples
}
