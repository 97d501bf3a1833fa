package keda

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
)

// For an unknown trigger, the target comes from KEDA's HPA.
func TestTargetOfKEDAsHPA(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": APIVersion, "kind": Kind, "metadata": map[string]any{"name": "worker", "namespace": "shop"},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"name": "worker"},
			"triggers": []any{map[string]any{"type": "my-scaler", "metadata": map[string]any{"a": "b"},
				"useCachedMetrics": true}},
			"fallback": map[string]any{"failureThreshold": int64(2), "replicas": int64(4)},
		},
		"status": map[string]any{"externalMetricNames": []any{"s0-mine"}, "hpaName": "mine"},
	}}
	if HPAName(object) != "mine" {
		t.Error(HPAName(object))
	}
	value := resource.MustParse("7")
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType,
		External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "s0-mine"},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &value}}}}
	r, err := FromScaledObject(object, Options{HPA: hpa})
	if err != nil || r.Losses() != 0 || len(r.WorkloadAutoscaler.Spec.Metrics) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	m := r.WorkloadAutoscaler.Spec.Metrics[0]
	if m.External.Target.AverageValue.Cmp(value) != 0 || *m.Fallback.FailureDurationSeconds != 60 {
		t.Errorf("%+v", m)
	}
	unstructured.RemoveNestedField(object.Object, "status", "hpaName")
	if HPAName(object) != "keda-hpa-worker" {
		t.Error(HPAName(object))
	}
	if r, err = FromScaledObject(object, Options{}); err != nil || r.Losses() == 0 {
		t.Errorf("without KEDA's HPA: %+v, %v", r, err)
	}
}

// Each of a scaler's metrics becomes a metric, which KEDA or Plimsoll itself reads.
func TestScalerWithSeveralMetrics(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": APIVersion, "kind": Kind, "metadata": map[string]any{"name": "worker", "namespace": "shop"},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"name": "worker"},
			"triggers": []any{map[string]any{"type": "external-push",
				"metadata": map[string]any{"scalerAddress": "scaler:6000"}}},
		},
		"status": map[string]any{"externalMetricNames": []any{"s0-length", "s0-age", "s10-other"}},
	}}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	value := resource.MustParse("7")
	for _, name := range []string{"s0-length", "s0-age"} {
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType,
			External: &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: name},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &value}}})
	}
	for _, isNative := range []bool{false, true} {
		r, err := FromScaledObject(object, Options{HPA: hpa, IsNative: isNative})
		if err != nil || r.Losses() != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		var names []string
		for _, m := range r.WorkloadAutoscaler.Spec.Metrics {
			if isNative {
				names = append(names, m.ExternalScaler.MetricName)
			} else {
				names = append(names, strings.TrimPrefix(m.External.Metric.Name, "s0-"))
			}
		}
		if !slices.Equal(names, []string{"length", "age"}) {
			t.Errorf("native %t: %q", isNative, names)
		}
	}
}

// The printed annotation lets the owner of a Secret permit its use for servers without a verified identity.
func TestAnnotationOfSecrets(t *testing.T) {
	const address = "mimir.example.com:443"
	ca := func(secret string) *plimsollv1alpha1.SecretSource {
		return &plimsollv1alpha1.SecretSource{Secret: plimsollv1alpha1.SecretKeySelector{Name: secret, Key: "ca.crt"}}
	}
	for name, c := range map[string]struct {
		config *plimsollv1alpha1.TLSConfig
		want   string
	}{
		"no TLS":                      {nil, "http://" + address},
		"the system's authorities":    {&plimsollv1alpha1.TLSConfig{}, address},
		"insecure":                    {&plimsollv1alpha1.TLSConfig{InsecureSkipVerify: true}, "http://" + address},
		"caBundle":                    {&plimsollv1alpha1.TLSConfig{CABundle: []byte("x")}, "http://" + address},
		"another name":                {&plimsollv1alpha1.TLSConfig{ServerName: "mimir.svc"}, "http://" + address},
		"its own name":                {&plimsollv1alpha1.TLSConfig{ServerName: "mimir.example.com"}, address},
		"authority in the Secret":     {&plimsollv1alpha1.TLSConfig{CA: ca("mimir")}, address},
		"authority of another Secret": {&plimsollv1alpha1.TLSConfig{CA: ca("authority")}, "http://" + address},
	} {
		if got := annotationFor("mimir", address, c.config); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for host, want := range map[string]string{
		"https://mimir.example.com/prometheus": address, "http://mimir.example.com:9090": "http://mimir.example.com:9090",
	} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": APIVersion, "kind": Kind, "metadata": map[string]any{"name": "worker", "namespace": "shop"},
			"spec": map[string]any{
				"scaleTargetRef": map[string]any{"name": "worker"},
				"triggers": []any{map[string]any{"type": "prometheus", "authenticationRef": map[string]any{"name": "mimir"},
					"metadata": map[string]any{"serverAddress": host, "query": "up", "threshold": "5", "authModes": "bearer"}}},
			},
		}}
		authentication := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"secretTargetRef": []any{
			map[string]any{"parameter": "bearerToken", "name": "mimir", "key": "token"}}}}}
		r, err := FromScaledObject(object, Options{IsNative: true,
			Authentications: map[Reference]*unstructured.Unstructured{{Kind: AuthenticationKind, Name: "mimir"}: authentication}})
		if err != nil || !slices.ContainsFunc(r.Findings, func(f convert.Finding) bool {
			return strings.HasSuffix(f.Message, secretHosts+": "+want)
		}) {
			t.Errorf("%s: %+v, %v", host, r, err)
		}
	}
}

