package vpa

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// server responds to each request as the test configures, and records the requests.
type server struct {
	t       *testing.T
	answers map[string]func(body []byte) (int, any)
	asked   []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	name := r.Method + " " + r.URL.Path
	if c := r.URL.Query().Get("continue"); c != "" {
		name += " " + c
	}
	s.asked = append(s.asked, name)
	answer, known := s.answers[name]
	if !known {
		s.t.Errorf("unexpected request %s", name)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	code, object := answer(body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(object); err != nil {
		s.t.Error(err)
	}
}

func start(t *testing.T, answers map[string]func(body []byte) (int, any)) (*Client, *server) {
	t.Helper()
	s := &server{t: t, answers: answers}
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	client, err := New(&rest.Config{Host: listener.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client, s
}

func is(object any) func([]byte) (int, any) {
	return func([]byte) (int, any) { return http.StatusOK, object }
}

func fails(err *apierrors.StatusError) func([]byte) (int, any) {
	return func([]byte) (int, any) {
		status := err.ErrStatus
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		return int(status.Code), status
	}
}

const (
	group       = "/apis/autoscaling.k8s.io/v1"
	checkpoints = group + "/namespaces/shop/verticalpodautoscalercheckpoints"
)

func TestServed(t *testing.T) {
	both := &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "verticalpodautoscalers"},
		{Name: "verticalpodautoscalercheckpoints"}}}
	for why, c := range map[string]struct {
		answer func([]byte) (int, any)
		want   bool
		fails  bool
	}{
		"both definitions are there": {answer: is(both), want: true},
		"only one":                   {answer: is(&metav1.APIResourceList{APIResources: both.APIResources[:1]})},
		"the group is not there":     {answer: fails(apierrors.NewNotFound(vpav1.Resource(""), ""))},
		"the API server cannot tell": {answer: fails(apierrors.NewForbidden(vpav1.Resource(""), "", io.EOF)), fails: true},
	} {
		client, _ := start(t, map[string]func([]byte) (int, any){"GET " + group: c.answer})
		if got, err := client.Served(t.Context()); got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %t, %v", why, got, err)
		}
	}
}

// A writer of status gets the changes of others.
func TestUpdateStatus(t *testing.T) {
	object := &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "u1", ResourceVersion: "1",
	}}
	latest := object.DeepCopy()
	latest.ResourceVersion = "2"
	latest.Status.Conditions = []vpav1.VerticalPodAutoscalerCondition{{Type: "Other", Status: "True"}}
	const path = group + "/namespaces/shop/verticalpodautoscalers/web"
	stored := ""
	client, s := start(t, map[string]func([]byte) (int, any){
		"GET " + path: is(latest),
		"PATCH " + path + "/status": func(body []byte) (int, any) {
			if !strings.Contains(string(body), `{"op":"add","path":"/metadata/resourceVersion","value":"2"}`) {
				return fails(apierrors.NewConflict(vpav1.Resource("x"), "web", io.EOF))(body)
			}
			stored = string(body)
			return http.StatusOK, latest
		},
	})
	mine := vpav1.VerticalPodAutoscalerCondition{Type: "LowConfidence", Status: "True"}
	_, err := client.UpdateStatus(t.Context(), object, func(status *vpav1.VerticalPodAutoscalerStatus) bool {
		status.Conditions = append(status.Conditions, mine)
		return true
	})
	if err != nil || !strings.Contains(stored, "Other") || !strings.Contains(stored, "LowConfidence") ||
		len(object.Status.Conditions) != 0 {
		t.Errorf("%v, stored %s", err, stored)
	}
	s.asked = nil
	written,
		err := client.UpdateStatus(t.Context(), object, func(*vpav1.VerticalPodAutoscalerStatus) bool { return false })
	if written != nil || err != nil || len(s.asked) != 0 {
		t.Errorf("nothing to write: %v, %v, %v", written, err, s.asked)
	}
	latest.UID = "u2"
	_, err = client.UpdateStatus(t.Context(), object, func(*vpav1.VerticalPodAutoscalerStatus) bool { return true })
	if !errors.Is(err, ErrReplaced) {
		t.Errorf("another object of the same name: %v", err)
	}
}

func checkpoint() *vpav1.VerticalPodAutoscalerCheckpoint {
	return &vpav1.VerticalPodAutoscalerCheckpoint{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: CheckpointName("web", "app"), Annotations: map[string]string{"plimsoll.dev/window": "{}"},
		},
		Spec:   vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: "web", ContainerName: "app"},
		Status: vpav1.VerticalPodAutoscalerCheckpointStatus{Version: "v3"},
	}
}

