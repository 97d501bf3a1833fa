package sources_test

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

func pointer[T any](value T) *T { return &value }

func average(text string) plimsollv1alpha1.MetricTarget {
	return plimsollv1alpha1.MetricTarget{
		Type: plimsollv1alpha1.AverageValueMetricType, AverageValue: pointer(resource.MustParse(text)),
	}
}

func podEndpoint() plimsollv1alpha1.PodEndpointMetricSource {
	return plimsollv1alpha1.PodEndpointMetricSource{
		Port: intstr.FromString("http"), Metric: plimsollv1alpha1.SeriesIdentifier{Name: "http_requests_total"},
		ValueType: plimsollv1alpha1.RateValueType, Target: average("10"),
	}
}

func prometheus() plimsollv1alpha1.PrometheusMetricSource {
	return plimsollv1alpha1.PrometheusMetricSource{
		ServerAddress: "http://prometheus:9090/", Query: "sum(up)", Target: average("10"),
	}
}

func scaler() plimsollv1alpha1.ExternalScalerMetricSource {
	return plimsollv1alpha1.ExternalScalerMetricSource{ScalerAddress: "scaler:9090"}
}

func metricOf(source any) plimsollv1alpha1.MetricSpec {
	switch s := source.(type) {
	case plimsollv1alpha1.PodEndpointMetricSource:
		return plimsollv1alpha1.MetricSpec{Type: plimsollv1alpha1.PodEndpointMetricSourceType, PodEndpoint: &s}
	case plimsollv1alpha1.PrometheusMetricSource:
		return plimsollv1alpha1.MetricSpec{Type: plimsollv1alpha1.PrometheusMetricSourceType, Prometheus: &s}
	case plimsollv1alpha1.ExternalScalerMetricSource:
		return plimsollv1alpha1.MetricSpec{Type: plimsollv1alpha1.ExternalScalerMetricSourceType, ExternalScaler: &s}
	default:
		panic("no metric source")
	}
}

// An object from a file means the same as one with the API server's defaults.
func TestDefaultsAreTheAPIServers(t *testing.T) {
	spec := plimsollv1alpha1.WorkloadAutoscalerSpec{
		Metrics: []plimsollv1alpha1.MetricSpec{metricOf(podEndpoint()), metricOf(prometheus()), metricOf(scaler())},
	}
	plain := specsOf(t, &spec)
	plimsollv1alpha1.SetDefaults(&spec)
	if diff := cmp.Diff(plain, specsOf(t, &spec),
		cmp.AllowUnexported(sources.Selector{}, sources.Metadata{})); diff != "" {
		t.Error(diff)
	}
	want := []sources.Spec{
		{PodEndpoint: &sources.PodEndpoint{
			PortName: "http", Path: "/metrics", Metric: "http_requests_total", IsRate: true, Timeout: 5 * time.Second,
			Window: 15 * time.Second,
		}},
		{Prometheus: &sources.Prometheus{
			Address: "http://prometheus:9090", Query: "sum(up)", Interval: 5 * time.Second, Timeout: 3 * time.Second,
		}},
		{ExternalScaler: &sources.ExternalScaler{
			Address: "scaler:9090", Metadata: plain[2].ExternalScaler.Metadata, Interval: 5 * time.Second, IsPushed: true,
			Timeout: 3 * time.Second,
		}},
	}
	if diff := cmp.Diff(want, plain, cmp.AllowUnexported(sources.Selector{}, sources.Metadata{})); diff != "" {
		t.Error(diff)
	}
}

func TestOfOthersIsNothing(t *testing.T) {
	spec := plimsollv1alpha1.WorkloadAutoscalerSpec{
		Metrics: []plimsollv1alpha1.MetricSpec{{Type: plimsollv1alpha1.PodsMetricSourceType}, {Type: "PodEndpoint"}},
	}
	if got := specsOf(t, &spec); got != nil {
		t.Errorf("got %v", got)
	}
	spec.Metrics = append(spec.Metrics, metricOf(scaler()))
	if got := specsOf(t, &spec); len(got) != 3 || got[0] != (sources.Spec{}) || got[2].ExternalScaler == nil {
		t.Errorf("got %v", got)
	}
}

// specsOf returns the specs of the metrics of an object.
func specsOf(t *testing.T, spec *plimsollv1alpha1.WorkloadAutoscalerSpec) []sources.Spec {
	t.Helper()
	_, specs, refusal := policyOf(spec.Metrics)
	if refusal.Reason != "" {
		t.Error(refusal.Message)
	}
	return specs
}

func policyOf(metrics []plimsollv1alpha1.MetricSpec) (horizontal.Policy, []sources.Spec, horizontal.Refusal) {
	wla := &plimsollv1alpha1.WorkloadAutoscaler{Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{Metrics: metrics}}
	return observehorizontal.PolicyOf(observehorizontal.WorkloadAutoscaler(wla), observehorizontal.DefaultOptions())
}

