package status_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

// slowStatus is an API server whose status writes take long, as behind a webhook.
type slowStatus struct{ *horizontaltest.WorkloadAPI }

func (s slowStatus) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut {
		select {
		case <-time.After(9 * time.Second):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return s.WorkloadAPI.RoundTrip(r)
}

// Slow status writes of WorkloadAutoscalers do not delay those of HPAs.
func TestSlowStatusWritesOfWorkloadAutoscalers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		for i := range 60 {
			api.Put(horizontaltest.WorkloadOf(w.Web(fmt.Sprintf("w%d", i), 1)))
		}
		w.AddHPA(w.Web("web", 2))
		w.Start(func(c *controllerhorizontal.Config) {
			client, err := wla.New(&rest.Config{Host: "http://api", Transport: slowStatus{api}, QPS: -1})
			if err != nil {
				t.Fatal(err)
			}
			c.WorkloadAutoscalers = workloads.New(client, metav1.NamespaceAll, c.Log)
		})
		w.Pass(2 * time.Minute)
		w.Set(func() { w.Usage = 200 })
		for range 30 {
			if w.Replicas("web") > 2 {
				break
			}
			w.Pass(time.Second)
		}
		w.WantReplicas("web", 4, "its load has doubled")
		w.Pass(time.Second)
		if got := w.HPA("web").Status.DesiredReplicas; got != 4 {
			t.Errorf("a second after it was scaled, the status of the HPA has %d replicas", got)
		}
	})
}
