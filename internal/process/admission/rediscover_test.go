package admission

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

// later is an API server that serves a kind only after a while.
type later struct{ served atomic.Bool }

// RoundTrip implements http.RoundTripper.
func (l *later) RoundTrip(r *http.Request) (*http.Response, error) {
	body := map[string]string{
		"/api":  `{"kind":"APIVersions","versions":[]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	}[r.URL.Path]
	if l.served.Load() {
		switch r.URL.Path {
		case "/apis":
			body = `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"shop.example","versions":[{"groupVersion":"shop.example/v1","version":"v1"}]}]}`
		case "/apis/shop.example/v1":
			body = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"shop.example/v1","resources":[{"name":"tills","namespaced":true,"kind":"Till"}]}`
		}
	}
	answer := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
	}
	if body == "" {
		answer.StatusCode = http.StatusNotFound
	}
	answer.Body = io.NopCloser(strings.NewReader(body))
	return answer, nil
}

// The admission server finds workloads of a kind that is installed while it runs.
func TestAdmissionFindsKindsThatComeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &later{}
		config := &rest.Config{Host: "http://api.example", Transport: api, QPS: -1}
		scales, err := scale.NewAccess(config)
		if err != nil {
			t.Fatal(err)
		}
		nothing := &cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return nil,
					errors.New("nothing")
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return nil, errors.New("nothing")
			},
		}
		objects, err := wla.New(config)
		if err != nil {
			t.Fatal(err)
		}
		p := &server{
			workloads: workloads.New(objects, metav1.NamespaceAll, logr.Discard()),
			scales:    scales, factory: informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0),
			vpas: cache.NewSharedIndexInformer(nothing, &vpav1.VerticalPodAutoscaler{}, 0, cache.Indexers{}),
		}
		if p.tree, err = newTree(scales, p.factory, p.vpas); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer p.factory.Shutdown()
		defer cancel()
		p.follow(ctx)
		kind := schema.GroupKind{Group: "shop.example", Kind: "Till"}
		if _, err := p.scales.Mapper.RESTMappings(kind); err == nil {
			t.Fatal("found before it is there")
		}
		api.served.Store(true)
		time.Sleep(scale.DiscoveryPeriod + time.Second) //nolint:forbidigo // virtual time: a period passes
		if _, err := p.scales.Mapper.RESTMappings(kind); err != nil {
			t.Errorf("a kind that came later: %v", err)
		}
	})
}