func TestSelector(t *testing.T) {
	expression := func(label string, operator metav1.LabelSelectorOperator,
		values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: label, Operator: operator, Values: values}
	}
	one, err := sources.SelectorOf(&metav1.LabelSelector{
		MatchLabels: map[string]string{"path": "/check out", "job": "web"},
		MatchExpressions: []metav1.LabelSelectorRequirement{
			expression("code", metav1.LabelSelectorOpNotIn, "500", "404", "500"),
			expression("zone", metav1.LabelSelectorOpExists),
			expression("canary", metav1.LabelSelectorOpDoesNotExist),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := one.String(), "!canary,code notin (404,500),job=web,path=/check out,zone"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	other, err := sources.SelectorOf(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		expression("zone", metav1.LabelSelectorOpExists), expression("canary", metav1.LabelSelectorOpDoesNotExist),
		expression("path", metav1.LabelSelectorOpIn, "/check out"), expression("job", metav1.LabelSelectorOpIn, "web"),
		expression("code", metav1.LabelSelectorOpNotIn, "404", "500"),
	}})
	if err != nil || one != other {
		t.Errorf("the order counts: %s, %s, %v", one, other, err)
	}
	for _, invalid := range []metav1.LabelSelectorRequirement{
		expression("", metav1.LabelSelectorOpExists), expression("a", metav1.LabelSelectorOpIn),
		expression("a", metav1.LabelSelectorOpExists, "b"), expression("a", "Equals", "b"),
	} {
		if _, err := sources.SelectorOf(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			invalid}}); err == nil {
			t.Errorf("%v is taken", invalid)
		}
	}
	many := metav1.LabelSelectorRequirement{Key: "code", Operator: metav1.LabelSelectorOpNotIn}
	for i := range sources.MaxSelectorValues {
		many.Values = append(many.Values, strconv.Itoa(i))
	}
	if _, err := sources.SelectorOf(&metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{many},
	}); err == nil || !strings.Contains(err.Error(), "has 257 labels and values: at most 256") {
		t.Errorf("a long selector: %v", err)
	}
	none, err := sources.SelectorOf(&metav1.LabelSelector{})
	if err != nil || none != (sources.Selector{}) || none.String() != "" || none.Requirements() != nil {
		t.Errorf("an empty selector is %v, %v", none, err)
	}
}

func TestMetadata(t *testing.T) {
	one, other := scaler(), scaler()
	one.ScalerMetadata = map[string]string{"queue": "a\"<b>", "region": "eu"}
	other.ScalerMetadata = map[string]string{"region": "eu", "queue": "a\"<b>"}
	a, errA := sources.ExternalScalerOf(&one)
	b, errB := sources.ExternalScalerOf(&other)
	if errA != nil || errB != nil || a != b {
		t.Fatalf("%v, %v are different: %v, %v", a, b, errA, errB)
	}
	want := map[string]string{"queue": "a\"<b>", "region": "eu", "scalerAddress": "scaler:9090"}
	if diff := cmp.Diff(want, a.Metadata.Map()); diff != "" {
		t.Error(diff)
	}
}

// TestPlaintextWithTLS: a tlsConfig with content is refused where the connection would not be encrypted.
func TestPlaintextWithTLS(t *testing.T) {
	for _, c := range []struct {
		transport plimsollv1alpha1.Transport
		config    *plimsollv1alpha1.TLSConfig
		isRefused bool
	}{
		{"", nil, false},
		{"", &plimsollv1alpha1.TLSConfig{}, false},
		{"", &plimsollv1alpha1.TLSConfig{CABundle: []byte("PEM")}, true},
		{plimsollv1alpha1.PlaintextTransport, &plimsollv1alpha1.TLSConfig{ServerName: "scaler"}, true},
		{plimsollv1alpha1.PlaintextTransport, &plimsollv1alpha1.TLSConfig{InsecureSkipVerify: true}, true},
		{plimsollv1alpha1.TLSTransport, &plimsollv1alpha1.TLSConfig{CABundle: []byte("PEM")}, false},
	} {
		m := scaler()
		m.Transport, m.TLSConfig = c.transport, c.config
		_, err := sources.ExternalScalerOf(&m)
		isRefused := err != nil && strings.HasPrefix(err.Error(), "tlsConfig: ")
		if isRefused != c.isRefused || !c.isRefused && err != nil {
			t.Errorf("transport %q with %+v: %v", c.transport, c.config, err)
		}
	}
}

