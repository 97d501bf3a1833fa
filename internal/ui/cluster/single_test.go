package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

const (
	wlaPath = "/apis/plimsoll.dev/v1alpha1/namespaces/shop/workloadautoscalers/web"
	vpaPath = "/apis/autoscaling.k8s.io/v1/namespaces/shop/verticalpodautoscalers/web"

	wlaObject = `
apiVersion: plimsoll.dev/v1alpha1
kind: WorkloadAutoscaler
metadata:
  {name: web, namespace: shop, uid: u-2, annotations: {kubectl.kubernetes.io/last-applied-configuration: secret, note: kept}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 20
`
	vpaObject = `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata:
  {name: web, namespace: shop, uid: u-3, annotations: {kubectl.kubernetes.io/last-applied-configuration: secret, note: kept}}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
`
)

// still returns a Reader of that API that does not watch.
func still(t *testing.T, a *api) *Reader {
	t.Helper()
	a.requests = map[string]int{}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	reader, err := New(Config{
		REST: &rest.Config{Host: s.URL, QPS: -1}, Finder: leader.Finder{Address: strings.TrimPrefix(s.URL, "http://")},
		Explain: explainer.Options{Controller: explainer.Auto, Period: 15 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

func key(kind observe.Kind, name string) observe.Key {
	return observe.Key{Kind: kind, NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}}
}

// hourAgo returns the history of an hour that ended an hour ago, and its start.
func hourAgo(t *testing.T) (encoded []byte, begin time.Time) {
	t.Helper()
	var h loadhistory.History
	begin = time.Now().Add(-2 * time.Hour).Truncate(time.Minute)
	for second := 0; second < 3600; second += 15 {
		h.Add(begin.Add(time.Duration(second)*time.Second), loadhistory.Point{Load: 3, Wanted: int32(4 + second/1800), Ready: 4})
	}
	encoded, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return encoded, begin
}

// TestSingle: one object is read without a list of all, for the requested time, and with advice at once.
func TestSingle(t *testing.T) {
	history, begin := hourAgo(t)
	a := &api{
		objects: map[string]string{hpaPath: hpa, eventsPath: listOf(t, "v1", "EventList")},
		bytes:   map[string][]byte{"/horizontalpodautoscalers/shop/web/history": history},
	}
	reader := still(t, a)
	web := key(observe.HorizontalPodAutoscaler, "web")
	o, err := reader.Single(t.Context(), web, begin.Add(10*time.Minute), begin.Add(40*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if o.Row.ID != view.IDOf(view.HPA, "shop", "web") || o.Row.Says != hostile {
		t.Errorf("row %+v", o.Row)
	}
	if h := o.History; h == nil || len(h.Points) != 30 || len(h.Changes) != 1 || !h.Changes[0].Time.Equal(begin.Add(30*time.Minute)) {
		t.Errorf("history %+v, %s; want 30 minutes with a change", h, o.Unrecorded)
	}
	if strings.Contains(o.Manifest, "secret") || strings.Contains(o.Manifest, "managedFields") || !strings.Contains(o.Manifest, "kind: Horizontal") {
		t.Errorf("the manifest is\n%s", o.Manifest)
	}
	for _, note := range o.Notes {
		if strings.Contains(note.Why, "being read") {
			t.Errorf("note %+v, and nobody waits for it", note)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := a.requests[hpasPath] + a.requests[wlasPath] + a.requests[vpasPath]; n > 0 {
		t.Errorf("%d requests for all objects of the cluster: %v", n, a.requests)
	}
}

// TestSingleWithoutHistory: a time without a record is named, and the other data is there.
func TestSingleWithoutHistory(t *testing.T) {
	history, begin := hourAgo(t)
	reader := still(t, &api{
		objects: map[string]string{hpaPath: hpa}, bytes: map[string][]byte{"/horizontalpodautoscalers/shop/web/history": history},
	})
	web := key(observe.HorizontalPodAutoscaler, "web")
	from, to := begin.Add(-2*time.Hour), begin.Add(-time.Hour)
	o, err := reader.Single(t.Context(), web, from, to)
	want := fmt.Sprintf("nothing is recorded of HorizontalPodAutoscaler shop/web from %s to %s (read from the controller)",
		from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))
	if err != nil || o.History != nil || o.Unrecorded != want {
		t.Errorf("%v, %q, want %q", err, o.Unrecorded, want)
	}
}

// TestSingleOfOtherKinds: a WorkloadAutoscaler and a VerticalPodAutoscaler have their kind, and not the annotation of
// kubectl apply.
func TestSingleOfOtherKinds(t *testing.T) {
	reader := still(t, &api{objects: map[string]string{wlaPath: wlaObject, vpaPath: vpaObject}})
	for kind, want := range map[observe.Kind]string{
		observe.WorkloadAutoscaler: view.WLA, observe.VerticalPodAutoscaler: view.VPA,
	} {
		o, err := reader.Single(t.Context(), key(kind, "web"), time.Now().Add(-time.Hour), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if o.Row.ID != view.IDOf(want, "shop", "web") || o.Row.Target != "Deployment/web" {
			t.Errorf("row %+v", o.Row)
		}
		if !strings.Contains(o.Manifest, "kind: "+want+"\n") || !strings.Contains(o.Manifest, "note: kept") || strings.Contains(o.Manifest, "secret") {
			t.Errorf("the manifest is\n%s", o.Manifest)
		}
		if len(o.Lines) == 0 && o.Unexplained == "" || (o.Unrecorded == "") != (want == view.VPA) {
			t.Errorf("%s: unexplained %q, unrecorded %q", want, o.Unexplained, o.Unrecorded)
		}
	}
}

// TestNoSingle: an object that cannot be read leads to an error that names it.
func TestNoSingle(t *testing.T) {
	reader := still(t, &api{forbidden: map[string]bool{vpaPath: true}})
	for _, kind := range []observe.Kind{observe.HorizontalPodAutoscaler, observe.WorkloadAutoscaler} {
		_, err := reader.Single(t.Context(), key(kind, "none"), time.Now().Add(-time.Hour), time.Now())
		var found *cmderror.Error
		if !errors.As(err, &found) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	_, err := reader.Single(t.Context(), key(observe.VerticalPodAutoscaler, "web"), time.Now().Add(-time.Hour), time.Now())
	if err == nil || !strings.Contains(err.Error(), "you may not get verticalpodautoscalers.autoscaling.k8s.io in namespace shop") {
		t.Errorf("%v", err)
	}
}

// TestSingleEnds: a canceled request leads to an error, not to a part of a report.
func TestSingleEnds(t *testing.T) {
	reader := still(t, &api{objects: map[string]string{hpaPath: hpa}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o, err := reader.Single(ctx, key(observe.HorizontalPodAutoscaler, "web"), time.Now().Add(-time.Hour), time.Now()); err == nil {
		t.Errorf("%+v", o)
	}
}
