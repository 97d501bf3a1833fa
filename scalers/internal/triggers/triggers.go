// Package triggers has the constructors of KEDA's scalers by the types of their triggers, as in
// pkg/scaling/scalers_builder.go of KEDA 2.21.0.
package triggers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Constructor makes a scaler. The client is for scalers that read objects of the cluster.
type Constructor func(context.Context, client.Client, *scalersconfig.ScalerConfig) (scalers.Scaler, error)

// Elsewhere says, of triggers that Plimsoll reads without a scaler, which type of metric to use.
var Elsewhere = map[string]string{
	"cpu":           "type Resource or ContainerResource",
	"memory":        "type Resource or ContainerResource",
	"external":      "type ExternalScaler",
	"external-push": "type ExternalScaler",
}

// For returns the constructor of a type of trigger. It refuses configurations with which a scaler would read files.
func For(trigger string) (Constructor, error) {
	if constructor, ok := constructors[trigger]; ok {
		return func(ctx context.Context, c client.Client, config *scalersconfig.ScalerConfig) (scalers.Scaler, error) {
			if err := checkConfig(config); err != nil {
				return nil, err
			}
			return constructor(ctx, c, config)
		}, nil
	}
	if instead, ok := Elsewhere[trigger]; ok {
		return nil, fmt.Errorf("type: %q: use a metric of %s", trigger, instead)
	}
	return nil, fmt.Errorf("type: %q: KEDA 2.21 has no such trigger", trigger)
}

// Types returns the types of triggers, in order.
func Types() []string { return slices.Sorted(maps.Keys(constructors)) }

// simple is a constructor that needs its configuration only.
func simple[S scalers.Scaler](construct func(*scalersconfig.ScalerConfig) (S, error)) Constructor {
	return func(_ context.Context, _ client.Client, config *scalersconfig.ScalerConfig) (scalers.Scaler, error) {
		return orNil(construct(config))
	}
}

// connecting is a constructor that connects to its server.
func connecting[S scalers.Scaler](
	construct func(context.Context, *scalersconfig.ScalerConfig) (S, error),
) Constructor {
	return func(ctx context.Context, _ client.Client, config *scalersconfig.ScalerConfig) (scalers.Scaler, error) {
		return orNil(construct(ctx, config))
	}
}

// reading is a constructor of a scaler that reads objects of the cluster.
func reading[S scalers.Scaler](construct func(client.Client, *scalersconfig.ScalerConfig) (S, error)) Constructor {
	return func(_ context.Context, c client.Client, config *scalersconfig.ScalerConfig) (scalers.Scaler, error) {
		return orNil(construct(c, config))
	}
}

// redis is a constructor of one of the scalers for Redis.
func redis(
	construct func(ctx context.Context, isCluster, isSentinel bool, config *scalersconfig.ScalerConfig) (
		scalers.Scaler, error),
	isCluster, isSentinel bool,
) Constructor {
	return connecting(func(ctx context.Context, config *scalersconfig.ScalerConfig) (scalers.Scaler, error) {
		return construct(ctx, isCluster, isSentinel, config)
	})
}

// orNil returns no scaler beside an error: a nil pointer in the interface would not be nil.
func orNil[S scalers.Scaler](scaler S, err error) (scalers.Scaler, error) {
	if err != nil {
		return nil, err
	}
	return scaler, nil
}

