package explainer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/explain/forecastreport"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// loadAt returns the load at a time in pods at the target: 10 for an hour from 12:00 UTC, otherwise 2.
func loadAt(at time.Time) float64 {
	if at.UTC().Hour() == 12 {
		return 10
	}
	return 2
}

// cluster returns an HPA with a CPU target of half of a request of half a core, and a pod that was ready after 40 s.
func cluster() map[string]any {
	created := recordedFrom.Add(-time.Hour)
	ready := metav1.NewTime(created.Add(40 * time.Second))
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", CreationTimestamp: metav1.NewTime(created)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ready}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{
				Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(created.Add(time.Second))}}}},
		},
	}
	hpa := map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
		"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "u-1"},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
			"minReplicas":    2, "maxReplicas": 40,
			"metrics": []any{map[string]any{"type": "Resource", "resource": map[string]any{
				"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": 50}}}},
		},
	}
	return map[string]any{
		autoscalerPath: hpa,
		"/api":         metav1.APIVersions{Versions: []string{"v1"}},
		"/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "apps",
			Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "apps/v1", Version: "v1"}}}}},
		"/api/v1": metav1.APIResourceList{GroupVersion: "v1"},
		"/apis/apps/v1": metav1.APIResourceList{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
			{Name: "deployments", Kind: "Deployment", Namespaced: true}, {Name: "deployments/scale", Kind: "Scale", Namespaced: true}}},
		"/apis/apps/v1/namespaces/shop/deployments/web/scale": autoscalingv1.Scale{
			TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
			Status:   autoscalingv1.ScaleStatus{Replicas: 1, Selector: "app=web"},
		},
		"/api/v1/namespaces/shop/pods": corev1.PodList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{pod},
		},
	}
}

func readerOf(t *testing.T, api, leading map[string]any) *ClusterReader {
	t.Helper()
	reader, err := NewClusterReader(&rest.Config{Host: answers(t, api)}, leader.Finder{Address: answers(t, leading)},
		Options{Controller: Auto, Period: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

// prometheus returns a server with the CPU usage of that load.
func prometheus(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, _ := strconv.ParseFloat(r.FormValue("start"), 64)
		end, _ := strconv.ParseFloat(r.FormValue("end"), 64)
		var points []string
		for s := start; s <= end && strings.HasPrefix(r.FormValue("query"), "sum(max by (pod, container) (rate"); s += 60 {
			points = append(points, fmt.Sprintf(`[%f,"%g"]`, s, 0.25*loadAt(time.Unix(int64(s)-90, 0))))
		}
		series := ""
		if len(points) > 0 {
			series = `{"metric":{},"values":[` + strings.Join(points, ",") + `]}`
		}
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[` + series + `]}}`))
	}))
	t.Cleanup(server.Close)
	return server
}

// TestForecastFromPrometheus: the load is the used cores divided by a pod's usage at the target. The start-up time is
// that of the existing pods, unless the user sets it.
func TestForecastFromPrometheus(t *testing.T) {
	server := prometheus(t)
	config := prometheushistory.DefaultConfig()
	config.Address = server.URL
	client, err := prometheushistory.New(config)
	if err != nil {
		t.Fatal(err)
	}
	reader := readerOf(t, cluster(), nil)
	from := forecastreport.PastLoad{Prometheus: client, Lasts: 5 * 24 * time.Hour}
	r, err := forecastreport.Read(t.Context(), reader, observe.HPA("shop", "web"), from, recordedFrom)
	if err != nil {
		t.Fatal(err)
	}
	if r.Config.StartUp != 40*time.Second || r.IsStartUpGiven || r.Config.MaxReplicas != 40 || r.Load.Full != 2 {
		t.Errorf("%+v", r.Config)
	}
	if r.Source != "CPU use in Prometheus" || r.Mode != forecast.Preview {
		t.Errorf("%s, %s", r.Source, r.Mode)
	}
	last := r.Result.Days[len(r.Result.Days)-2]
	if last.Lacking < 5 || last.Avoided < last.Lacking/2 || last.Reason != forecast.ReasonInUse {
		t.Errorf("the last whole day: %+v", last)
	}
	from.StartUp = 5 * time.Minute
	slow, err := forecastreport.Read(t.Context(), reader, observe.HPA("shop", "web"), from, recordedFrom)
	if err != nil || slow.Config.StartUp != from.StartUp || slow.Result.Days[1].Lacking <= r.Result.Days[1].Lacking {
		t.Errorf("with a start-up of 5 minutes: %v, %+v", err, slow)
	}
}

// TestForecastOfRecord: without Prometheus, the controller's record is used, and the output shows which part of it is
// coarse.
func TestForecastOfRecord(t *testing.T) {
	var h loadhistory.History
	const days = 4
	for s := 0; s < days*86400; s += 15 {
		at := recordedFrom.Add(time.Duration(s-days*86400) * time.Second)
		// With constant counts, the whole record would be fine-grained.
		count := int32(2 + s/60%5)
		h.Add(at, loadhistory.Point{Load: loadAt(at), Wanted: count, Ready: count, PerPodMilli: 250})
	}
	recorded, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	reader := readerOf(t, cluster(), map[string]any{leaderPath: recorded})
	from := forecastreport.PastLoad{Lasts: 21 * 24 * time.Hour}
	r, err := forecastreport.Read(t.Context(), reader, observe.HPA("shop", "web"), from, recordedFrom)
	if err != nil {
		t.Fatal(err)
	}
	if fine := r.Known - r.Coarse; fine < 24*60 || r.Coarse < 24*60 || r.Known < days*24*60-10 ||
		!strings.Contains(r.Source, "recorded by Plimsoll, read from the controller") {
		t.Errorf("%d minutes known, %d coarse, %s", r.Known, r.Coarse, r.Source)
	}
	if last := r.Result.Days[days-1]; last.MostReplicas < 7 || last.Lacking == 0 {
		t.Errorf("%+v", last)
	}
}

// TestNoForecast: the error names the missing data and the user's next step.
func TestNoForecast(t *testing.T) {
	withoutMetrics, withoutScale := cluster(), cluster()
	withoutMetrics[autoscalerPath].(map[string]any)["spec"].(map[string]any)["metrics"] = []any{}
	delete(withoutScale, "/apis/apps/v1/namespaces/shop/deployments/web/scale")
	client, err := prometheushistory.New(prometheushistory.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		api  map[string]any
		from forecastreport.PastLoad
	}{
		"with --prometheus-address, the load is read from Prometheus": {cluster(), forecastreport.PastLoad{Lasts: time.Hour}},
		"it has no CPU metric":        {withoutMetrics, forecastreport.PastLoad{Lasts: time.Hour, Prometheus: client}},
		"the scale of Deployment web": {withoutScale, forecastreport.PastLoad{Lasts: time.Hour}},
	} {
		_, err := forecastreport.Read(t.Context(), readerOf(t, c.api, nil), observe.HPA("shop", "web"), c.from, recordedFrom)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
