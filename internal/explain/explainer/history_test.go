package explainer

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

var recordedFrom = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// encoded returns a history of an hour with so many pods.
func encoded(t *testing.T, pods int32) []byte {
	t.Helper()
	return encodedFrom(t, recordedFrom, pods)
}

// encodedFrom returns the part of that history from a time on.
func encodedFrom(t *testing.T, from time.Time, pods int32) []byte {
	t.Helper()
	var h loadhistory.History
	for at := from; at.Before(recordedFrom.Add(time.Hour)); at = at.Add(time.Second) {
		h.Add(at, loadhistory.Point{Load: float64(pods), Wanted: pods, Ready: pods})
	}
	b, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// answers serves JSON documents and bytes by their paths, and 404 elsewhere.
func answers(t *testing.T, all map[string]any) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, found := all[r.URL.Path]
		if _, isSinceStart := all["since-start"]; isSinceStart {
			w.Header().Set("Plimsoll-History", "since-start")
		}
		w.Header().Set("Content-Type", "application/json")
		switch b, isBytes := answer.([]byte); {
		case !found:
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
				Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Details: &metav1.StatusDetails{Name: "web"}}
		case isBytes:
			_, _ = w.Write(b)
			return
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

const (
	autoscalerPath = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web"
	checkpointPath = "/apis/plimsoll.dev/v1alpha1/namespaces/shop/autoscalercheckpoints/hpa-web"
	leaderPath     = "/horizontalpodautoscalers/shop/web/history"
)

var storedAutoscaler = map[string]any{
	"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
	"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "u-1"},
}

func checkpointOf(uid string, savedAt time.Time, history []byte) *plimsollv1alpha1.AutoscalerCheckpoint {
	c := &plimsollv1alpha1.AutoscalerCheckpoint{
		TypeMeta: metav1.TypeMeta{
			APIVersion: plimsollv1alpha1.SchemeGroupVersion.String(), Kind: plimsollv1alpha1.CheckpointKind,
		},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "hpa-web", CreationTimestamp: metav1.NewTime(recordedFrom.Add(-24 * time.Hour)),
		},
		Spec: plimsollv1alpha1.AutoscalerCheckpointSpec{LastUpdateTime: metav1.NewTime(savedAt), History: history},
	}
	c.Spec.Autoscaler.Kind, c.Spec.Autoscaler.Name = "HorizontalPodAutoscaler", "web"
	c.Spec.Autoscaler.UID = types.UID(uid)
	return c
}

