package telemetry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
)

// Asked is one request for one object's pods.
type Asked struct {
	Object int
	// At is the time of the response.
	At time.Time
	// Newest is the time of the newest sample in the answer.
	Newest time.Time
}

// metricsAPI serves metrics.k8s.io/v1beta1 as metrics-server does: in JSON, and in protobuf for clients that accept it.
type metricsAPI struct {
	model    *model
	encoders map[string]runtime.Encoder // by media type
	asked    func(Asked)
}

func newMetricsAPI(m *model, asked func(Asked)) (*metricsAPI, error) {
	scheme := runtime.NewScheme()
	if err := metricsv1beta1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	codecs := serializer.NewCodecFactory(scheme)
	api := &metricsAPI{model: m, encoders: map[string]runtime.Encoder{}, asked: asked}
	for _, info := range codecs.SupportedMediaTypes() {
		api.encoders[info.MediaType] = codecs.EncoderForVersion(info.Serializer, metricsv1beta1.SchemeGroupVersion)
	}
	return api, nil
}

func (a *metricsAPI) handler() http.Handler {
	mux := http.NewServeMux()
	version := metricsv1beta1.SchemeGroupVersion
	pods := metav1.APIResource{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}}
	mux.Handle("GET /apis/"+version.String(), answer(&metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: version.String(), APIResources: []metav1.APIResource{pods},
	}))
	mux.HandleFunc("GET /apis/"+version.String()+"/namespaces/{namespace}/pods", a.list)
	return mux
}

func answer(value any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		_ = json.NewEncoder(w).Encode(value) // fails only if the client went away
	})
}

// list answers for the pods of one object: the only question that autoscalers have.
func (a *metricsAPI) list(w http.ResponseWriter, r *http.Request) {
	name, isApp := strings.CutPrefix(r.URL.Query().Get("labelSelector"), population.AppLabel+"=")
	object, found := a.model.Size.Find(r.PathValue("namespace"), name)
	if !isApp || !found {
		http.Error(w, "only the pods of one object can be listed here", http.StatusBadRequest)
		return
	}
	now := time.Now()
	list, newest := a.podMetrics(object, now)
	media := mediaType(r.Header.Get("Accept"))
	w.Header().Set("Content-Type", media)
	if err := a.encoders[media].Encode(list, w); err != nil {
		return // the client went away
	}
	a.asked(Asked{Object: object, At: now, Newest: newest})
}

// mediaType is protobuf for clients that accept it.
func mediaType(accept string) string {
	if strings.Contains(accept, runtime.ContentTypeProtobuf) {
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}

func (a *metricsAPI) podMetrics(object int, now time.Time) (list *metricsv1beta1.PodMetricsList, newest time.Time) {
	round := a.model.round(now)
	list = &metricsv1beta1.PodMetricsList{Items: make([]metricsv1beta1.PodMetrics, a.model.Size.PodsPer)}
	for n := range list.Items {
		place := population.Place{Object: object, Pod: n}
		nanoCores, at, window := a.model.usage(place, round)
		if at.After(newest) {
			newest = at
		}
		list.Items[n] = metricsv1beta1.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{
				Name: population.PodName(object, n), Namespace: a.model.Size.NamespaceOf(object),
				Labels: population.PodLabels(object), CreationTimestamp: metav1.NewTime(now),
			},
			Timestamp: metav1.NewTime(at), Window: metav1.Duration{Duration: window.Round(time.Millisecond)},
			Containers: []metricsv1beta1.ContainerMetrics{{Name: population.Container, Usage: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewScaledQuantity(nanoCores, resource.Nano),
				corev1.ResourceMemory: *resource.NewQuantity(MemoryBytes, resource.BinarySI),
			}}},
		}
	}
	return list, newest
}