func TestWriteCheckpoint(t *testing.T) {
	const path = checkpoints + "/web-app"
	t.Run("one is there", func(t *testing.T) {
		client, s := start(t, map[string]func([]byte) (int, any){"PATCH " + path: func(body []byte) (int, any) {
			if !strings.Contains(string(body), `"path":"/metadata/annotations/plimsoll.dev~1window"`) {
				t.Errorf("the patch is %s", body)
			}
			return http.StatusOK, checkpoint()
		}})
		if err := client.WriteCheckpoint(t.Context(), checkpoint()); err != nil || len(s.asked) != 1 {
			t.Error(err, s.asked)
		}
	})
	t.Run("one of upstream, without annotations", func(t *testing.T) {
		client, s := start(t, map[string]func([]byte) (int, any){"PATCH " + path: func(body []byte) (int, any) {
			if !strings.Contains(string(body), `"path":"/metadata/annotations","value":{"plimsoll.dev/window":"{}"}`) {
				return fails(apierrors.NewInvalid(vpav1.SchemeGroupVersion.WithKind("X").GroupKind(), "web-app", nil))(body)
			}
			return http.StatusOK, checkpoint()
		}})
		if err := client.WriteCheckpoint(t.Context(), checkpoint()); err != nil || len(s.asked) != 2 {
			t.Error(err, s.asked)
		}
	})
	t.Run("none is there", func(t *testing.T) {
		client, s := start(t, map[string]func([]byte) (int, any){
			"PATCH " + path:       fails(apierrors.NewNotFound(vpav1.Resource("x"), "web-app")),
			"POST " + checkpoints: is(checkpoint()),
		})
		if err := client.WriteCheckpoint(t.Context(), checkpoint()); err != nil ||
			!slices.Contains(s.asked, "POST "+checkpoints) {
			t.Error(err, s.asked)
		}
	})
	t.Run("it cannot be written", func(t *testing.T) {
		client, _ := start(t, map[string]func([]byte) (int, any){"PATCH " +
			path: fails(apierrors.NewForbidden(vpav1.Resource("x"), "web-app", io.EOF))})
		if err := client.WriteCheckpoint(t.Context(), checkpoint()); !apierrors.IsForbidden(err) {
			t.Error(err)
		}
	})
}

func TestDeleteCheckpointThatIsGone(t *testing.T) {
	client, _ := start(t, map[string]func([]byte) (int, any){
		"DELETE " + checkpoints + "/web-app": fails(apierrors.NewNotFound(vpav1.Resource("x"), "web-app")),
	})
	if err := client.DeleteCheckpoint(t.Context(), "shop", "web-app"); err != nil {
		t.Error(err)
	}
}

func TestEachCheckpointReadsEveryPage(t *testing.T) {
	page := func(next string, names ...string) *vpav1.VerticalPodAutoscalerCheckpointList {
		list := &vpav1.VerticalPodAutoscalerCheckpointList{ListMeta: metav1.ListMeta{Continue: next}}
		for _, name := range names {
			list.Items = append(list.Items, vpav1.VerticalPodAutoscalerCheckpoint{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		return list
	}
	client, _ := start(t, map[string]func([]byte) (int, any){
		"GET " + group + "/verticalpodautoscalercheckpoints":   is(page("b", "1", "2")),
		"GET " + group + "/verticalpodautoscalercheckpoints b": is(page("", "3")),
	})
	var seen []string
	err := client.EachCheckpoint(t.Context(), "",
		func(c *vpav1.VerticalPodAutoscalerCheckpoint) { seen = append(seen, c.Name) })
	if err != nil || fmt.Sprint(seen) != "[1 2 3]" {
		t.Errorf("%v, %v", seen, err)
	}
}

func TestInformerLists(t *testing.T) {
	list := &vpav1.VerticalPodAutoscalerList{
		ListMeta: metav1.ListMeta{ResourceVersion: "5"},
		Items: []vpav1.VerticalPodAutoscaler{{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
			Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "other": "kept"},
		}}},
	}
	client, _ := start(t, map[string]func([]byte) (int, any){"GET " +
		group + "/namespaces/shop/verticalpodautoscalers": is(list)})
	informer := client.Informer("shop")
	go informer.RunWithContext(t.Context())
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the cache was not filled")
	}
	object, exists, err := informer.GetStore().GetByKey("shop/web")
	if vpa, ok := object.(*vpav1.VerticalPodAutoscaler); !ok || !exists || err != nil || vpa.ManagedFields != nil ||
		len(vpa.Annotations) != 1 {
		t.Errorf("%v, %t, %v", object, exists, err)
	}
}
