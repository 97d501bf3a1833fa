package scaledobject

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robfig/cron/v3"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
)

// The types of triggers that differ from all others: of CPU and memory KEDA makes resource metrics, of the others
// external ones; a cron trigger reads nothing, and external ones read a server that is not KEDA's.
const (
	TypeCPU          = "cpu"
	TypeMemory       = "memory"
	TypeCron         = "cron"
	TypePrometheus   = "prometheus"
	TypeExternal     = "external"
	TypeExternalPush = "external-push"
)

// IsResource reports whether KEDA makes a resource metric of the trigger.
func (t *Trigger) IsResource() bool { return t.Type == TypeCPU || t.Type == TypeMemory }

// Threshold names the fields of a trigger's metadata with its target and its activation value, and KEDA's default for
// the target: see github.com/kedacore/keda, pkg/scalers.
type Threshold struct{ Target, Activation, Default string }

// Thresholds has the thresholds of the triggers that Plimsoll knows, by type.
var Thresholds = map[string]Threshold{
	"apache-kafka":        {"lagThreshold", "activationLagThreshold", "10"},
	"aws-sqs-queue":       {"queueLength", "activationQueueLength", "5"},
	"azure-queue":         {"queueLength", "activationQueueLength", "5"},
	"azure-servicebus":    {"messageCount", "activationMessageCount", "5"},
	"gcp-pubsub":          {"value", "activationValue", "10"},
	"kafka":               {"lagThreshold", "activationLagThreshold", "10"},
	"kubernetes-workload": {"value", "activationValue", ""},
	"metrics-api":         {"targetValue", "activationTargetValue", ""},
	"mysql":               {"queryValue", "activationQueryValue", ""},
	"nats-jetstream":      {"lagThreshold", "activationLagThreshold", "10"},
	"postgresql":          {"targetQueryValue", "activationTargetQueryValue", ""},
	"prometheus":          {"threshold", "activationThreshold", ""},
	"rabbitmq":            {"value", "activationValue", ""},
	"redis":               {"listLength", "activationListLength", "5"},
}

// Version is the release of KEDA whose types of triggers are Types.
const Version = "2.21.0"

// Types are the types of triggers that KEDA has: see github.com/kedacore/keda, pkg/scaling/scalers_builder.go.
var Types = []string{
	"activemq", "apache-kafka", "arangodb", "artemis-queue", "aws-cloudwatch", "aws-dynamodb",
	"aws-dynamodb-streams", "aws-kinesis-stream", "aws-sqs-queue", "azure-app-insights", "azure-blob",
	"azure-cosmosdb", "azure-data-explorer", "azure-eventhub", "azure-log-analytics", "azure-monitor",
	"azure-pipelines", "azure-queue", "azure-servicebus", "beanstalkd", "cassandra", "clickhouse", "couchdb",
	"cpu", "cron", "datadog", "dynatrace", "elastic-forecast", "elasticsearch", "etcd", "external",
	"external-mock", "external-push", "forgejo-runner", "gcp-cloudtasks", "gcp-pubsub", "gcp-spanner",
	"gcp-stackdriver", "gcp-storage", "github-runner", "graphite", "huawei-cloudeye", "ibmmq", "influxdb",
	"kafka", "kubernetes-resource", "kubernetes-workload", "liiklus", "loki", "memory", "metrics-api", "mongodb",
	"mssql", "mysql", "nats-jetstream", "new-relic", "nsq", "opensearch", "openstack-metric", "openstack-swift",
	"postgresql", "predictkube", "prometheus", "pulsar", "rabbitmq", "redis", "redis-cluster",
	"redis-cluster-streams", "redis-sentinel", "redis-sentinel-streams", "redis-streams", "selenium-grid",
	"solace-direct-messaging", "solace-event-queue", "solarwinds", "solr", "splunk", "splunk-observability",
	"sumologic", "temporal",
}

// NearestTypes returns the types that may have been meant by one that KEDA does not have, the nearest first. It returns
// none for a type that KEDA has.
func NearestTypes(name string) []string {
	if slices.Contains(Types, name) {
		return nil
	}
	return cmderror.Nearest(name, Types)
}

// Cron is when a trigger of type cron starts and ends.
type Cron struct{ Starts, Ends cron.Schedule }

// CronOf reads both as KEDA does: see pkg/scalers/cron_scaler.go.
func CronOf(start, end string) (c Cron, err error) {
	start, end = strings.TrimSpace(start), strings.TrimSpace(end)
	if start == end {
		return c, errors.New("start and end are the same, which KEDA refuses")
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	if c.Starts, err = parser.Parse(start); err != nil {
		return c, fmt.Errorf("start: %w", err)
	}
	if c.Ends, err = parser.Parse(end); err != nil {
		return c, fmt.Errorf("end: %w", err)
	}
	return c, nil
}
