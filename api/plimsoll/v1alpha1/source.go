package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodEndpointMetricSource is a metric that each of the pods exposes itself, as
// Prometheus text or OpenMetrics.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.tlsConfig) || (has(self.scheme) && self.scheme == 'https')`,message="may be set only where scheme is https",fieldPath=".tlsConfig",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`!has(self.basicAuth) || !has(self.authorization)`,message="may not be set beside authorization",fieldPath=".basicAuth",reason="FieldValueForbidden"
type PodEndpointMetricSource struct {
	// The port: the name of a container port, or a number.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^([0-9][0-9-]*)?[a-z]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule=`(int(self) >= 1 && int(self) <= 65535) || size(self) > 0`,message="must be 1 to 65535, or the name of a container port"
	Port intstr.IntOrString `json:"port"`

	// The path of the request, with its query if there is one. The default is /metrics.
	// +optional
	// +kubebuilder:default=/metrics
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*([?]([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?$`
	Path string `json:"path,omitempty"`

	// Whether the pods are asked by http or https. The default is http.
	// +optional
	// +kubebuilder:default=http
	Scheme Scheme `json:"scheme,omitempty"`

	// The metric, named as the pods expose it, such as http_requests_total. The values of all
	// series of a pod that the selector matches are added up. Of a histogram or summary, the
	// names with _count and _sum are metrics.
	// +kubebuilder:validation:XValidation:rule=`self.name.matches('^[a-zA-Z_:][a-zA-Z0-9_:]*$')`,message="must have letters, digits, '_' and ':' only, and not begin with a digit",fieldPath=".name"
	Metric MetricIdentifier `json:"metric"`

	// Gauge: the value counts as it is. Rate: the metric is a counter, and its increase
	// per second counts. There is no default: a counter that is read as a gauge grows for
	// ever.
	ValueType ValueType `json:"valueType"`

	// What a pod that answers without the metric counts as. Fail, the default: as a pod
	// without a value. Zero: as 0. Many libraries expose a counter with labels only after
	// its first increase.
	// +optional
	// +kubebuilder:default=Fail
	NullValues NullValues `json:"nullValues,omitempty"`

	// How long a pod may take to connect and answer, in seconds, from 1 to 30. The default is
	// 5. Overloaded pods answer late. A pod that takes longer than the interval is asked
	// again as soon as it has answered.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// Over how many seconds a pod's values are averaged, from 5 to 300. The default is 15. A
	// counter whose page changes less often, such as that of an exporter that renews it each
	// minute, is averaged over the time between its changes.
	// +optional
	// +kubebuilder:default=15
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=300
	WindowSeconds *int32 `json:"windowSeconds,omitempty"`

	// The target: averageValue for each pod, or value for all of them together.
	// +kubebuilder:validation:XValidation:rule=`self.type != 'Utilization'`,message="must be Value or AverageValue",fieldPath=".type"
	Target MetricTarget `json:"target"`

	// A token that the pods ask for.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`

	// A user and password that the pods ask for.
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`

	// How the pods' certificates are checked. It may be set only where scheme is https.
	// Without it the system's certificate authorities are trusted.
	// +optional
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
}

// Scheme is the protocol of a request.
//
// +kubebuilder:validation:Enum=http;https
type Scheme string

// The schemes.
const (
	HTTPScheme  Scheme = "http"
	HTTPSScheme Scheme = "https"
)

// ValueType is how the values of a metric are read.
//
// +kubebuilder:validation:Enum=Gauge;Rate
type ValueType string

// How values are read.
const (
	// GaugeValueType takes a value as it is.
	GaugeValueType ValueType = "Gauge"
	// RateValueType takes the increase of a counter per second.
	RateValueType ValueType = "Rate"
)

// NullValues is what an answer without a value counts as.
//
// +kubebuilder:validation:Enum=Fail;Zero
type NullValues string

// What an answer without a value counts as.
const (
	// NullValuesFail is no value.
	NullValuesFail NullValues = "Fail"
	// NullValuesZero is the value 0.
	NullValuesZero NullValues = "Zero"
)

// PrometheusMetricSource is the result of a query to Prometheus, or to a server with the
// same API.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.tlsConfig) || self.serverAddress.startsWith('https://')`,message="may be set only where serverAddress begins with https",fieldPath=".tlsConfig",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`!has(self.basicAuth) || !has(self.authorization)`,message="may not be set beside authorization",fieldPath=".basicAuth",reason="FieldValueForbidden"
type PrometheusMetricSource struct {
	// The URL of the server, such as http://prometheus.monitoring.svc:9090, with a path if
	// the API is below one. It must be a Service of this object's namespace, or one that the
	// controller's flag --metric-server permits.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`self.matches('^https?://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[[][0-9A-Fa-f:.]+])(:[0-9]{1,5})?(/([A-Za-z0-9._~!$&()*+,;=:/-]|%[0-9A-Fa-f]{2})*)?$') && isURL(self) && (url(self).getPort() == '' || (int(url(self).getPort()) >= 1 && int(url(self).getPort()) <= 65535))`,message="must be an http or https URL without user, query and fragment"
	ServerAddress string `json:"serverAddress"`

	// The query, in PromQL. Its result must be a scalar, or a vector of one element.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`

	// How often the server is asked, in seconds, from 1 to 300. The default is 5. The same
	// query of several objects is asked once.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`

	// How long the server may take to answer, in seconds, from 1 to 30. The default is 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// What an empty result, NaN and the infinities count as. Fail, the default: the metric
	// cannot be read then, so that nothing lowers the replica count. Zero: as 0, which is
	// KEDA's default.
	// +optional
	// +kubebuilder:default=Fail
	NullValues NullValues `json:"nullValues,omitempty"`

	// The tenant, for a server of several tenants. Without it no tenant is sent.
	// +optional
	Tenant *Tenant `json:"tenant,omitempty"`

	// The value of the query parameter namespace, which proxies before Prometheus ask for,
	// such as those of OpenShift and prom-label-proxy. Without it the parameter is not sent.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	NamespaceParameter string `json:"namespaceParameter,omitempty"`

	// Further query parameters, for servers that have some beside Prometheus' own, such as
	// dedup=false&max_source_resolution=5m for Thanos. Unless they are named here,
	// partial_response=false (Thanos) and deny_partial_response=1 (VictoriaMetrics) are sent:
	// such a server then refuses a query to which it knows only a part of the answer. Named
	// here with an empty value, they are not sent.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+([[]])?=[A-Za-z0-9_.~%+:,-]*(&[A-Za-z0-9_.-]+([[]])?=[A-Za-z0-9_.~%+:,-]*)*$`
	// +kubebuilder:validation:XValidation:rule=`!self.matches('(^|&)(query|time|timeout|namespace)=')`,message="may not have query, time, timeout and namespace: these are other fields, or Plimsoll's own"
	QueryParameters string `json:"queryParameters,omitempty"`

	// The target: value in total, or averageValue for each pod.
	// +kubebuilder:validation:XValidation:rule=`self.type != 'Utilization'`,message="must be Value or AverageValue",fieldPath=".type"
	Target MetricTarget `json:"target"`

	// A token that the server asks for.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`

	// A user and password that the server asks for.
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`

	// How the server's certificate is checked. It may be set only where serverAddress
	// begins with https. Without it the system's certificate authorities are trusted.
	// +optional
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
}

// Tenant is the tenant that a query is sent for.
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

// ExternalScalerMetricSource is a metric of a server that has KEDA's gRPC protocol for
// external scalers. The server also says whether the metric is active.
type ExternalScalerMetricSource struct {
	// The scaler, as HOST:PORT. It must be a Service of this object's namespace, or one
	// that the controller's flag --metric-server permits.
	// +kubebuilder:validation:MaxLength=262
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|[[][0-9a-fA-F:.]+]):[0-9]{1,5}$') && int(self.substring(self.lastIndexOf(':') + 1)) >= 1 && int(self.substring(self.lastIndexOf(':') + 1)) <= 65535`,message="must be a host and a port, such as my-scaler:9090"
	ScalerAddress string `json:"scalerAddress"`

	// What the scaler gets as scalerMetadata, beside scalerAddress.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule=`self.all(k, size(k) >= 1 && size(k) <= 253 && size(self[k]) <= 4096)`,message="must have keys of 1 to 253 characters, and values of at most 4096"
	// +kubebuilder:validation:XValidation:rule=`!('scalerAddress' in self)`,message="may not have the key scalerAddress: the scaler gets the field of that name"
	ScalerMetadata map[string]string `json:"scalerMetadata,omitempty"`

	// Which of the scaler's metrics. It is required if the scaler has several.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	MetricName string `json:"metricName,omitempty"`

	// The target: value in total, or averageValue for each pod. Without either of the two
	// the scaler's own target applies, in total or for each pod, as type says. Without the
	// whole field it applies for each pod.
	// +optional
	Target *ExternalScalerTarget `json:"target,omitempty"`

	// How often the scaler is asked, in seconds, from 1 to 300. The default is 5.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`

	// How it becomes known that the metric is active. Poll: the scaler is asked at each
	// interval. Push, the default: it may also report it in between (StreamIsActive), as
	// with KEDA's trigger external-push. A scaler that does not implement this is only
	// asked.
	// +optional
	// +kubebuilder:default=Push
	Delivery Delivery `json:"delivery,omitempty"`

	// Its presence means TLS, also if it is empty: the system's certificate authorities
	// are trusted then. Without it the connection is not encrypted.
	// +optional
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
}

// ExternalScalerTarget is the value that the autoscaler steers a scaler's metric to.
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

// HasValue reports whether the scaler's own target does not apply.
func (t *ExternalScalerTarget) HasValue() bool {
	return t != nil && (t.Value != nil || t.AverageValue != nil)
}

// Delivery is how it becomes known that a scaler's metric is active.
//
// +kubebuilder:validation:Enum=Poll;Push
type Delivery string

// How it becomes known.
const (
	// PollDelivery asks the scaler.
	PollDelivery Delivery = "Poll"
	// PushDelivery asks it, and lets it report between two questions.
	PushDelivery Delivery = "Push"
)
