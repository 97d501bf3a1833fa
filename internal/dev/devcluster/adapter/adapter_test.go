package adapter

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	custommetricsv1beta1 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta1"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	custommetricsclient "k8s.io/metrics/pkg/client/custom_metrics"
	externalmetricsclient "k8s.io/metrics/pkg/client/external_metrics"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/world"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// fixed is a Source with two namespaces; labels of pods are {"app": the service's name}.
type fixed struct{ scale float64 }

var sampledAt = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func (f fixed) At() time.Time { return sampledAt }

func (f fixed) Services(namespace string) []world.ServiceView {
	view := func(name string, offered, queue float64) world.ServiceView {
		return world.ServiceView{Namespace: namespace, Name: name,
			Stats: workloadmodel.WorkloadStats{OfferedPerSecond: offered * f.scale, QueueLength: queue * f.scale}}
	}
	switch namespace {
	case "shop":
		return []world.ServiceView{view("api", 12.5, 3), view("web", 100, 40)}
	case "bank":
		return []world.ServiceView{view("web", 1, 1000)}
	}
	return nil
}

func (f fixed) Pods(namespace string, selector labels.Selector) []world.PodView {
	var views []world.PodView
	for i, service := range []string{"api", "web", "web"} {
		if namespace == "shop" && selector.Matches(labels.Set{"app": service}) {
			views = append(views, world.PodView{Namespace: namespace, Name: fmt.Sprintf("%s-%d", service, i), Service: service,
				Stats: workloadmodel.PodStats{ServedPerSecond: (10 + float64(i)/3) * f.scale}})
		}
	}
	return views
}

// fixture is a running adapter and the clients that HPAs use.
type fixture struct {
	*Server
	api      *miniAPIServer
	rest     *rest.Config
	mapper   meta.RESTMapper
	custom   custommetricsclient.CustomMetricsClient
	external externalmetricsclient.ExternalMetricsClient
}

func newFixture(t *testing.T, source Source, user string) fixture {
	t.Helper()
	ca := newAuthority(t, "front proxy CA")
	f := fixture{api: newMiniAPIServer(t, ca)}
	certPEM, keyPEM := ca.server()
	var err error
	f.Server, err = Serve(t.Context(), Config{
		Source: source, Kubeconfig: f.api.kubeconfig, CertFile: writeFile(t, "tls.crt", certPEM),
		KeyFile: writeFile(t, "tls.key", keyPEM),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	clientCert, clientKey := ca.client(frontProxy)
	f.rest = &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", f.Port()), QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca.pem, CertData: clientCert, KeyData: clientKey},
		// The headers that the API server's aggregation layer adds.
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				r = r.Clone(r.Context())
				r.Header.Set("X-Remote-User", user)
				return next.RoundTrip(r)
			})
		},
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Version: "v1"}})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Service"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	f.mapper = mapper
	if f.custom, err = custommetricsclient.NewForVersionForConfig(f.rest,
		mapper, custommetricsv1beta2.SchemeGroupVersion); err != nil {
		t.Fatal(err)
	}
	if f.external, err = externalmetricsclient.NewForConfig(f.rest); err != nil {
		t.Fatal(err)
	}
	return f
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func selector(t *testing.T, text string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	podKind       = schema.GroupKind{Kind: "Pod"}
	serviceKind   = schema.GroupKind{Kind: "Service"}
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
)

func (f fixture) pods(t *testing.T, podSelector, metricSelector string) (map[string]string, error) {
	t.Helper()
	list, err := f.custom.NamespacedMetrics("shop").GetForObjects(podKind, selector(t, podSelector), MetricPodRequests,
		selector(t, metricSelector))
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for i := range list.Items {
		item := &list.Items[i]
		values[item.DescribedObject.Name] = item.Value.String()
		if item.DescribedObject.Kind != "Pod" || item.DescribedObject.Namespace != "shop" ||
			!item.Timestamp.Time.Equal(sampledAt) {
			t.Errorf("item %+v", item)
		}
	}
	return values, nil
}