// A threshold that is never reached becomes a duration that never ends.
func TestThresholdOfManyDigits(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": APIVersion, "kind": Kind, "metadata": map[string]any{"name": "worker", "namespace": "shop"},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"name": "worker"},
			"triggers":       []any{map[string]any{"type": "prometheus", "metadata": map[string]any{"threshold": "5"}}},
			"fallback":       map[string]any{"failureThreshold": int64(200000000), "replicas": int64(4)},
		},
	}}
	r, err := FromScaledObject(object, Options{})
	if err != nil || len(r.WorkloadAutoscaler.Spec.Metrics) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := *r.WorkloadAutoscaler.Spec.Metrics[0].Fallback.FailureDurationSeconds; got != math.MaxInt32 {
		t.Errorf("the fallback is in force after %d s", got)
	}
}

// The reference is KEDA's own rule, at each minute: active if the next end is not after the next start.
func TestDuration(t *testing.T) {
	for _, c := range []struct {
		start, end string
		want       time.Duration
	}{
		{"0 8 * * *", "0 18 * * *", 10 * time.Hour},
		{"0 22 * * *", "0 4 * * *", 6 * time.Hour},
		{"0 8 * * 1-5", "30 18 * * 1-5", 10*time.Hour + 30*time.Minute},
		{"0 0 * * 6", "0 0 * * 1", 48 * time.Hour},
		{"0 0 24 12 *", "0 0 27 12 *", 72 * time.Hour},
		{"*/30 * * * *", "15-59/30 * * * *", 15 * time.Minute},
		// The last of several ends before the next start counts.
		{"0 8 * * *", "0 12,18 * * *", 10 * time.Hour},
		{"0 8 * * *", "0 8,18 * * *", 24 * time.Hour},
		{"0 8 * * *", "* 9-17 * * *", 9*time.Hour + 59*time.Minute},
		// There are ends on days without a start: from Friday on it lasts until Sunday.
		{"30 6 * * 1-5", "10 22 * * *", 0},
		// There are starts without an end before the next start: it is active on Friday alone.
		{"0 8 * * 1-5", "0 18 * * 5", 0},
		// It lasts until the last first of March before the next leap day.
		{"0 0 29 2 *", "0 0 1 3 *", 0},
		{"0 0 1 * *", "0 0 1 * *", 0},
		{"0 0 1 * *", "0 0 1 1-12 *", 0},
		{"0 8 30 2 *", "0 18 * * *", 0},
		{"0 8 * * *", "0 8 30 2 *", 0},
		{"8am", "0 8 * * *", 0},
		{"0 8 * * *", "", 0},
	} {
		times, err := scaledobject.CronOf(c.start, c.end)
		a := activity{times}
		var got time.Duration
		if err == nil {
			got, err = a.duration(time.UTC)
		}
		if got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%q to %q: %s, %v, want %s", c.start, c.end, got, err, c.want)
		}
		if c.want == 0 {
			continue
		}
		from := a.Starts.Next(time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))
		for at := from; at.Before(a.Starts.Next(from)) && at.Sub(from) < 8*24*time.Hour; at = at.Add(time.Minute) {
			isActive := !a.Starts.Next(at).Before(a.Ends.Next(at))
			if isActive != (at.Sub(from) < got) {
				t.Fatalf("%q to %q: at %s KEDA is active: %t", c.start, c.end, at, isActive)
			}
		}
	}
}

