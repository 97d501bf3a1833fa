package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/ui/server"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

const (
	hpasPath   = "/apis/autoscaling/v2/horizontalpodautoscalers"
	hpaPath    = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web"
	wlasPath   = "/apis/plimsoll.dev/v1alpha1/workloadautoscalers"
	vpasPath   = "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"
	eventsPath = "/api/v1/namespaces/shop/events"
	hostile    = `<img src=x onerror="alert(1)">`

	hpa = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
  namespace: shop
  uid: u-1
  resourceVersion: "5"
  annotations: {note: '<img src=x onerror="alert(1)">', kubectl.kubernetes.io/last-applied-configuration: secret}
  managedFields: [{manager: kubectl, operation: Apply, apiVersion: autoscaling/v2, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}]
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 20
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
status:
  currentReplicas: 4
  desiredReplicas: 6
  currentMetrics: [{type: Resource, resource: {name: cpu, current: {averageUtilization: 75}}}]
  conditions:
  - {type: AbleToScale, status: "True", reason: SucceededRescale}
  - {type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: '<img src=x onerror="alert(1)">'}
`
)

// api serves objects by their paths, 403 for the paths in forbidden, and 404 for others.
type api struct {
	objects   map[string]string
	bytes     map[string][]byte
	forbidden map[string]bool
	// hang blocks requests to the controller until the channel is closed.
	hang chan struct{}

	mu sync.Mutex
	// guarded by mu
	requests map[string]int
	// watched is the status of responses to watches, 0 for a watch without events.
	watched int32
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.requests[r.URL.Path]++
	watched := a.watched
	a.mu.Unlock()
	query := r.URL.Query()
	if a.hang != nil && strings.HasPrefix(r.URL.Path, "/horizontalpodautoscalers/") {
		select {
		case <-a.hang:
		case <-r.Context().Done():
			return
		}
	}
	switch text, isThere := a.objects[r.URL.Path]; {
	case a.bytes[r.URL.Path] != nil:
		_, _ = w.Write(a.bytes[r.URL.Path])
	case a.forbidden[r.URL.Path]:
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	case !isThere:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case query.Get("sendInitialEvents") == "true":
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case query.Get("watch") != "" && watched != 0:
		refuse(w, watched, metav1.StatusReason(http.StatusText(int(watched))))
	case query.Get("watch") != "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		object, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(object)
	}
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: "refused", Details: &metav1.StatusDetails{},
	})
}

// listOf returns a list of objects in YAML.
func listOf(t testing.TB, apiVersion, kind string, items ...string) string {
	t.Helper()
	list := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"resourceVersion": "7"}}
	all := []any{}
	for _, item := range items {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(item), &object); err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	list["items"] = all
	text, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// running returns a Reader that watches the objects of that API.
func running(t testing.TB, a *api) *Reader {
	t.Helper()
	reader, _ := runningAt(t, a, "")
	return reader
}

func runningAt(t testing.TB, a *api, namespace string) (*Reader, *httptest.Server) {
	t.Helper()
	a.requests = map[string]int{}
	s := httptest.NewServer(a)
	reader, err := New(Config{
		REST: &rest.Config{Host: s.URL}, Context: "production", Namespace: namespace,
		Finder:  leader.Finder{Address: strings.TrimPrefix(s.URL, "http://")},
		Explain: explainer.Options{Controller: explainer.Auto, Period: 15 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		reader.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		s.CloseClientConnections()
		s.Close()
	})
	return reader, s
}

// await waits for a condition.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited 30 s for %s", what)
		}
	}
}

// TestHalfOfTheRights: permitted objects are shown, and missing permissions named.
func TestHalfOfTheRights(t *testing.T) {
	reader := running(t, &api{
		objects:   map[string]string{hpasPath: listOf(t, "autoscaling/v2", "HorizontalPodAutoscalerList", hpa), hpaPath: hpa},
		forbidden: map[string]bool{wlasPath: true, eventsPath: true, vpasPath: true},
	})
	await(t, "the HPA", func() bool { return len(reader.Overview(0).Rows) == 1 })
	await(t, "the notes", func() bool {
		return strings.Contains(noteOf(reader, view.WLA), "list") && strings.Contains(noteOf(reader, view.VPA), "list")
	})
	o := reader.Overview(0)
	for i, want := range []string{"workloadautoscalers.plimsoll.dev", "verticalpodautoscalers.autoscaling.k8s.io"} {
		if why := o.Notes[i].Why; !strings.Contains(why, want) || !strings.Contains(why, "list") || o.Notes[i].IsPending {
			t.Errorf("note %d: %q, want the right to list %s", i, why, want)
		}
	}
	row := o.Rows[0]
	row.Counts = nil
	if diff := cmp.Diff(view.Row{
		ID: view.IDOf(view.HPA, "shop", "web"), Kind: view.HPA, Namespace: "shop", Name: "web", Target: "Deployment/web",
		Min: ptr.To[int32](2), Max: ptr.To[int32](20), Desired: ptr.To[int32](6), Current: ptr.To[int32](4),
		Load: &view.Load{Metric: "cpu", Ratio: ptr.To(1.5), Text: "75%/50%"}, Health: view.Problem, Says: hostile,
	}, row); diff != "" {
		t.Error(diff)
	}
}

// noteOf returns a Reader's note about a kind of objects, if any.
func noteOf(reader *Reader, kind string) string {
	for _, note := range reader.Overview(0).Notes {
		if note.What == kind+"s" {
			return note.Why
		}
	}
	return ""
}

// TestAPIServerAway: while the API server does not respond, the page shows that its objects are old, and removes that
// once they are read again. An informer does not report a refused connection.
func TestAPIServerAway(t *testing.T) {
	a := &api{objects: map[string]string{hpasPath: listOf(t, "autoscaling/v2", "HorizontalPodAutoscalerList", hpa), hpaPath: hpa}}
	reader, server := runningAt(t, a, "")
	await(t, "the HPA and no note", func() bool { return len(reader.Overview(0).Rows) == 1 && noteOf(reader, view.HPA) == "" })
	address := server.Listener.Addr().String()
	_ = server.Listener.Close()
	server.CloseClientConnections()
	await(t, "a note of the API server's absence", func() bool {
		return strings.Contains(noteOf(reader, view.HPA), "they were at") && strings.Contains(noteOf(reader, view.HPA), "refuses the connection")
	})
	object, err := reader.Object(t.Context(), view.HPA, "shop", "web", time.Hour)
	if err != nil || len(object.Notes) == 0 || !strings.Contains(object.Notes[0].Why, "they were at") {
		t.Errorf("%v, notes %+v, want that the object is old", err, object.Notes)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	again := &http.Server{Handler: a, ReadHeaderTimeout: time.Second}
	go func() { _ = again.Serve(listener) }()
	defer func() { _ = again.Close() }()
	await(t, "no note any more", func() bool { return noteOf(reader, view.HPA) == "" })
}

// TestOneNamespace: if one namespace is shown, the note names the missing permission in that namespace.
func TestOneNamespace(t *testing.T) {
	path := strings.Replace(wlasPath, "v1alpha1/", "v1alpha1/namespaces/shop/", 1)
	reader, _ := runningAt(t, &api{forbidden: map[string]bool{path: true}}, "shop")
	await(t, "the note", func() bool { return strings.Contains(noteOf(reader, view.WLA), "may not") })
	if why := noteOf(reader, view.WLA); !strings.Contains(why, "in namespace shop") || strings.Contains(why, "all namespaces") {
		t.Error(why)
	}
}

// TestWatchesRefused: a refused watch leads to a note with its verb, although the list before succeeded.
func TestWatchesRefused(t *testing.T) {
	for status, want := range map[int32]string{
		http.StatusTooManyRequests: "cannot answer now", http.StatusForbidden: "may not watch",
		http.StatusInternalServerError: "watch horizontalpodautoscalers",
	} {
		t.Run(http.StatusText(int(status)), func(t *testing.T) {
			reader := running(t, &api{watched: status,
				objects: map[string]string{hpasPath: listOf(t, "autoscaling/v2", "HorizontalPodAutoscalerList", hpa), hpaPath: hpa}})
			await(t, "a note that has "+want, func() bool { return strings.Contains(noteOf(reader, view.HPA), want) })
			await(t, "what was listed", func() bool { return len(reader.Overview(0).Rows) == 1 })
		})
	}
}

// TestObjectWithHalfOfTheRights: the missing permissions for an object are named.
func TestObjectWithHalfOfTheRights(t *testing.T) {
	reader := running(t, &api{
		objects:   map[string]string{hpasPath: listOf(t, "autoscaling/v2", "HorizontalPodAutoscalerList", hpa), hpaPath: hpa},
		forbidden: map[string]bool{wlasPath: true, eventsPath: true, vpasPath: true},
	})
	await(t, "the HPA", func() bool { return len(reader.Overview(0).Rows) == 1 })
	object, err := reader.Object(t.Context(), view.HPA, "shop", "web", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if len(object.Notes) == 0 || !strings.Contains(object.Notes[0].Why, "events") {
		t.Errorf("notes %+v, want that events may not be read", object.Notes)
	}
	if object.Unrecorded == "" || object.History != nil || len(object.Lines) == 0 && object.Unexplained == "" {
		t.Errorf("unrecorded %q, unexplained %q", object.Unrecorded, object.Unexplained)
	}
	await(t, "why there is no advice", func() bool {
		object, err = reader.Object(t.Context(), view.HPA, "shop", "web", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		last := object.Notes[len(object.Notes)-1]
		return last.What == "Advice" && !strings.Contains(last.Why, "being read")
	})
	if object.Findings != nil {
		t.Errorf("findings %+v of objects that may not be read", *object.Findings)
	}
	await(t, "why there is no WorkloadAutoscaler", func() bool { return strings.Contains(noteOf(reader, view.WLA), "may not") })
	_, err = reader.Object(t.Context(), view.WLA, "shop", "web", time.Hour)
	if err == nil || errors.Is(err, server.ErrNotFound) || !strings.Contains(err.Error(), "you may not list workloadautoscalers") {
		t.Errorf("%v, want that it may not be read", err)
	}
}

// TestObject: an object has its history, its events and its manifest; texts of the cluster are not changed.
func TestObject(t *testing.T) {
	var h loadhistory.History
	begin := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	for second := range 600 {
		p := loadhistory.Point{Load: 3, Wanted: 4, Ready: 4}
		if second >= 300 {
			p.Load, p.Wanted = 7, 8
		}
		h.Add(begin.Add(time.Duration(second)*time.Second), p)
	}
	history, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	const event = `
apiVersion: v1
kind: Event
metadata: {name: %s, namespace: shop}
involvedObject: {kind: HorizontalPodAutoscaler, name: %s}
type: Normal
reason: SuccessfulRescale
message: 'New size: 8; reason: <img src=x onerror="alert(1)">'
lastTimestamp: "%s"
`
	at := begin.Add(5 * time.Minute).UTC().Format(time.RFC3339)
	reader := running(t, &api{
		objects: map[string]string{
			hpasPath: listOf(t, "autoscaling/v2", "HorizontalPodAutoscalerList", hpa), hpaPath: hpa,
			eventsPath: listOf(t, "v1", "EventList", fmt.Sprintf(event, "a", "web", at), fmt.Sprintf(event, "b", "api", at)),
		},
		bytes: map[string][]byte{"/horizontalpodautoscalers/shop/web/history": history},
	})
	await(t, "the HPA", func() bool { return len(reader.Overview(0).Rows) == 1 })
	await(t, "the lists that are not there", func() bool { return len(reader.Overview(0).Notes) == 0 })
	object, err := reader.Object(t.Context(), view.HPA, "shop", "web", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if object.History == nil || len(object.History.Changes) != 1 || object.History.Changes[0].To != 8 {
		t.Errorf("history %+v, %s; want a change to 8", object.History, object.Unrecorded)
	}
	if diff := cmp.Diff([]view.Event{{At: begin.Add(5 * time.Minute).UnixMilli(), Type: "Normal", Reason: "SuccessfulRescale",
		Message: "New size: 8; reason: " + hostile, Count: 1}}, object.Events); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"apiVersion: autoscaling/v2\n", "kind: HorizontalPodAutoscaler\n", hostile, "averageUtilization: 50"} {
		if !strings.Contains(object.Manifest, want) {
			t.Errorf("%q is missing in the manifest:\n%s", want, object.Manifest)
		}
	}
	if strings.Contains(object.Manifest, "managedFields") || strings.Contains(object.Manifest, "secret") {
		t.Errorf("the manifest has what is of no use:\n%s", object.Manifest)
	}
}

// TestControllerHangs: objects of the API server are shown at once; any number of pages leads to one request to the
// controller, whose response is shown once it arrives.
func TestControllerHangs(t *testing.T) {
	a := &api{hang: make(chan struct{}), objects: map[string]string{
		hpasPath: listOf(t, "autoscaling/v2", "HorizontalPodAutoscalerList", hpa), hpaPath: hpa,
		eventsPath: listOf(t, "v1", "EventList")}}
	reader := running(t, a)
	await(t, "the HPA", func() bool { return len(reader.Overview(0).Rows) == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var pages sync.WaitGroup
	for range 20 {
		pages.Go(func() {
			object, err := reader.Object(ctx, view.HPA, "shop", "web", time.Hour)
			if err != nil || ctx.Err() != nil {
				t.Errorf("%v, %v", err, ctx.Err())
				return
			}
			if object.Unexplained == "" || object.Unrecorded == "" || !strings.Contains(object.Manifest, "maxReplicas: 20") {
				t.Errorf("%+v", object)
			}
		})
	}
	pages.Wait()
	a.mu.Lock()
	for path, n := range a.requests {
		if strings.HasPrefix(path, "/horizontalpodautoscalers/") && n > 1 {
			t.Errorf("the controller is asked %d times for %s", n, path)
		}
	}
	a.mu.Unlock()
	close(a.hang)
	await(t, "what the controller answers", func() bool {
		object, err := reader.Object(ctx, view.HPA, "shop", "web", time.Hour)
		return err == nil && len(object.Lines) > 0 && strings.Contains(object.Unrecorded, "answers 404")
	})
}

// TestParts: the number of cached parts has a bound.
func TestParts(t *testing.T) {
	p := parts{byName: map[string]*part{}}
	for i := range 5 * mostParts {
		name := fmt.Sprint(i)
		p.begin(t.Context(), name, func(_ context.Context, o *view.Object) { o.Unexplained = name })
		if object, _ := p.take(t.Context(), name); object == nil || object.Unexplained != name {
			t.Fatalf("%s: %+v", name, object)
		}
	}
	if len(p.byName) > mostParts {
		t.Errorf("%d parts", len(p.byName))
	}
}

// TestNoObject: only listed objects can be requested.
func TestNoObject(t *testing.T) {
	reader := running(t, &api{objects: map[string]string{
		hpasPath: listOf(t, "autoscaling/v2", "HorizontalPodAutoscalerList", hpa), hpaPath: hpa}})
	await(t, "the HPA", func() bool { return len(reader.Overview(0).Rows) == 1 })
	for _, name := range []string{"api", "../web", ""} {
		if _, err := reader.Object(t.Context(), view.HPA, "shop", name, time.Hour); !errors.Is(err, server.ErrNotFound) {
			t.Errorf("%q: %v, want ErrNotFound", name, err)
		}
	}
	if _, err := reader.Object(t.Context(), "Secret", "shop", "web", time.Hour); !errors.Is(err, server.ErrNotFound) {
		t.Errorf("a Secret: %v, want ErrNotFound", err)
	}
}

// many returns HPAs in one list.
func many(t testing.TB, count int) string {
	t.Helper()
	items := make([]string, count)
	for i := range items {
		items[i] = strings.Replace(hpa, "name: web\n", fmt.Sprintf("name: web-%05d\n", i), 1)
	}
	return listOf(t, "autoscaling/v2", "HorizontalPodAutoscalerList", items...)
}

// TestManyCostOneList: overviews of many objects cost one list, for any number of requests.
func TestManyCostOneList(t *testing.T) {
	a := &api{objects: map[string]string{hpasPath: many(t, 500)}}
	reader := running(t, a)
	await(t, "all HPAs", func() bool { return len(reader.Overview(0).Rows) == 500 })
	whole := reader.Overview(0)
	for range 100 {
		if o := reader.Overview(whole.Revision); len(o.Rows) > 0 || o.IsWhole || len(o.Removed) > 0 {
			t.Fatalf("nothing has changed, and %d rows are sent", len(o.Rows))
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// A watch with initial events, the list, and the watch.
	if a.requests[hpasPath] > 3 || len(a.requests) > 5 {
		t.Errorf("requests %v, want one list and one watch of each kind", a.requests)
	}
}

// TestChanges: a page receives the changes since its revision, and all objects if the revision is of another process.
func TestChanges(t *testing.T) {
	r := newRows()
	now := time.Now()
	set := func(name string, desired int32) {
		r.set(&view.Row{ID: name, Name: name, Desired: &desired, Current: &desired}, now)
	}
	set("a", 1)
	set("b", 1)
	read := func(since int64) *view.Overview {
		o := &view.Overview{}
		r.since(since, o)
		return o
	}
	first := read(0)
	if !first.IsWhole || len(first.Rows) != 2 {
		t.Fatalf("%+v, want both", first)
	}
	set("b", 5)
	r.remove("a")
	next := read(first.Revision)
	if next.IsWhole || len(next.Rows) != 1 || next.Rows[0].ID != "b" || len(next.Removed) != 1 || next.Removed[0] != "a" {
		t.Errorf("%+v, want b changed and a removed", next)
	}
	if counts := next.Rows[0].Counts; len(counts) != 2 || counts[0].Desired != 1 || counts[1].Desired != 5 {
		t.Errorf("counts %+v, want 1 and 5", counts)
	}
}

// TestBounds: the data that is kept for a page has bounds.
func TestBounds(t *testing.T) {
	r := newRows()
	now := time.Now()
	set := func(name string, desired int32) {
		r.set(&view.Row{ID: name, Name: name, Desired: &desired, Current: &desired}, now)
	}
	read := func(since int64) *view.Overview {
		o := &view.Overview{}
		r.since(since, o)
		return o
	}
	set("b", 1)
	next := read(0)
	if all := read(next.Revision + 1000); !all.IsWhole || len(all.Rows) != 1 {
		t.Errorf("%+v, want all", all)
	}
	for i := range int32(3 * mostCounts) {
		set("b", i)
	}
	if counts := read(0).Rows[0].Counts; len(counts) != mostCounts || counts[mostCounts-1].Desired != 3*mostCounts-1 {
		t.Errorf("%d counts, want the last %d", len(counts), mostCounts)
	}
	for i := range mostRemoved + 1 {
		name := fmt.Sprint(i)
		set(name, 1)
		r.remove(name)
	}
	if late := read(next.Revision); !late.IsWhole {
		t.Error("removals are dropped, and not all rows are sent")
	}
}

// BenchmarkOverview reads an overview of 10,000 objects from the API.
func BenchmarkOverview(b *testing.B) {
	reader := running(b, &api{objects: map[string]string{hpasPath: many(b, 10_000)}})
	await(b, "all HPAs", func() bool { return len(reader.Overview(0).Rows) == 10_000 })
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			reader.Overview(0)
		}
	})
	revision := reader.Overview(0).Revision
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			reader.Overview(revision)
		}
	})
}

// TestReady: the row has the number of the target's ready pods, in any order of arrival.
func TestReady(t *testing.T) {
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: d-1, resourceVersion: "3"}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: []}}}
status: {readyReplicas: 3, replicas: 4}
`
	reader := running(t, &api{objects: map[string]string{
		hpasPath:                    listOf(t, "autoscaling/v2", "HorizontalPodAutoscalerList", hpa),
		"/apis/apps/v1/deployments": listOf(t, "apps/v1", "DeploymentList", deployment),
	}})
	ready := func() *int32 {
		if rows := reader.Overview(0).Rows; len(rows) == 1 {
			return rows[0].Ready
		}
		return nil
	}
	await(t, "the ready pods", func() bool { return ready() != nil && *ready() == 3 })

	r, row := newRows(), view.Row{ID: "a", Namespace: "shop", Target: "Deployment/web"}
	web := target{"shop", "Deployment/web"}
	r.set(&row, time.Now())
	r.setReady(web, ptr.To[int32](5))
	revision := r.revision
	r.setReady(web, ptr.To[int32](5))
	if got, _ := r.row("a"); *got.Ready != 5 || r.revision != revision {
		t.Errorf("%+v, revision %d", got, r.revision)
	}
	moved := view.Row{ID: "a", Namespace: "shop", Target: "Deployment/api"}
	r.set(&moved, time.Now())
	r.setReady(web, nil)
	if got, _ := r.row("a"); got.Ready != nil || len(r.of) != 1 {
		t.Errorf("of another target: %+v, %v", got, r.of)
	}
	r.remove("a")
	if len(r.of) != 0 || len(r.ready) != 0 {
		t.Errorf("what is gone is kept: %v, %v", r.of, r.ready)
	}
}

// TestFewCounts: the row of a load that always changes is not longer; the object has all of it.
func TestFewCounts(t *testing.T) {
	r := newRows()
	at := time.Now()
	for i := range 200 {
		ratio := 1 + float64(i)/100
		row := view.Row{ID: "a", Desired: ptr.To(int32(3 + i/100)), Current: ptr.To[int32](3), Load: &view.Load{Ratio: &ratio}}
		r.set(&row, at.Add(time.Duration(i)*time.Second))
	}
	var o view.Overview
	r.since(0, &o)
	if counts := o.Rows[0].Counts; len(counts) != 2 || counts[0].Desired != 3 || counts[1].Desired != 4 || counts[1].Ratio != nil {
		t.Errorf("%+v", counts)
	}
	if row, _ := r.row("a"); len(row.Counts) != mostCounts || row.Counts[mostCounts-1].Ratio == nil {
		t.Errorf("%d counts with loads", len(row.Counts))
	}
}