func (f fixture) queues(t *testing.T, namespace, metricSelector string) (map[string]string, error) {
	t.Helper()
	list, err := f.external.NamespacedMetrics(namespace).List(MetricQueueLength, selector(t, metricSelector))
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for i := range list.Items {
		values[list.Items[i].MetricLabels["namespace"]+"/"+
			list.Items[i].MetricLabels["service"]] = list.Items[i].Value.String()
	}
	return values, nil
}

// TestMetrics shares one server: starting it takes most of a test's time.
func TestMetrics(t *testing.T) {
	f := newFixture(t, fixed{scale: 1}, allowedUser)
	t.Run("PodsMetric", func(t *testing.T) { testPodsMetric(t, f) })
	t.Run("OlderVersion", func(t *testing.T) { testOlderVersion(t, f) })
	t.Run("ObjectMetric", func(t *testing.T) { testObjectMetric(t, f) })
	t.Run("ExternalMetric", func(t *testing.T) { testExternalMetric(t, f) })
	t.Run("Discovery", func(t *testing.T) { testDiscovery(t, f) })
}

func testPodsMetric(t *testing.T, f fixture) {
	all := map[string]string{"api-0": "10", "web-1": "10333m", "web-2": "10667m"}
	for name, tt := range map[string]struct {
		pods, metric string
		want         map[string]string
	}{
		"all pods":             {"", "", all},
		"by the pods' labels":  {"app=web", "", map[string]string{"web-1": "10333m", "web-2": "10667m"}},
		"by the metric's":      {"", "service in (api)", map[string]string{"api-0": "10"}},
		"by both, contrary":    {"app=web", "service=api", map[string]string{}},
		"no such label of it":  {"", "verb=GET", map[string]string{}},
		"no pod of these":      {"app=none", "", map[string]string{}},
		"a label it must lack": {"", "!verb", all},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := f.pods(t, tt.pods, tt.metric)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	_, err := f.custom.NamespacedMetrics("shop").GetForObjects(podKind, labels.Everything(), "made_up",
		labels.Everything())
	if !apierrors.IsNotFound(err) {
		t.Errorf("an unknown metric: %v", err)
	}
}

func testOlderVersion(t *testing.T, f fixture) {
	var err error
	if f.custom, err = custommetricsclient.NewForVersionForConfig(f.rest,
		f.mapper, custommetricsv1beta1.SchemeGroupVersion); err != nil {
		t.Fatal(err)
	}
	got, err := f.pods(t, "app=api", "service=api")
	if diff := cmp.Diff(map[string]string{"api-0": "10"}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func testObjectMetric(t *testing.T, f fixture) {
	shop := f.custom.NamespacedMetrics("shop")
	got, err := shop.GetForObject(serviceKind, "web", MetricServiceRequests, selector(t, "service=web"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Value.String() != "100" || got.DescribedObject.Kind != "Service" ||
		got.Metric.Selector.MatchLabels["service"] != "web" {
		t.Errorf("%+v", got)
	}
	if _, err := shop.GetForObject(serviceKind, "web", MetricServiceRequests,
		selector(t, "service=api")); !apierrors.IsNotFound(err) {
		t.Errorf("a selector that does not match: %v", err)
	}
	if _, err := shop.GetForObject(serviceKind, "nobody", MetricServiceRequests,
		labels.Everything()); !apierrors.IsNotFound(err) {
		t.Errorf("a service without load: %v", err)
	}
	got, err = f.custom.RootScopedMetrics().GetForObject(namespaceKind, "shop", MetricServiceRequests, labels.Everything())
	if err != nil {
		t.Fatal(err)
	}
	if got.Value.String() != "112500m" || got.DescribedObject.Name != "shop" || got.DescribedObject.Kind != "Namespace" {
		t.Errorf("%+v", got)
	}
}

func testExternalMetric(t *testing.T, f fixture) {
	for name, tt := range map[string]struct {
		namespace, selector string
		want                map[string]string
	}{
		"all of the namespace":       {"shop", "", map[string]string{"shop/api": "3", "shop/web": "40"}},
		"one service":                {"shop", "service=web", map[string]string{"shop/web": "40"}},
		"namespace label":            {"bank", "namespace=bank", map[string]string{"bank/web": "1k"}},
		"not another one's queue":    {"shop", "namespace=bank", map[string]string{}},
		"a namespace without a load": {"void", "", map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := f.queues(t, tt.namespace, tt.selector)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := f.external.NamespacedMetrics("shop").List("made_up", labels.Everything()); !apierrors.IsNotFound(err) {
		t.Errorf("an unknown metric: %v", err)
	}
}

func testDiscovery(t *testing.T, f fixture) {
	client := discovery.NewDiscoveryClientForConfigOrDie(f.rest)
	for groupVersion, want := range map[string][]string{
		"custom.metrics.k8s.io/v1beta1": {"namespaces/requests_per_second", "pods/http_requests_per_second",
			"services/requests_per_second"},
		"custom.metrics.k8s.io/v1beta2": {"namespaces/requests_per_second", "pods/http_requests_per_second",
			"services/requests_per_second"},
		"external.metrics.k8s.io/v1beta1": {"queue_length"},
	} {
		list, err := client.ServerResourcesForGroupVersion(groupVersion)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for i := range list.APIResources {
			names[list.APIResources[i].Name] = true
		}
		for _, name := range want {
			if !names[name] {
				t.Errorf("%s has %v, not %s", groupVersion, names, name)
			}
		}
	}
}

func TestOnlyAllowedUsers(t *testing.T) {
	f := newFixture(t, fixed{scale: 1}, "mallory")
	if _, err := f.queues(t, "shop", ""); !apierrors.IsForbidden(err) {
		t.Errorf("a user whom the cluster does not allow: %v", err)
	}
	if f.api.reviews.Load() == 0 {
		t.Error("the cluster was not asked")
	}
	anonymous := rest.CopyConfig(f.rest)
	anonymous.CertData, anonymous.KeyData = nil, nil // names a user, but is not the front proxy
	client, err := externalmetricsclient.NewForConfig(anonymous)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.NamespacedMetrics("shop").List(MetricQueueLength, labels.Everything())
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		t.Errorf("without a certificate: %v", err)
	}
}

func TestTwoInOneProcess(t *testing.T) {
	one, two := newFixture(t, fixed{scale: 1}, allowedUser), newFixture(t, fixed{scale: 2}, allowedUser)
	for want, f := range map[string]fixture{"40": one, "80": two} {
		got, err := f.queues(t, "shop", "service=web")
		if err != nil || got["shop/web"] != want {
			t.Errorf("%v %v, want %s", got, err, want)
		}
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := two.queues(t, "shop", "service=web"); err != nil || got["shop/web"] != "80" {
		t.Errorf("the other one, after one is closed: %v %v", got, err)
	}
}

// TestFaults shares one server too; each fault must heal.
func TestFaults(t *testing.T) {
	f := newFixture(t, fixed{scale: 1}, allowedUser)
	t.Run("FaultsInValues", func(t *testing.T) { testFaultsInValues(t, f) })
	t.Run("FaultsInsteadOfValues", func(t *testing.T) { testFaultsInsteadOfValues(t, f) })
	t.Run("SlowMetric", func(t *testing.T) { testSlowMetric(t, f) })
	t.Run("DiscoveryGoesOnWhileAMetricIsDown", func(t *testing.T) { testDiscoveryGoesOnWhileAMetricIsDown(t, f) })
}

// healed clears the faults and expects the metrics back.
func (f fixture) healed(t *testing.T) {
	t.Helper()
	f.Faults.Clear()
	if got, err := f.pods(t, "app=api", ""); err != nil || got["api-0"] != "10" {
		t.Errorf("not healed: %v %v", got, err)
	}
	if got, err := f.queues(t, "shop", ""); err != nil || len(got) != 2 {
		t.Errorf("not healed: %v %v", got, err)
	}
}

func testFaultsInValues(t *testing.T, f fixture) {
	negative := -5.0
	for name, tt := range map[string]struct {
		fault           Fault
		pods, queues    int
		onePod, oneShop string
	}{
		"negative":     {Fault{Value: &negative}, 3, 2, "-5", "-5"},
		"empty":        {Fault{Empty: true}, 0, 0, "", ""},
		"far too many": {Fault{Items: 100000}, 100003, 3, "10333m", "40"}, // external ghosts all have the same, empty labels
	} {
		t.Run(name, func(t *testing.T) {
			f.Faults.Set(MetricPodRequests, tt.fault)
			f.Faults.Set(MetricQueueLength, tt.fault)
			pods, podsErr := f.pods(t, "", "")
			queues, queuesErr := f.queues(t, "shop", "")
			if podsErr != nil || len(pods) != tt.pods || pods["web-1"] != tt.onePod {
				t.Errorf("%d pods, one has %q, error %v", len(pods), pods["web-1"], podsErr)
			}
			if queuesErr != nil || len(queues) != tt.queues || queues["shop/web"] != tt.oneShop {
				t.Errorf("%d queues, one has %q, error %v", len(queues), queues["shop/web"], queuesErr)
			}
			f.healed(t)
		})
	}
}

func testFaultsInsteadOfValues(t *testing.T, f fixture) {
	for name, tt := range map[string]struct {
		pods, queues Fault
		want         string
	}{
		"down":        {Fault{Err: "the database is gone"}, Fault{Err: "the database is gone"}, "the database is gone"},
		"undecodable": {Fault{Body: UndecodableList(false)}, Fault{Body: UndecodableList(true)}, "quantities must match"},
	} {
		t.Run(name, func(t *testing.T) {
			f.Faults.Set(MetricPodRequests, tt.pods)
			f.Faults.Set(MetricQueueLength, tt.queues)
			_, podsErr := f.pods(t, "", "")
			_, queuesErr := f.queues(t, "shop", "")
			for _, err := range []error{podsErr, queuesErr} {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want an error with %q", err, tt.want)
				}
				if tt.pods.Err != "" && !apierrors.IsInternalError(err) {
					t.Errorf("%v is no internal error", err)
				}
			}
			f.healed(t)
		})
	}
}

func testSlowMetric(t *testing.T, f fixture) {
	f.Faults.Set(MetricQueueLength, Fault{Delay: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	client, err := rest.HTTPClientFor(f.rest)
	if err != nil {
		t.Fatal(err)
	}
	url := f.rest.Host + "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/" + MetricQueueLength
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := client.Do(request); err == nil {
		_ = response.Body.Close()
		t.Errorf("answered %s at once", response.Status)
	}
	if _, err := f.pods(t, "", ""); err != nil {
		t.Errorf("another metric suffers: %v", err)
	}
	f.healed(t)
}

func testDiscoveryGoesOnWhileAMetricIsDown(t *testing.T, f fixture) {
	f.Faults.Set(MetricQueueLength, Fault{Err: "down"})
	client := discovery.NewDiscoveryClientForConfigOrDie(f.rest)
	if _, err := client.ServerResourcesForGroupVersion("external.metrics.k8s.io/v1beta1"); err != nil {
		t.Error(err)
	}
	f.healed(t)
}

func TestServeNeedsItsParts(t *testing.T) {
	if _, err := Serve(t.Context(), Config{Source: fixed{}}); err == nil {
		t.Error("served without certificates")
	}
	if _, err := Serve(t.Context(),
		Config{Source: fixed{}, Kubeconfig: "nowhere", CertFile: "none", KeyFile: "none"}); err == nil {
		t.Error("served without a kubeconfig")
	}
}
