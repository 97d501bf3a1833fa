package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodEndpointMetricSource is a metric that each of the target's pods exposes itself, or that other pods expose, as
// Prometheus text or OpenMetrics.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.service) || !has(self.podSelector)`,message="may not be set beside podSelector",fieldPath=".service",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`!has(self.aggregate) || self.aggregate == 'Sum' || self.valueType == 'Gauge' || has(self.service) || has(self.podSelector)`,message="must be Sum where valueType is Rate, unless podSelector or service is set: the rates of a pod's series are always summed",fieldPath=".aggregate"
// +kubebuilder:validation:XValidation:rule=`!has(self.tlsConfig) || (has(self.scheme) && self.scheme == 'HTTPS') || (!has(self.tlsConfig.caBundle) && !has(self.tlsConfig.ca) && !has(self.tlsConfig.cert) && !has(self.tlsConfig.key) && !has(self.tlsConfig.serverName) && (!has(self.tlsConfig.insecureSkipVerify) || !self.tlsConfig.insecureSkipVerify))`,message="may be set only where scheme is HTTPS",fieldPath=".tlsConfig",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`!has(self.basicAuth) || !has(self.authorization)`,message="may not be set beside authorization",fieldPath=".basicAuth",reason="FieldValueForbidden"
type PodEndpointMetricSource struct {
	// Other pods of the object's namespace in place of the target's, such as those of a gateway, by their labels. The
	// metric is then one value for the whole target, which aggregate makes of all of these pods, and target compares it as
	// that of an Object metric. It has a value while the target has no pods, and can wake it. At least one label is
	// required. Without the field and service the target's own pods are read.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && self.matchExpressions.exists(e, e.operator == 'In' || e.operator == 'Exists'))`,message="must require a label, in matchLabels or with In or Exists: it would select all pods of the namespace",reason="FieldValueRequired"
	PodSelector *LabelSelector `json:"podSelector,omitempty"`

	// The name of a Service of the object's namespace: as podSelector, with the Service's selector. The port is one of the
	// pods, not of the Service. It may not be set beside podSelector.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Service string `json:"service,omitempty"`

	// The port: the name of a container port, or a number.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^([0-9][0-9-]*)?[a-z]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule=`(int(self) >= 1 && int(self) <= 65535) || size(self) > 0`,message="must be 1 to 65535, or the name of a container port"
	Port intstr.IntOrString `json:"port"`

	// The path of the request, with its query if there is one. The default is /metrics.
	// +optional
	// +kubebuilder:default=/metrics
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*([?]([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?$`
	Path string `json:"path,omitempty"`

	// The scheme of requests to the pods: HTTP or HTTPS, as in a probe. The default is HTTP.
	// +optional
	// +kubebuilder:default=HTTP
	Scheme Scheme `json:"scheme,omitempty"`

	// The metric, named as the pods expose it, such as http_requests_total. The values of all series of a pod that the
	// selector matches become one by aggregate. Each histogram or summary has metrics with the suffixes _count and _sum.
	Metric SeriesIdentifier `json:"metric"`

	// Gauge: the value itself counts. Rate: the metric is a counter, and its increase per second counts. There is no
	// default: a counter that is read as a gauge grows forever.
	ValueType ValueType `json:"valueType"`

	// How the values of a pod's series become one, and those of the pods of podSelector or service: Sum, the default,
	// Average or Max. The target's own pods each count with their own value. The rates of a pod's series are always
	// summed.
	// +optional
	// +kubebuilder:default=Sum
	Aggregate Aggregate `json:"aggregate,omitempty"`

	// How a pod whose page lacks the metric counts. Fail, the default: as a pod without a value. Zero: as 0. Many
	// libraries expose a counter with labels only after its first increase.
	// +optional
	// +kubebuilder:default=Fail
	NullValues NullValues `json:"nullValues,omitempty"`

	// How long a pod may take to connect and respond, in seconds, from 1 to 30. The default is 5. Overloaded pods respond
	// late. A pod that takes longer than the interval gets the next request as soon as it has responded.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// The window of a pod's average values in seconds, from 5 to 300. The default is 15. A counter whose page changes less
	// often, such as that of an exporter that renews it each minute, is averaged over the time between its changes.
	// +optional
	// +kubebuilder:default=15
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=300
	WindowSeconds *int32 `json:"windowSeconds,omitempty"`

	// The target: averageValue for each of the target's pods, or value for all of them together.
	// +kubebuilder:validation:XValidation:rule=`self.type != 'Utilization'`,message="must be Value or AverageValue",fieldPath=".type"
	Target MetricTarget `json:"target"`

	// A token that the pods require.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`

	// A user and password that the pods require.
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`

	// The verification of the pods' certificates. It may be set only where scheme is HTTPS. Without it the system's
	// certificate authorities are trusted.
	// +optional
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
}

// Scheme is the protocol of a request.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS
type Scheme string

// The schemes.
const (
	HTTPScheme  Scheme = "HTTP"
	HTTPSScheme Scheme = "HTTPS"
)

// ValueType is the interpretation of a metric's values.
//
// +kubebuilder:validation:Enum=Gauge;Rate
type ValueType string

// The interpretations of values.
const (
	// GaugeValueType takes the value itself.
	GaugeValueType ValueType = "Gauge"
	// RateValueType takes the increase of a counter per second.
	RateValueType ValueType = "Rate"
)

// Aggregate is how several values become one.
//
// +kubebuilder:validation:Enum=Sum;Average;Max
type Aggregate string

// The ways.
const (
	SumAggregate     Aggregate = "Sum"
	AverageAggregate Aggregate = "Average"
	MaxAggregate     Aggregate = "Max"
)

// NullValues is the treatment of a response without a value.
//
// +kubebuilder:validation:Enum=Fail;Zero
type NullValues string

// The treatments of a response without a value.
const (
	// NullValuesFail treats it as an error.
	NullValuesFail NullValues = "Fail"
	// NullValuesZero treats it as the value 0.
	NullValuesZero NullValues = "Zero"
)

// PrometheusMetricSource is the result of a query to Prometheus, or to a server with the
// same API.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.tlsConfig) || self.serverAddress.startsWith('https://') || (!has(self.tlsConfig.caBundle) && !has(self.tlsConfig.ca) && !has(self.tlsConfig.cert) && !has(self.tlsConfig.key) && !has(self.tlsConfig.serverName) && (!has(self.tlsConfig.insecureSkipVerify) || !self.tlsConfig.insecureSkipVerify))`,message="may be set only where serverAddress begins with https",fieldPath=".tlsConfig",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`!has(self.basicAuth) || !has(self.authorization)`,message="may not be set beside authorization",fieldPath=".basicAuth",reason="FieldValueForbidden"
type PrometheusMetricSource struct {
	// The URL of the server, such as http://prometheus.monitoring.svc:9090, with a path if
	// the API is below one. It must be a Service of this object's namespace, or one that the
	// controller's flag --metric-server permits.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`self.matches('^https?://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[[][0-9A-Fa-f:.]+])(:[0-9]{1,5})?(/([A-Za-z0-9._~!$&()*+,;=:/-]|%[0-9A-Fa-f]{2})*)?$') && isURL(self) && (url(self).getPort() == '' || (int(url(self).getPort()) >= 1 && int(url(self).getPort()) <= 65535))`,message="must be an http or https URL without user, query and fragment"
	ServerAddress string `json:"serverAddress"`

	// The query, in PromQL. Its result must be a scalar, or a vector of one element.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`

	// The time between two queries, in seconds, from 1 to 300. The default is 5. Objects with the same query share one
	// request.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`

	// How long the server may take to respond, in seconds, from 1 to 30. The default is 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// The treatment of an empty result, NaN and the infinities. Fail, the default: the metric cannot be read then, so that
	// the replica count is not lowered. Zero: as 0, which is KEDA's default.
	// +optional
	// +kubebuilder:default=Fail
	NullValues NullValues `json:"nullValues,omitempty"`

	// The tenant, for a server of several tenants. Without it no tenant is sent.
	// +optional
	Tenant *Tenant `json:"tenant,omitempty"`

	// The value of the query parameter namespace, which proxies before Prometheus require, such as those of OpenShift and
	// prom-label-proxy. Without it the parameter is not sent.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	NamespaceParameter string `json:"namespaceParameter,omitempty"`

	// Further query parameters, for servers that have some beside Prometheus' own, such as
	// dedup=false&max_source_resolution=5m for Thanos. Unless they are named here, partial_response=false (Thanos) and
	// deny_partial_response=1 (VictoriaMetrics) are sent: such a server then refuses a query that it can answer only in
	// part. Named here with an empty value, they are not sent.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+([[]])?=[A-Za-z0-9_.~%+:,-]*(&[A-Za-z0-9_.-]+([[]])?=[A-Za-z0-9_.~%+:,-]*)*$`
	// +kubebuilder:validation:XValidation:rule=`!self.matches('(^|&)(query|time|timeout|namespace)=')`,message="may not have query, time, timeout and namespace: these are other fields, or Plimsoll's own"
	QueryParameters string `json:"queryParameters,omitempty"`

	// The target: value in total, or averageValue for each pod.
	// +kubebuilder:validation:XValidation:rule=`self.type != 'Utilization'`,message="must be Value or AverageValue",fieldPath=".type"
	Target MetricTarget `json:"target"`

	// A token that the server requires.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`

	// A user and password that the server requires.
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`

	// The verification of the server's certificate. It may be set only where serverAddress begins with https. Without it
	// the system's certificate authorities are trusted.
	// +optional
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
}

// Tenant is the tenant of a query.
type Tenant struct {
	// The name of the tenant: the value of the header.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[!-~]([ -~]*[!-~])?$`
	ID string `json:"id"`

	// The header: X-Scope-OrgID, the default, of Mimir, Cortex and Loki, or THANOS-TENANT
	// of Thanos.
	// +optional
	// +kubebuilder:default=X-Scope-OrgID
	Header TenantHeader `json:"header,omitempty"`
}

// TenantHeader is the header that names a tenant.
//
// +kubebuilder:validation:Enum=X-Scope-OrgID;THANOS-TENANT
type TenantHeader string

// The headers.
const (
	ScopeOrgIDTenantHeader TenantHeader = "X-Scope-OrgID"
	ThanosTenantHeader     TenantHeader = "THANOS-TENANT"
)

// ExternalScalerMetricSource is a metric of a server with KEDA's gRPC protocol for external scalers. The server also
// reports whether the metric is active.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.tlsConfig) || (has(self.transport) && self.transport == 'TLS') || (!has(self.tlsConfig.caBundle) && !has(self.tlsConfig.ca) && !has(self.tlsConfig.cert) && !has(self.tlsConfig.key) && !has(self.tlsConfig.serverName) && (!has(self.tlsConfig.insecureSkipVerify) || !self.tlsConfig.insecureSkipVerify))`,message="may be set only where transport is TLS",fieldPath=".tlsConfig",reason="FieldValueForbidden"
type ExternalScalerMetricSource struct {
	// The scaler, as HOST:PORT. It must be a Service of this object's namespace, or one
	// that the controller's flag --metric-server permits.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|[[][0-9a-fA-F:.]+]):[0-9]{1,5}$') && int(self.substring(self.lastIndexOf(':') + 1)) >= 1 && int(self.substring(self.lastIndexOf(':') + 1)) <= 65535`,message="must be a host and a port, such as my-scaler:9090"
	ScalerAddress string `json:"scalerAddress"`

	// The scalerMetadata for the scaler, beside scalerAddress.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule=`self.all(k, size(k) >= 1 && size(k) <= 253 && size(self[k]) <= 4096)`,message="must have keys of 1 to 253 characters, and values of at most 4096"
	// +kubebuilder:validation:XValidation:rule=`!('scalerAddress' in self)`,message="may not have the key scalerAddress: the scaler gets the field of that name"
	ScalerMetadata map[string]string `json:"scalerMetadata,omitempty"`

	// The name of one of the scaler's metrics. It is required if the scaler has several.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	MetricName string `json:"metricName,omitempty"`

	// The target: value in total, or averageValue for each pod. Without either of the two the scaler's own target applies,
	// in total or for each pod, by type. Without the whole field it applies for each pod.
	// +optional
	Target *ExternalScalerTarget `json:"target,omitempty"`

	// The time between two requests to the scaler, in seconds, from 1 to 300. The default is 5.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`

	// How the scaler reports that the metric is active. Poll: in response to the request at each interval. Push, the
	// default: also in between (StreamIsActive), as with KEDA's trigger external-push. A scaler that does not implement
	// this is only polled.
	// +optional
	// +kubebuilder:default=Push
	Delivery Delivery `json:"delivery,omitempty"`

	// How the connection is secured. Plaintext, the default: it is not. TLS: it is encrypted, and the scaler's certificate
	// is verified.
	// +optional
	// +kubebuilder:default=Plaintext
	Transport Transport `json:"transport,omitempty"`

	// The verification of the scaler's certificate. It may be set only where transport is TLS. Without it the system's
	// certificate authorities are trusted.
	// +optional
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
}

// ExternalScalerTarget is the target value of a scaler's metric.
//
// +kubebuilder:validation:XValidation:rule=`self.type == 'Value' || !has(self.value)`,message="may be set only where type is Value",fieldPath=".value",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`self.type == 'AverageValue' || !has(self.averageValue)`,message="may be set only where type is AverageValue",fieldPath=".averageValue",reason="FieldValueForbidden"
type ExternalScalerTarget struct {
	// Value: the target is one for all pods together. AverageValue: it is for each pod.
	// +kubebuilder:validation:XValidation:rule=`self != 'Utilization'`,message="must be Value or AverageValue"
	Type MetricTargetType `json:"type"`

	// The target of the metric's total. Without it the scaler's own target applies.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`self != 0 && (int(self) > 0 || size(self) > 0)`,message="must be positive"
	Value *resource.Quantity `json:"value,omitempty"`

	// The target of the average over the pods. Without it the scaler's own target applies.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`self != 0 && (int(self) > 0 || size(self) > 0)`,message="must be positive"
	AverageValue *resource.Quantity `json:"averageValue,omitempty"`
}

// HasValue reports whether the target has a value, so that the scaler's own does not apply.
func (t *ExternalScalerTarget) HasValue() bool {
	return t != nil && (t.Value != nil || t.AverageValue != nil)
}

// whole returns the target as other metrics have it; nil without a value.
func (t *ExternalScalerTarget) whole() *MetricTarget {
	if !t.HasValue() {
		return nil
	}
	return &MetricTarget{Type: t.Type, Value: t.Value, AverageValue: t.AverageValue}
}

// Delivery is the way in which a scaler reports that its metric is active.
//
// +kubebuilder:validation:Enum=Poll;Push
type Delivery string

// The ways of reporting activity.
const (
	// PollDelivery polls the scaler.
	PollDelivery Delivery = "Poll"
	// PushDelivery polls it, and accepts reports between two polls.
	PushDelivery Delivery = "Push"
)

// Transport is how a connection is secured.
//
// +kubebuilder:validation:Enum=Plaintext;TLS
type Transport string

// The ways of securing a connection.
const (
	// PlaintextTransport does not encrypt the connection.
	PlaintextTransport Transport = "Plaintext"
	// TLSTransport encrypts it, and verifies the server's certificate.
	TLSTransport Transport = "TLS"
)
