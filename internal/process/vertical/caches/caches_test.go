package caches

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// workloadAPI serves no WorkloadAutoscalers, and lists them late.
type workloadAPI struct {
	discovery, list int
	late            time.Duration
}

// RoundTrip implements http.RoundTripper.
func (a workloadAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.URL.Path == "/apis/plimsoll.dev/v1alpha1":
		return respond(a.discovery, `{"resources":[{"name":"workloadautoscalers"}]}`), nil
	case r.URL.Query().Get("sendInitialEvents") != "":
		return respond(http.StatusUnprocessableEntity,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`), nil
	case r.URL.Query().Get("watch") != "":
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	select {
	case <-time.After(a.late):
	case <-r.Context().Done():
	}
	return respond(a.list,
		`{"kind":"WorkloadAutoscalerList","apiVersion":"plimsoll.dev/v1alpha1","metadata":{"resourceVersion":"1"}}`), nil
}

func respond(code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Type": []string{"application/json"}},
	}
}

// TestAwaitHorizontals: conflicts are known before the vertical side decides, however late WorkloadAutoscalers are
// listed. If none can be listed, it decides without them.
func TestAwaitHorizontals(t *testing.T) {
	for name, c := range map[string]struct {
		api         workloadAPI
		least, most time.Duration
	}{
		"listed late": {workloadAPI{http.StatusOK, http.StatusOK, 7 * time.Second}, 7 * time.Second, 8 * time.Second},
		"not served":  {workloadAPI{http.StatusNotFound, http.StatusNotFound, 0}, 0, time.Second},
		"forbidden":   {workloadAPI{http.StatusOK, http.StatusForbidden, 0}, horizontalsTimeout, horizontalsTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := wla.New(&rest.Config{Host: "http://api", Transport: c.api})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				all := &Caches{Config: Config{
					Informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
					Workloads: workloads.New(client, "", logr.Discard()), Log: logr.Discard(),
				}}
				all.Informers.Autoscaling().V2().HorizontalPodAutoscalers().Informer()
				all.Informers.Start(ctx.Done())
				wait := all.Workloads.Run(ctx, cache.ResourceEventHandlerFuncs{}, func([]observe.Key) {})
				began := time.Now()
				all.AwaitHorizontals(ctx)
				if took := time.Since(began); took < c.least || took > c.most {
					t.Errorf("it took %s, want %s to %s", took, c.least, c.most)
				}
				cancel()
				wait()
				all.Informers.Shutdown()
			})
		})
	}
}