// TestWhereHistoryIsFrom: the leader's history is the newest. If it cannot be read, the object's checkpoint is used,
// and the output shows its age and the reason. If there is no checkpoint either, the error names both.
func TestWhereHistoryIsFrom(t *testing.T) {
	savedAt, now := recordedFrom.Add(50*time.Minute), recordedFrom.Add(time.Hour)
	for why, c := range map[string]struct {
		api, leader map[string]any
		// pods is the count in the history; 0 for an error with these words.
		pods  int32
		words []string
		saved time.Time
		// last is the count at its end, if it differs.
		last int32
	}{
		"leader": {
			api:    map[string]any{checkpointPath: checkpointOf("u-1", savedAt, encoded(t, 3))},
			leader: map[string]any{leaderPath: encoded(t, 7)}, pods: 7,
		},
		"checkpoint": {
			api:  map[string]any{checkpointPath: checkpointOf("u-1", savedAt, encoded(t, 3))},
			pods: 3, saved: savedAt, words: []string{"answers 404"},
		},
		"a leader since its start": {
			api:    map[string]any{checkpointPath: checkpointOf("u-1", savedAt, encoded(t, 3))},
			leader: map[string]any{leaderPath: encodedFrom(t, recordedFrom.Add(50*time.Minute), 7), "since-start": nil},
			pods:   3, saved: savedAt, last: 7,
		},
		"a leader since its start, and no checkpoint": {
			leader: map[string]any{leaderPath: encodedFrom(t, recordedFrom.Add(50*time.Minute), 7), "since-start": nil},
			pods:   7,
		},
		"checkpoint without a time": {
			api:  map[string]any{checkpointPath: checkpointOf("u-1", time.Time{}, encoded(t, 3))},
			pods: 3, saved: recordedFrom.Add(-24 * time.Hour),
		},
		"another UID": {
			api:   map[string]any{checkpointPath: checkpointOf("u-2", savedAt, encoded(t, 3))},
			words: []string{"AutoscalerCheckpoint hpa-web is of another object", "u-2", "answers 404"},
		},
		"a UID that would write to the terminal": {
			api:   map[string]any{checkpointPath: checkpointOf("u\x1b[2J\n", savedAt, encoded(t, 3))},
			words: []string{`with UID "u\x1b[2J\n"`},
		},
		"damaged": {
			api:   map[string]any{checkpointPath: checkpointOf("u-1", savedAt, []byte("no history"))},
			words: []string{"AutoscalerCheckpoint hpa-web cannot be read", "answers 404"},
		},
		"a leader that answers anything": {
			leader: map[string]any{leaderPath: []byte("<html>")},
			words:  []string{"the controller's answer", "there is no AutoscalerCheckpoint of it"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			api := map[string]any{autoscalerPath: storedAutoscaler}
			for path, answer := range c.api {
				api[path] = answer
			}
			reader, err := NewClusterReader(&rest.Config{Host: answers(t, api)}, leader.Finder{Address: answers(t, c.leader)},
				Options{Controller: Auto, Period: 15 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			report, err := reader.Report(t.Context(), observe.HPA("shop", "web"), time.Hour, now)
			said := ""
			if err != nil {
				said = err.Error()
			} else {
				said = report.Source.NoLeader + report.Source.NoCheckpoint
			}
			for _, words := range c.words {
				if !strings.Contains(said, words) {
					t.Errorf("%q is missing in %q", words, said)
				}
			}
			switch {
			case (err == nil) != (c.pods > 0):
				t.Fatalf("%+v, %v", report, err)
			case err == nil && (report.Timeline.Cells[0].Wanted != c.pods || !report.Source.SavedAt.Equal(c.saved)):
				t.Errorf("%d pods, saved at %v", report.Timeline.Cells[0].Wanted, report.Source.SavedAt)
			}
			if c.last > 0 {
				if cells := report.Timeline.Cells; cells[len(cells)-1].Wanted != c.last || !report.Source.IsSinceStart {
					t.Errorf("%d pods at the end", cells[len(cells)-1].Wanted)
				}
			}
		})
	}
}

// TestNoAutoscaler: a history without its object leads to an error.
func TestNoAutoscaler(t *testing.T) {
	api := map[string]any{checkpointPath: checkpointOf("u-1", recordedFrom, encoded(t, 3))}
	reader, err := NewClusterReader(&rest.Config{Host: answers(t, api)},
		leader.Finder{Address: answers(t, map[string]any{leaderPath: encoded(t, 7)})}, Options{Controller: Auto})
	if err != nil {
		t.Fatal(err)
	}
	_, err = reader.Report(t.Context(), observe.HPA("shop", "web"), time.Hour, recordedFrom.Add(time.Hour))
	if err == nil || !strings.Contains(err.Error(), `horizontalpodautoscalers.autoscaling "web" not found`) {
		t.Errorf("%v", err)
	}
}

// TestLoadsByMetric: the leader has the loads of each metric. A leader without them is treated as one that does not
// know the request.
func TestLoadsByMetric(t *testing.T) {
	several := maps.Clone(storedAutoscaler)
	several["spec"] = map[string]any{"metrics": []any{map[string]any{"type": "Resource"}, map[string]any{"type": "Pods"}}}
	api := map[string]any{autoscalerPath: several}
	h := loadhistory.OfMetric()
	h.Add(recordedFrom, loadhistory.Point{Load: 3})
	h.Add(recordedFrom.Add(time.Minute), loadhistory.Point{Load: 4})
	one, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	metrics := []loadhistory.EncodedMetric{{Name: "cpu", History: one}, {Name: "rps", History: one}}
	const metricsPath = "/horizontalpodautoscalers/shop/web/metric-histories"
	for why, c := range map[string]struct {
		leader map[string]any
		names  int
		fails  string
	}{
		"two metrics":      {map[string]any{leaderPath: encoded(t, 7), metricsPath: metrics}, 2, ""},
		"a single metric":  {map[string]any{leaderPath: encoded(t, 7), metricsPath: []byte("null")}, 0, ""},
		"it does not know": {map[string]any{leaderPath: encoded(t, 7)}, 0, ""},
		"damaged": {map[string]any{leaderPath: encoded(t, 7), metricsPath: []loadhistory.EncodedMetric{{Name: "cpu"}}}, 0,
			`the controller's answer about metric "cpu"`},
	} {
		reader, err := NewClusterReader(&rest.Config{Host: answers(t, api)}, leader.Finder{Address: answers(t, c.leader)},
			Options{Controller: Auto, Period: 15 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		report, err := reader.Report(t.Context(), observe.HPA("shop", "web"), time.Hour, recordedFrom.Add(time.Hour))
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", why, err)
			}
		case err != nil || len(report.Metrics) != c.names:
			t.Errorf("%s: %+v, %v", why, report, err)
		}
	}
}