func scaledObject(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n" + manifest))
	object := &unstructured.Unstructured{}
	if err == nil {
		err = object.UnmarshalJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

const prometheusOfWorker = `
  triggers: [{type: prometheus, metadata: {serverAddress: "http://prometheus:9090", query: jobs, threshold: "5"}}]`

// Each of these settings of KEDA becomes a field or a finding.
func TestAsKEDA(t *testing.T) {
	const head = "metadata: {name: worker, namespace: shop%s}\nspec:\n  scaleTargetRef: {name: worker}"
	annotated := func(annotation string) string {
		return fmt.Sprintf(head, ", annotations: {"+annotation+`: "true"}`)
	}
	plain := fmt.Sprintf(head, "")
	cron := func(zone, more string) string {
		return plain + "\n  minReplicaCount: 1\n  triggers: [{type: cron, metadata: {timezone: " + zone +
			`, start: 0 22 * * *, end: 0 6 * * *, desiredReplicas: "3"` + more + "}]"
	}
	for name, c := range map[string]struct {
		manifest string
		least    int32
		field    string
		isLost   bool
		message  string
	}{
		"force-activation": {annotated("autoscaling.keda.sh/force-activation") + prometheusOfWorker, 1,
			"metadata.annotations[autoscaling.keda.sh/force-activation]", false, "out of zero: minReplicas becomes 1"},
		"force-activation with an idle count": {annotated("autoscaling.keda.sh/force-activation") +
			"\n  minReplicaCount: 3\n  idleReplicaCount: 0" + prometheusOfWorker, 3,
			"metadata.annotations[autoscaling.keda.sh/force-activation]", false, "minReplicas becomes 3"},
		"an unknown annotation": {annotated("autoscaling.keda.sh/future") + prometheusOfWorker, 0,
			"metadata.annotations[autoscaling.keda.sh/future]", true, "is unknown"},
		"cpu alone": {plain + `
  triggers: [{type: cpu, metricType: Utilization, metadata: {value: "60"}}]`, 1,
			"spec.minReplicaCount", false, "minReplicas becomes 1"},
		"fallback of a lost trigger": {plain + `
  minReplicaCount: 2
  fallback: {failureThreshold: 3, replicas: 4}
  triggers:
  - {type: cpu, metricType: Utilization, metadata: {value: "60"}}
  - {type: rabbitmq, metadata: {value: "5"}}`, 2, "spec.fallback", true, "triggers that it is for"},
		"fallback of cpu": {plain + `
  minReplicaCount: 2
  fallback: {failureThreshold: 3, replicas: 4}
  triggers: [{type: cpu, metricType: Utilization, metadata: {value: "60"}}]`, 2,
			"spec.fallback", false, "without effect"},
		"a quantity as a threshold": {plain + strings.Replace(prometheusOfWorker, `"5"`, "5k", 1), 0,
			"spec.triggers[0]", true, "not a number"},
		"a night with clock changes": {cron("Europe/Berlin", "}"), 1, "", false, ""},
		"one with two ends": {strings.Replace(cron("Europe/Berlin", "}"), "end: 0 6 * * *", `end: "0 5,6 * * *"`, 1), 1,
			"spec.triggers[0].metadata.end", false, "an hour earlier or later"},
		"a night without": {cron("Asia/Kolkata", "}"), 1, "", false, ""},
		"more than the max": {strings.Replace(cron("Etc/UTC", "}"), "  min", "  maxReplicaCount: 2\n  min", 1), 1,
			"spec.triggers[0].metadata.desiredReplicas", false, "3 becomes 2"},
		"fewer than the min": {strings.Replace(cron("Etc/UTC", "}"), "minReplicaCount: 1", "minReplicaCount: 5", 1), 5,
			"spec.triggers[0].metadata.desiredReplicas", false, "3 becomes 5"},
		"cron in KEDA's own zone": {cron("Local", "}"), 1, "spec.triggers[0].metadata.timezone", true, "name a time zone"},
		"cron of type Value": {cron("Etc/UTC", "}, metricType: Value"), 1,
			"spec.triggers[0].metricType", true, "asks for a count"},
	} {
		r, err := FromScaledObject(scaledObject(t, c.manifest), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := *r.WorkloadAutoscaler.Spec.MinReplicas; got != c.least {
			t.Errorf("%s: minReplicas %d, want %d", name, got, c.least)
		}
		for key := range r.WorkloadAutoscaler.Annotations {
			t.Errorf("%s: the WorkloadAutoscaler has %s", name, key)
		}
		if c.field == "" && len(r.Findings) > 0 || c.field != "" && !slices.ContainsFunc(r.Findings,
			func(f convert.Finding) bool {
				return f.Field == c.field && f.IsLost == c.isLost && strings.Contains(f.Message, c.message)
			}) {
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
}

// Two triggers with the same name become two schedules.
func TestNamesOfSchedules(t *testing.T) {
	r, err := FromScaledObject(scaledObject(t, `
metadata: {name: worker, namespace: shop}
spec:
  scaleTargetRef: {name: worker}
  triggers:
  - {type: cron, name: day, metadata: {timezone: Etc/UTC, start: 0 8 * * *, end: 0 18 * * *, desiredReplicas: "3"}}
  - {type: cron, name: day, metadata: {timezone: Etc/UTC, start: 0 9 * * *, end: 0 10 * * *, desiredReplicas: "4"}}`),
		Options{})
	if err != nil || len(r.WorkloadAutoscaler.Spec.Schedules) != 2 ||
		r.WorkloadAutoscaler.Spec.Schedules[0].Name == r.WorkloadAutoscaler.Spec.Schedules[1].Name {
		t.Errorf("%+v, %v", r, err)
	}
}

// With unsafeSsl KEDA checks no certificate, also if it has authorities.
func TestAuthoritiesBesideUnsafeSSL(t *testing.T) {
	for _, trigger := range []map[string]any{
		{"type": "prometheus", "authenticationRef": map[string]any{"name": "tls"}, "metadata": map[string]any{
			"serverAddress": "https://p", "query": "up", "threshold": "5", "authModes": "bearer", "unsafeSsl": "true"}},
		{"type": "external", "authenticationRef": map[string]any{"name": "tls"}, "metadata": map[string]any{
			"scalerAddress": "scaler:6000", "unsafeSsl": "true"}},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": APIVersion, "kind": Kind, "metadata": map[string]any{"name": "worker", "namespace": "shop"},
			"spec":   map[string]any{"scaleTargetRef": map[string]any{"name": "worker"}, "triggers": []any{trigger}},
			"status": map[string]any{"externalMetricNames": []any{"s0-length"}},
		}}
		parameter := func(name string) map[string]any {
			return map[string]any{"parameter": name, "name": "tls", "key": "x"}
		}
		authentication := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"secretTargetRef": []any{
			parameter("bearerToken"), parameter("ca"), parameter("caCert")}}}}
		value := resource.MustParse("5")
		hpa := &autoscalingv2.HorizontalPodAutoscaler{}
		hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType,
			External: &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: "s0-length"},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &value}}}}
		r, err := FromScaledObject(object, Options{IsNative: true, HPA: hpa,
			Authentications: map[Reference]*unstructured.Unstructured{{Kind: AuthenticationKind, Name: "tls"}: authentication}})
		if err != nil || r.Losses() != 0 {
			t.Fatalf("%v: %+v, %v", trigger["type"], r, err)
		}
		m := r.WorkloadAutoscaler.Spec.Metrics[0]
		config := &plimsollv1alpha1.TLSConfig{}
		if m.Prometheus != nil {
			config = m.Prometheus.TLSConfig
		} else {
			config = m.ExternalScaler.TLSConfig
		}
		isSaid := slices.ContainsFunc(r.Findings, func(f convert.Finding) bool {
			return strings.Contains(f.Message, "without effect beside unsafeSsl")
		})
		if !config.InsecureSkipVerify || config.CA != nil || !isSaid {
			t.Errorf("%v: %+v, %+v", trigger["type"], config, r.Findings)
		}
	}
}
