package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// backlogs are parts of the names of metrics that count what waits, and types of KEDA's triggers of queues.
var backlogs = []string{
	"queue", "backlog", "lag", "pending", "waiting", "depth", "messages", "kafka", "rabbitmq", "sqs", "pubsub", "nats",
	"servicebus", "redis-list", "redis-streams", "beanstalkd", "pulsar", "artemis", "activemq",
}

// noBacklogs are words in the names of times and shares: for these there is no amount that one pod should have.
var noBacklogs = []string{
	"latency", "seconds", "duration", "age", "time", "utilization", "utilisation", "percent", "percentage", "ratio",
	"quantile",
}

func isBacklog(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "flag", "")
	isIn := func(part string) bool { return strings.Contains(name, part) }
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })
	isNone := func(word string) bool { return slices.Contains(noBacklogs, word) }
	return slices.ContainsFunc(backlogs, isIn) && !slices.ContainsFunc(words, isNone)
}

// loadMetric is a metric of a load that is not measured in pods.
type loadMetric struct {
	// source is the field of the metric that has the target, and name what is shown.
	source, name string
	// meaning is what the rule goes by.
	meaning string
	target  *autoscalingv2.MetricTarget
}

// loadMetricOf is the metric of that index; false if it is another one.
func loadMetricOf(h *objects.Horizontal, i int) (loadMetric, bool) {
	m := &h.Spec.Metrics[i]
	switch {
	case m.External != nil:
		name := m.External.Metric.Name
		found := loadMetric{"external", name, name, &m.External.Target}
		if trigger := h.Value(objects.Field{"spec", "triggers", strconv.Itoa(i), "metadata"}); h.IsScaledObject {
			query, _ := trigger["query"].(string)
			mode, _ := trigger["mode"].(string)
			found.meaning += " " + query
			return found, mode != "ExpectedQueueConsumptionTime" // Of RabbitMQ, in seconds.
		}
		return found, true
	case m.Object != nil:
		return loadMetric{"object", m.Object.Metric.Name, m.Object.Metric.Name, &m.Object.Target}, true
	case h.Workload != nil && h.Workload.Metrics[i].Prometheus != nil:
		p := h.Workload.Metrics[i].Prometheus
		target := &autoscalingv2.MetricTarget{
			Type: autoscalingv2.MetricTargetType(p.Target.Type), Value: p.Target.Value,
		}
		return loadMetric{"prometheus", h.Workload.Metrics[i].Name, p.Query, target}, true
	}
	return loadMetric{}, false
}

func checkValueOfBacklog(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		for i := range h.Spec.Metrics {
			m, ok := loadMetricOf(h, i)
			if !ok || m.target.Type != autoscalingv2.ValueMetricType || !isBacklog(m.meaning) {
				continue
			}
			field := objects.Field{"spec", "metrics", strconv.Itoa(i), m.source, "target"}
			f := Finding{
				Object: &h.Object, Field: field,
				Why: fmt.Sprintf("The replica count is multiplied by %s over its target at each decision, up to maxReplicas %d, "+
					"while the backlog lasts.", m.name, h.Spec.MaxReplicas),
				Remedy: "Use AverageValue, with how much of it one pod should have. Value is for what halves when the pods double.",
			}
			if m.target.Value != nil && !h.IsV1 {
				f.Patch = patch(&h.Object).set(field, map[string]any{
					"type": string(autoscalingv2.AverageValueMetricType), "averageValue": m.target.Value.String(),
				})
			}
			found = append(found, f)
		}
	}
	return found
}