var constructors = map[string]Constructor{
	"activemq":                simple(scalers.NewActiveMQScaler),
	"apache-kafka":            connecting(scalers.NewApacheKafkaScaler),
	"arangodb":                simple(scalers.NewArangoDBScaler),
	"artemis-queue":           simple(scalers.NewArtemisQueueScaler),
	"aws-cloudwatch":          connecting(scalers.NewAwsCloudwatchScaler),
	"aws-dynamodb":            connecting(scalers.NewAwsDynamoDBScaler),
	"aws-dynamodb-streams":    connecting(scalers.NewAwsDynamoDBStreamsScaler),
	"aws-kinesis-stream":      connecting(scalers.NewAwsKinesisStreamScaler),
	"aws-sqs-queue":           connecting(scalers.NewAwsSqsQueueScaler),
	"azure-app-insights":      simple(scalers.NewAzureAppInsightsScaler),
	"azure-blob":              simple(scalers.NewAzureBlobScaler),
	"azure-cosmosdb":          simple(scalers.NewAzureCosmosDBScaler),
	"azure-data-explorer":     simple(scalers.NewAzureDataExplorerScaler),
	"azure-eventhub":          simple(scalers.NewAzureEventHubScaler),
	"azure-log-analytics":     simple(scalers.NewAzureLogAnalyticsScaler),
	"azure-monitor":           simple(scalers.NewAzureMonitorScaler),
	"azure-pipelines":         connecting(scalers.NewAzurePipelinesScaler),
	"azure-queue":             simple(scalers.NewAzureQueueScaler),
	"azure-servicebus":        simple(scalers.NewAzureServiceBusScaler),
	"beanstalkd":              simple(scalers.NewBeanstalkdScaler),
	"cassandra":               simple(scalers.NewCassandraScaler),
	"clickhouse":              simple(scalers.NewClickHouseScaler),
	"couchdb":                 connecting(scalers.NewCouchDBScaler),
	"cron":                    simple(scalers.NewCronScaler),
	"datadog":                 simple(scalers.NewDatadogScaler),
	"dynatrace":               simple(scalers.NewDynatraceScaler),
	"elastic-forecast":        simple(scalers.NewElasticForecastScaler),
	"elasticsearch":           simple(scalers.NewElasticsearchScaler),
	"etcd":                    simple(scalers.NewEtcdScaler),
	"forgejo-runner":          simple(scalers.NewForgejoRunnerScaler),
	"gcp-cloudtasks":          simple(scalers.NewGcpCloudTasksScaler),
	"gcp-pubsub":              simple(scalers.NewPubSubScaler),
	"gcp-spanner":             simple(scalers.NewGcpSpannerScaler),
	"gcp-stackdriver":         connecting(scalers.NewStackdriverScaler),
	"gcp-storage":             simple(scalers.NewGcsScaler),
	"github-runner":           simple(scalers.NewGitHubRunnerScaler),
	"graphite":                simple(scalers.NewGraphiteScaler),
	"huawei-cloudeye":         simple(scalers.NewHuaweiCloudeyeScaler),
	"ibmmq":                   simple(scalers.NewIBMMQScaler),
	"influxdb":                simple(scalers.NewInfluxDBScaler),
	"kafka":                   connecting(scalers.NewKafkaScaler),
	"kubernetes-resource":     reading(scalers.NewKubernetesResourceScaler),
	"kubernetes-workload":     reading(scalers.NewKubernetesWorkloadScaler),
	"liiklus":                 simple(scalers.NewLiiklusScaler),
	"loki":                    simple(scalers.NewLokiScaler),
	"metrics-api":             reading(metricsAPI),
	"mongodb":                 connecting(scalers.NewMongoDBScaler),
	"mssql":                   connecting(scalers.NewMSSQLScaler),
	"mysql":                   simple(scalers.NewMySQLScaler),
	"nats-jetstream":          simple(scalers.NewNATSJetStreamScaler),
	"new-relic":               simple(scalers.NewNewRelicScaler),
	"nsq":                     simple(scalers.NewNSQScaler),
	"opensearch":              simple(scalers.NewOpensearchScaler),
	"openstack-metric":        connecting(scalers.NewOpenstackMetricScaler),
	"openstack-swift":         connecting(scalers.NewOpenstackSwiftScaler),
	"postgresql":              connecting(scalers.NewPostgreSQLScaler),
	"predictkube":             connecting(scalers.NewPredictKubeScaler),
	"prometheus":              simple(scalers.NewPrometheusScaler),
	"pulsar":                  simple(scalers.NewPulsarScaler),
	"rabbitmq":                simple(scalers.NewRabbitMQScaler),
	"redis":                   redis(scalers.NewRedisScaler, false, false),
	"redis-cluster":           redis(scalers.NewRedisScaler, true, false),
	"redis-cluster-streams":   redis(scalers.NewRedisStreamsScaler, true, false),
	"redis-sentinel":          redis(scalers.NewRedisScaler, false, true),
	"redis-sentinel-streams":  redis(scalers.NewRedisStreamsScaler, false, true),
	"redis-streams":           redis(scalers.NewRedisStreamsScaler, false, false),
	"selenium-grid":           simple(scalers.NewSeleniumGridScaler),
	"solace-direct-messaging": simple(scalers.NewSolaceDMScaler),
	"solace-event-queue":      simple(scalers.NewSolaceScaler),
	"solarwinds":              simple(scalers.NewSolarWindsScaler),
	"solr":                    simple(scalers.NewSolrScaler),
	"splunk":                  simple(scalers.NewSplunkScaler),
	"splunk-observability":    simple(scalers.NewSplunkObservabilityScaler),
	"sumologic":               simple(scalers.NewSumologicScaler),
	"temporal":                connecting(scalers.NewTemporalScaler),
}

func metricsAPI(c client.Client, config *scalersconfig.ScalerConfig) (scalers.Scaler, error) {
	return scalers.NewMetricsAPIScaler(config, c)
}
