package horizontaltest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

// WorkloadAPI is an API server of WorkloadAutoscalers within the process, so that virtual time passes while a watch
// waits.
type WorkloadAPI struct {
	W *World

	// mu guards the following.
	mu      sync.Mutex
	objects map[string]*plimsollv1alpha1.WorkloadAutoscaler
	// version is the last resource version.
	version int
	// watches receive the changes.
	watches []*io.PipeWriter
	// isBehind is set while changes are not sent to the watches.
	isBehind bool
	held     []byte
	// Lists is the duration of a list.
	Lists time.Duration
	// IsNotServed is set if the definition is not installed.
	IsNotServed bool
}

var _ http.RoundTripper = (*WorkloadAPI)(nil)

// Workloads makes the controller act on WorkloadAutoscalers. Call it before Start.
func (w *World) Workloads() *WorkloadAPI {
	return &WorkloadAPI{W: w, objects: map[string]*plimsollv1alpha1.WorkloadAutoscaler{}}
}

// Serve is a change of the controller's configuration.
func (a *WorkloadAPI) Serve(c *controllerhorizontal.Config) {
	client, err := wla.New(&rest.Config{Host: "http://api", Transport: a, QPS: -1})
	if err != nil {
		a.W.T.Fatal(err)
	}
	c.WorkloadAutoscalers = workloads.New(client, metav1.NamespaceAll, c.Log)
}

// WorkloadOf returns a WorkloadAutoscaler that has the settings of an HPA.
func WorkloadOf(hpa *autoscalingv2.HorizontalPodAutoscaler) *plimsollv1alpha1.WorkloadAutoscaler {
	object := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{
		Namespace: hpa.Namespace, Name: hpa.Name, UID: types.UID("wla-" + hpa.Name), Generation: 1,
		CreationTimestamp: metav1.Now(),
	}}
	text, err := json.Marshal(hpa.Spec)
	if err == nil {
		err = json.Unmarshal(text, &object.Spec)
	}
	if err != nil {
		panic(err)
	}
	plimsollv1alpha1.SetDefaults(&object.Spec)
	return object
}

// Put stores an object, as an edit does.
func (a *WorkloadAPI) Put(object *plimsollv1alpha1.WorkloadAutoscaler) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.storeLocked(object)
}

// Get returns the object as stored.
func (a *WorkloadAPI) Get(name string) *plimsollv1alpha1.WorkloadAutoscaler {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.objects[name].DeepCopy()
}

func (a *WorkloadAPI) storeLocked(object *plimsollv1alpha1.WorkloadAutoscaler) {
	kind := watch.Modified
	if a.objects[object.Name] == nil {
		kind = watch.Added
	}
	a.W.Mu.Lock()
	a.W.Version++
	a.version = a.W.Version
	a.W.Mu.Unlock()
	object.ResourceVersion = strconv.Itoa(a.version)
	object.TypeMeta = metav1.TypeMeta{APIVersion: "plimsoll.dev/v1alpha1", Kind: "WorkloadAutoscaler"}
	a.objects[object.Name] = object.DeepCopy()
	text := Encoded(map[string]any{"type": kind, "object": object})
	if a.isBehind {
		a.held = append(a.held, text...)
		return
	}
	for _, to := range a.watches {
		go func() { _, _ = to.Write(text) }()
	}
}

// KeepBehind holds changes back from the watches, or releases them.
func (a *WorkloadAPI) KeepBehind(isBehind bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.held
	a.isBehind, a.held = isBehind, nil
	for _, to := range a.watches {
		go func() { _, _ = to.Write(held) }()
	}
}

// Remove deletes an object.
func (a *WorkloadAPI) Remove(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.W.Mu.Lock()
	a.W.Version++
	a.version = a.W.Version
	a.W.Mu.Unlock()
	object := a.objects[name]
	delete(a.objects, name)
	object.ResourceVersion = strconv.Itoa(a.version)
	text := Encoded(map[string]any{"type": watch.Deleted, "object": object})
	for _, to := range a.watches {
		go func() { _, _ = to.Write(text) }()
	}
}

// replayLocked sends the changes since a version.
func (a *WorkloadAPI) replayLocked(to io.Writer, since string) {
	var texts []byte
	for _, object := range a.objects {
		version, _ := strconv.Atoi(object.ResourceVersion)
		if from, err := strconv.Atoi(since); err == nil && version > from {
			texts = append(texts, Encoded(map[string]any{"type": watch.Modified, "object": object})...)
		}
	}
	go func() { _, _ = to.Write(texts) }()
}

// Encoded returns an object as JSON.
func Encoded(object any) []byte {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return text
}

// RoundTrip implements http.RoundTripper.
func (a *WorkloadAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, plimsollv1alpha1.WorkloadAutoscalers) {
		time.Sleep(a.Lists) // virtual time
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/apis/plimsoll.dev/v1alpha1")
	query := r.URL.Query()
	switch {
	case path == "" && a.IsNotServed:
		return answer(http.StatusNotFound, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
		}), nil
	case path == "":
		return answer(http.StatusOK, metav1.APIResourceList{
			APIResources: []metav1.APIResource{{Name: plimsollv1alpha1.WorkloadAutoscalers}},
		}), nil
	case query.Get("sendInitialEvents") != "":
		return answer(http.StatusUnprocessableEntity, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
		}), nil
	case query.Get("watch") != "":
		read, write := io.Pipe()
		a.watches = append(a.watches, write)
		a.replayLocked(write, query.Get("resourceVersion"))
		go func() {
			<-r.Context().Done()
			_ = write.Close()
		}()
		return respond(http.StatusOK, read), nil
	case r.Method == http.MethodPut:
		var object plimsollv1alpha1.WorkloadAutoscaler
		if err := json.NewDecoder(r.Body).Decode(&object); err != nil {
			return nil, err
		}
		stored := a.objects[object.Name].DeepCopy()
		stored.Status = object.Status
		a.storeLocked(stored)
		return answer(http.StatusOK, stored), nil
	case strings.HasSuffix(path, "/"+plimsollv1alpha1.WorkloadAutoscalers):
		list := plimsollv1alpha1.WorkloadAutoscalerList{
			TypeMeta: metav1.TypeMeta{APIVersion: "plimsoll.dev/v1alpha1", Kind: "WorkloadAutoscalerList"},
			ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.version)},
		}
		for _, name := range slices.Sorted(maps.Keys(a.objects)) {
			list.Items = append(list.Items, *a.objects[name])
		}
		return answer(http.StatusOK, list), nil
	}
	return answer(http.StatusOK, a.objects[path[strings.LastIndex(path, "/")+1:]]), nil
}

func answer(code int, object any) *http.Response {
	return respond(code, io.NopCloser(bytes.NewReader(Encoded(object))))
}

func respond(code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Body: body,
		Header: http.Header{"Content-Type": []string{"application/json"}},
	}
}

// WorkloadCondition returns a condition of a WorkloadAutoscaler, without its time.
func WorkloadCondition(object *plimsollv1alpha1.WorkloadAutoscaler, kind string) metav1.Condition {
	for _, c := range object.Status.Conditions {
		if c.Type == kind {
			return metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message}
		}
	}
	return metav1.Condition{}
}

// Rarely writes status for numbers alone once a minute, as by default.
func Rarely(c *controllerhorizontal.Config) {
	c.StatusInterval, c.EventInterval = time.Minute, 10*time.Minute
}
