package status_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

// losing fails status writes while it is on.
type losing struct {
	*horizontaltest.WorkloadAPI
	on *atomic.Bool
}

func (l losing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut && l.on.Load() {
		return nil, errors.New("connection reset")
	}
	return l.WorkloadAPI.RoundTrip(r)
}

// A target that was scaled to zero is scaled up again when more replicas are proposed, although the status write with
// ScaledToZero failed, for a while or until then.
func TestZeroAfterALostStatusWrite(t *testing.T) {
	for name, tt := range map[string]struct {
		isPaused, isLostTillTheEnd, isAtZeroBefore bool
	}{
		"paused at zero":                          {isPaused: true},
		"paused at zero, and lost until Active":   {isPaused: true, isLostTillTheEnd: true},
		"paused at zero, where it was before":     {isPaused: true, isAtZeroBefore: true},
		"to zero by the metric":                   {},
		"to zero by the metric, and lost until 1": {isLostTillTheEnd: true},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			api, lost := w.Workloads(), &atomic.Bool{}
			w.Set(func() { w.ExternalValue = func(context.Context) (int64, error) { return 0, nil } })
			o := horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web("web", 1)))
			one, none, cooldown := int32(1), int32(0), int32(60)
			o.Spec.MinReplicas = &one
			if !tt.isPaused {
				o.Spec.MinReplicas = &none
				o.Spec.ScaleToZero = &plimsollv1alpha1.ScaleToZero{CooldownSeconds: &cooldown}
			}
			if tt.isAtZeroBefore {
				w.SetReplicas("web", 0)
			}
			api.Put(o)
			w.Start(func(c *controllerhorizontal.Config) {
				client, err := wla.New(&rest.Config{Host: "http://api", Transport: losing{api, lost}, QPS: -1})
				if err != nil {
					t.Fatal(err)
				}
				c.WorkloadAutoscalers = workloads.New(client, metav1.NamespaceAll, c.Log)
			})
			edit := func(change func(*plimsollv1alpha1.WorkloadAutoscalerSpec)) {
				o := api.Get("web")
				change(&o.Spec)
				o.Generation++
				api.Put(o)
			}
			w.Pass(20 * time.Second)
			lost.Store(true)
			if tt.isPaused {
				edit(func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
					s.Mode, s.Paused = "Paused", &plimsollv1alpha1.Paused{}
				})
			}
			w.Pass(2 * time.Minute)
			w.WantReplicas("web", 0, name)
			if !tt.isLostTillTheEnd {
				lost.Store(false)
				w.Pass(2 * time.Minute)
			}
			edit(func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) { s.Mode, s.MinReplicas = "Active", &one })
			w.Pass(time.Minute)
			w.WantReplicas("web", 1, name+", a minute after one replica was asked for")
			lost.Store(false)
			w.Pass(time.Minute)
			for _, c := range api.Get("web").Status.Conditions {
				if c.Reason == "Paused" {
					t.Errorf("%s: %s is still %s because of Paused", name, c.Type, c.Status)
				}
			}
		})
	}
}

// The same with a new leader, after the old one ended between the two writes.
func TestZeroUnderANewLeader(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		o := horizontaltest.WorkloadOf(w.Web("web", 2))
		two := int32(2)
		o.Spec.MinReplicas, o.Spec.Mode, o.Spec.Paused = &two, "Paused", &plimsollv1alpha1.Paused{}
		w.SetReplicas("web", 0)
		api.Put(o)
		w.Start(api.Serve)
		w.Pass(time.Minute)
		o = api.Get("web")
		o.Spec.Mode = "Active"
		o.Generation++
		api.Put(o)
		w.Pass(time.Minute)
		w.WantReplicas("web", 2, "it is no longer paused at zero")
		for _, c := range api.Get("web").Status.Conditions {
			if c.Reason == "Paused" {
				t.Errorf("%s is still %s because of Paused", c.Type, c.Status)
			}
		}
	})
}
