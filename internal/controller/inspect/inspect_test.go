package inspect

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// decisions passes a decision on shop/web to each inspector at once.
type decisions struct {
	mu      sync.Mutex
	waiting int
}

func (d *decisions) Inspect(object observe.Key, inspector controllerhorizontal.Inspector) (stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting++
	if object.Name == "web" && object.Kind == observe.HorizontalPodAutoscaler ||
		object.Name == "batch" && object.Kind == observe.WorkloadAutoscaler {
		for range 3 {
			inspector(&snapshothorizontal.Step{
				Snapshot: &snapshothorizontal.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
					Time: time.Unix(1, 5).UTC()},
				HPA: &autoscalingv2.HorizontalPodAutoscaler{
					ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
					Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 3},
				},
				Scale: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}},
			}, nil)
		}
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.waiting--
	}
}

// NotDecided reports that another controller decides on shop/left.
func (d *decisions) NotDecided(object observe.Key) string {
	if object.Name == "left" {
		return "it is left to kube-controller-manager"
	}
	return ""
}

// Knows reports whether it is shop/late.
func (d *decisions) Knows(object observe.Key) bool { return object.Name == "late" }

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestHandler(t *testing.T) {
	source := &decisions{}
	server, err := New("127.0.0.1:0", Sources{Horizontal: source}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	server.wait = 10 * time.Millisecond
	listening := httptest.NewServer(server.Handler())
	defer listening.Close()
	status, body := get(t, listening.URL+"/horizontalpodautoscalers/shop/web/snapshot")
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, body)
	}
	step, err := snapshothorizontal.NewReader(strings.NewReader(body)).Next()
	if err != nil || step.HPA.Name != "web" || step.Snapshot.Time.Nanosecond() != 5 {
		t.Errorf("the answer reads as %+v, %v", step, err)
	}
	for path, want := range map[string]int{
		"/workloadautoscalers/shop/web/snapshot":        http.StatusGatewayTimeout,
		"/workloadautoscalers/shop/batch/snapshot":      http.StatusOK,
		"/horizontalpodautoscalers/shop/left/snapshot":  http.StatusConflict,
		"/horizontalpodautoscalers/shop/other/snapshot": http.StatusGatewayTimeout,
		"/horizontalpodautoscalers/shop/NO!/snapshot":   http.StatusBadRequest,
		"/horizontalpodautoscalers/shop":                http.StatusNotFound,
	} {
		if got, body := get(t, listening.URL+path); got != want {
			t.Errorf("%s is answered with %d: %s; want %d", path, got, body, want)
		}
	}
	const left = "plimsoll does not act on HorizontalPodAutoscaler shop/left: it is left to kube-controller-manager\n"
	if _, body := get(t, listening.URL+"/horizontalpodautoscalers/shop/left/snapshot"); body != left {
		t.Errorf("%q, want %q", body, left)
	}
	for name, want := range map[string]string{
		"other": "there is no such object, or another replica leads",
		"late":  "this replica leads, and is late with its decisions; the last one is in the object's status",
	} {
		if _, body := get(t, listening.URL+"/horizontalpodautoscalers/shop/"+name+"/snapshot"); !strings.HasSuffix(body,
			"within 10ms: "+want+"\n") {
			t.Errorf("%q, want %q", body, want)
		}
	}
	if source.waiting != 0 {
		t.Errorf("%d inspectors are left behind", source.waiting)
	}
}

// TestOnlySoManyWait: requests for many objects at once do not fill the leader's memory. TestVerticalAlone: a process
// without the horizontal side knows no HPAs, and still its updater.
func TestVerticalAlone(t *testing.T) {
	s, err := New("127.0.0.1:0", Sources{Vertical: updaterStates{}}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/horizontalpodautoscalers/shop/web/snapshot": http.StatusNotFound,
		"/verticalpodautoscalers/shop/web/updater":    http.StatusOK,
	} {
		recorder := httptest.NewRecorder()
		s.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if recorder.Code != want {
			t.Errorf("%s: %d, want %d", path, recorder.Code, want)
		}
	}
}