// TestEmptyTLSConfig: an empty tlsConfig means the same as none, with and without TLS.
func TestEmptyTLSConfig(t *testing.T) {
	equal := func(what string, of func(*plimsollv1alpha1.TLSConfig) (any, error)) {
		t.Helper()
		without, err := of(nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if empty, err := of(&plimsollv1alpha1.TLSConfig{}); err != nil || empty != without {
			t.Errorf("%s: %+v, %v; without tlsConfig %+v", what, empty, err, without)
		}
	}
	for _, transport := range []plimsollv1alpha1.Transport{"", plimsollv1alpha1.PlaintextTransport, plimsollv1alpha1.TLSTransport} {
		equal("externalScaler with transport "+string(transport), func(c *plimsollv1alpha1.TLSConfig) (any, error) {
			m := scaler()
			m.Transport, m.TLSConfig = transport, c
			return sources.ExternalScalerOf(&m)
		})
	}
	for _, scheme := range []plimsollv1alpha1.Scheme{"", plimsollv1alpha1.HTTPScheme, plimsollv1alpha1.HTTPSScheme} {
		equal("podEndpoint with scheme "+string(scheme), func(c *plimsollv1alpha1.TLSConfig) (any, error) {
			m := podEndpoint()
			m.Scheme, m.TLSConfig = scheme, c
			return sources.PodEndpointOf(&m)
		})
	}
	for _, address := range []string{"http://prometheus:9090", "https://prometheus:9090"} {
		equal("prometheus at "+address, func(c *plimsollv1alpha1.TLSConfig) (any, error) {
			m := prometheus()
			m.ServerAddress, m.TLSConfig = address, c
			return sources.PrometheusOf(&m)
		})
	}
}

func TestCredentials(t *testing.T) {
	key := func(key string) plimsollv1alpha1.SecretKeySelector {
		return plimsollv1alpha1.SecretKeySelector{Name: "secret", Key: key}
	}
	m := podEndpoint()
	m.Scheme = plimsollv1alpha1.HTTPSScheme
	m.BasicAuth = &plimsollv1alpha1.BasicAuth{Username: key("user"), Password: key("password")}
	m.TLSConfig = &plimsollv1alpha1.TLSConfig{
		CA:         &plimsollv1alpha1.SecretSource{Secret: key("ca")},
		Cert:       &plimsollv1alpha1.SecretSource{Secret: key("cert")},
		Key:        &plimsollv1alpha1.SecretSource{Secret: key("key")},
		ServerName: "web", InsecureSkipVerify: true,
	}
	got, err := sources.PodEndpointOf(&m)
	if err != nil {
		t.Fatal(err)
	}
	secret := func(key string) sources.SecretKey { return sources.SecretKey{Name: "secret", Key: key} }
	want := sources.PodEndpoint{
		PortName: "http", Path: "/metrics", IsTLS: true, Metric: "http_requests_total", IsRate: true,
		Credentials: sources.Credentials{Username: secret("user"), Password: secret("password")},
		TLS: sources.TLS{
			CA: secret("ca"), Cert: secret("cert"), Key: secret("key"), ServerName: "web", InsecureSkipVerify: true,
		},
		Timeout: 5 * time.Second, Window: 15 * time.Second,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	p := prometheus()
	p.Authorization = &plimsollv1alpha1.Authorization{Credentials: key("token")}
	p.Tenant, p.TLSConfig = &plimsollv1alpha1.Tenant{ID: "team-a"}, &plimsollv1alpha1.TLSConfig{CABundle: []byte("PEM")}
	query, err := sources.PrometheusOf(&p)
	if err != nil || query.Credentials.Token != secret("token") || query.TLS.CABundle != "PEM" ||
		query.Tenant != "team-a" || query.TenantHeader != "X-Scope-OrgID" {
		t.Errorf("got %+v, %v", query, err)
	}
}

func TestSpecOfOwnMetrics(t *testing.T) {
	change := func(m plimsollv1alpha1.PodEndpointMetricSource, f func(*plimsollv1alpha1.PodEndpointMetricSource)) any {
		f(&m)
		return m
	}
	for name, tt := range map[string]struct {
		source any
		want   source.Spec
		err    string
	}{
		"a pod endpoint": {podEndpoint(), source.Spec{
			Name: "http_requests_total", IsRate: true, Target: source.Target{Type: source.AverageValue, Milli: 10_000},
		}, ""},
		"a query": {prometheus(), source.Spec{
			Name: "sum(up)", Target: source.Target{Type: source.AverageValue, Milli: 10_000},
		}, ""},
		"a scaler": {scaler(), source.Spec{
			Name: "scaler:9090", IsOwnTarget: true, Target: source.Target{Type: source.AverageValue},
		}, ""},
		"a scaler's total": {func() any {
			m := scaler()
			m.MetricName = "jobs"
			m.Target = &plimsollv1alpha1.ExternalScalerTarget{Type: plimsollv1alpha1.ValueMetricType}
			return m
		}(), source.Spec{Name: "jobs", IsOwnTarget: true, Target: source.Target{Type: source.Value}}, ""},
		"a scaler with a target": {func() any {
			m := scaler()
			m.Target = &plimsollv1alpha1.ExternalScalerTarget{Type: "Value", Value: pointer(resource.MustParse("500m"))}
			return m
		}(), source.Spec{Name: "scaler:9090", Target: source.Target{Type: source.Value, Milli: 500}}, ""},
		"an invalid selector": {change(podEndpoint(), func(m *plimsollv1alpha1.PodEndpointMetricSource) {
			m.Metric.Selector = &plimsollv1alpha1.SeriesSelector{MatchExpressions: []plimsollv1alpha1.SeriesSelectorRequirement{
				{Key: "a", Operator: "Is"}}}
		}), source.Spec{
			Name: "http_requests_total", Target: source.Target{Type: source.AverageValue, Milli: 10_000},
			SelectorError: `spec.metrics[0].podEndpoint.metric.selector: a: "Is" is not an operator`,
		}, ""},
		"no port": {change(podEndpoint(), func(m *plimsollv1alpha1.PodEndpointMetricSource) { m.Port = intstr.FromInt32(0) }),
			source.Spec{Name: "http_requests_total", Target: source.Target{Type: source.AverageValue, Milli: 10_000}},
			"spec.metrics[0].podEndpoint: Invalid value: port: 0: out of range"},
		"no metric's name": {change(podEndpoint(), func(m *plimsollv1alpha1.PodEndpointMetricSource) { m.Metric.Name = "2xx" }),
			source.Spec{Name: "2xx", Target: source.Target{Type: source.AverageValue, Milli: 10_000}},
			`metric.name: "2xx" is no name of a metric in Prometheus' formats`},
		"no sample type": {change(podEndpoint(), func(m *plimsollv1alpha1.PodEndpointMetricSource) { m.ValueType = "" }),
			source.Spec{Name: "http_requests_total", Target: source.Target{Type: source.AverageValue, Milli: 10_000}},
			`valueType: "" is neither Gauge nor Rate`},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, refusal := policyOf([]plimsollv1alpha1.MetricSpec{metricOf(tt.source)})
			if diff := cmp.Diff(tt.want, p.Metrics[0], cmpopts.IgnoreFields(source.Spec{}, "Identity", "Type")); diff != "" {
				t.Error(diff)
			}
			if (tt.err == "") != (refusal.Reason == "") || !strings.Contains(refusal.Message, tt.err) {
				t.Errorf("got %v, want %q", refusal, tt.err)
			}
		})
	}
}