func TestOnlySoManyWait(t *testing.T) {
	server, err := New("[::1]:0", Sources{Horizontal: &decisions{}}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	for range maxWaiting {
		server.waiting <- struct{}{}
	}
	listening := httptest.NewServer(server.Handler())
	defer listening.Close()
	if status, body := get(t, listening.URL+"/horizontalpodautoscalers/shop/web/snapshot"); status != http.StatusTooManyRequests {
		t.Errorf("%d: %s", status, body)
	}
}

func TestNewRequiresLoopback(t *testing.T) {
	for _, address := range []string{":8082", "0.0.0.0:8082", "10.0.0.1:8082", "example.org:80", "8082"} {
		if _, err := New(address, Sources{Horizontal: &decisions{}}, logr.Discard()); err == nil {
			t.Errorf("%s is taken", address)
		}
	}
	for _, address := range []string{"127.0.0.1:8082", "localhost:0", "[::1]:8082"} {
		if _, err := New(address, Sources{Horizontal: &decisions{}}, logr.Discard()); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// updaterStates has the state of shop/web alone.
type updaterStates struct{}

func (updaterStates) UpdaterState(object types.NamespacedName) *snapshotvertical.Snapshot {
	if object.Name != "web" {
		return nil
	}
	return &snapshotvertical.Snapshot{Flags: map[string]string{"min-replicas": "3"},
		Updater: &snapshotvertical.Updater{Time: time.Unix(1, 5).UTC()}}
}

// The state of the vertical side is returned at once, with times to the nanosecond.
func TestUpdaterState(t *testing.T) {
	for why, c := range map[string]struct {
		source VerticalSource
		path   string
		status int
		words  string
	}{
		"it is known": {updaterStates{}, "/verticalpodautoscalers/shop/web/updater", http.StatusOK,
			`"time":"1970-01-01T00:00:01.000000005Z"`},
		"it is not": {updaterStates{}, "/verticalpodautoscalers/shop/api/updater", http.StatusNotFound,
			"the updater does not run here"},
		"no name":                {updaterStates{}, "/verticalpodautoscalers/shop/NO!/updater", http.StatusBadRequest, "invalid name"},
		"no vertical side there": {nil, "/verticalpodautoscalers/shop/web/updater", http.StatusNotFound, "does not run here"},
	} {
		server, err := New("127.0.0.1:0", Sources{Horizontal: &decisions{}, Vertical: c.source}, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		listening := httptest.NewServer(server.Handler())
		status, body := get(t, listening.URL+c.path)
		listening.Close()
		if status != c.status || !strings.Contains(body, c.words) {
			t.Errorf("%s: %d: %s", why, status, body)
		}
	}
}

// recordedLoads has a history of WorkloadAutoscaler shop/web, and one of shop/broken that cannot be encoded.
type recordedLoads struct{}

func (recordedLoads) EncodedHistory(object observe.Key) (encoded []byte, isWhole bool, err error) {
	switch {
	case object.Kind == observe.WorkloadAutoscaler && object.Name == "web":
		return []byte{1, 0, 2}, true, nil
	case object.Kind == observe.WorkloadAutoscaler && object.Name == "new":
		return []byte{1, 0, 3}, false, nil
	case object.Name == "broken":
		return nil, true, errors.New("it is broken")
	}
	return nil, true, nil
}

func (recordedLoads) EncodedMetricHistories(object observe.Key) ([]loadhistory.EncodedMetric, error) {
	switch object.Name {
	case "web":
		return []loadhistory.EncodedMetric{{Name: "cpu", History: []byte{1}}, {Name: "rps", History: []byte{2}}}, nil
	case "broken":
		return nil, errors.New("it is broken")
	}
	return nil, nil
}

// TestHistory: the response is the recorded load as it is encoded; a missing history differs from an unreadable one.
func TestHistory(t *testing.T) {
	for why, c := range map[string]struct {
		source HistorySource
		path   string
		status int
		body   string
	}{
		"recorded": {recordedLoads{}, "/workloadautoscalers/shop/web/history", http.StatusOK, "\x01\x00\x02"},
		"of another kind": {recordedLoads{}, "/horizontalpodautoscalers/shop/web/history", http.StatusNotFound,
			"there is no history of HorizontalPodAutoscaler shop/web here"},
		"cannot be encoded": {recordedLoads{}, "/workloadautoscalers/shop/broken/history",
			http.StatusInternalServerError, "it is broken"},
		"no name":      {recordedLoads{}, "/workloadautoscalers/shop/NO!/history", http.StatusBadRequest, "invalid name"},
		"nothing kept": {nil, "/workloadautoscalers/shop/web/history", http.StatusNotFound, "no history of loads is kept"},
		"by metric": {recordedLoads{}, "/workloadautoscalers/shop/web/metric-histories", http.StatusOK,
			`[{"name":"cpu","history":"AQ=="},{"name":"rps","history":"Ag=="}]`},
		"by one metric alone": {recordedLoads{}, "/workloadautoscalers/shop/new/metric-histories", http.StatusOK, "null"},
		"by metric, cannot be encoded": {recordedLoads{}, "/workloadautoscalers/shop/broken/metric-histories",
			http.StatusInternalServerError, "it is broken"},
	} {
		server, err := New("127.0.0.1:0", Sources{Horizontal: &decisions{}, History: c.source}, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		listening := httptest.NewServer(server.Handler())
		status, body := get(t, listening.URL+c.path)
		listening.Close()
		if status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %d: %q", why, status, body)
		}
	}
}

// TestHistorySinceTheStart: the response has a header if a checkpoint may have more.
func TestHistorySinceTheStart(t *testing.T) {
	server, err := New("127.0.0.1:0", Sources{Horizontal: &decisions{}, History: recordedLoads{}}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"web": "", "new": "since-start"} {
		answer := httptest.NewRecorder()
		server.Handler().ServeHTTP(answer,
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/workloadautoscalers/shop/"+name+"/history", nil))
		if got := answer.Header().Get("Plimsoll-History"); got != want || answer.Code != http.StatusOK {
			t.Errorf("%s: %d, %q", name, answer.Code, got)
		}
	}
}