func TestNameOfQuery(t *testing.T) {
	for query, want := range map[string]string{
		"sum(\n  rate(x[1m])\n)\n": "sum( rate(x[1m]) )",
		strings.Repeat("é", 40):    strings.Repeat("é", 30) + "...",
		strings.Repeat("x", 64):    strings.Repeat("x", 64),
		strings.Repeat("x", 65):    strings.Repeat("x", 61) + "...",
	} {
		m := prometheus()
		m.Query = query
		spec := metricOf(m)
		if got := sources.Name(&spec); got != want || !utf8.ValidString(got) {
			t.Errorf("%q becomes %q, want %q", query, got, want)
		}
	}
}

// The measured value has an identity, without the settings of reading and comparing it.
func TestIdentity(t *testing.T) {
	identity := func(source any) string {
		m := metricOf(source)
		return extended(t, &m).Identity
	}
	same := podEndpoint()
	same.Target, same.NullValues, same.Path = average("5"), plimsollv1alpha1.NullValuesZero, "/metrics"
	if a, b := identity(podEndpoint()), identity(same); a == "" || a != b {
		t.Errorf("%q and %q measure the same", a, b)
	}
	query, other := prometheus(), prometheus()
	query.IntervalSeconds, other.Query = pointer[int32](60), "sum(down)"
	if a := identity(prometheus()); a != identity(query) || a == identity(other) {
		t.Errorf("%q, %q, %q", a, identity(query), identity(other))
	}
	jobs := scaler()
	jobs.ScalerMetadata = map[string]string{"queue": "jobs"}
	rate := podEndpoint()
	rate.ValueType = plimsollv1alpha1.GaugeValueType
	all := map[string]any{}
	for _, m := range []any{podEndpoint(), rate, prometheus(), other, scaler(), jobs} {
		id := identity(m)
		if all[id] != nil {
			t.Errorf("%+v and %+v are the same", all[id], m)
		}
		all[id] = m
	}
}

func extended(t *testing.T, m *plimsollv1alpha1.MetricSpec) source.Spec {
	t.Helper()
	var spec source.Spec
	if _, errs := sources.Of(m, &spec, field.NewPath("metric")); errs != nil {
		t.Error(errs)
	}
	return spec
}
