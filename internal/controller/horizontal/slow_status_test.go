package horizontal

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

// slowStatus is an API server whose status writes take long, as behind a webhook.
type slowStatus struct{ *workloadAPI }

func (s slowStatus) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut {
		select {
		case <-time.After(9 * time.Second):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return s.workloadAPI.RoundTrip(r)
}

// Status writes of WorkloadAutoscalers that take long hold up those of no HPA.
func TestSlowStatusWritesOfWorkloadAutoscalers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.workloads()
		for i := range 60 {
			api.put(workloadOf(w.web(fmt.Sprintf("w%d", i), 1)))
		}
		w.addHPA(w.web("web", 2))
		w.start(func(c *Config) {
			client, err := wla.New(&rest.Config{Host: "http://api", Transport: slowStatus{api}, QPS: -1})
			if err != nil {
				t.Fatal(err)
			}
			c.WorkloadAutoscalers = workloads.New(client, metav1.NamespaceAll, c.Log)
		})
		w.pass(2 * time.Minute)
		w.set(func() { w.usage = 200 })
		for range 30 {
			if w.replicas("web") > 2 {
				break
			}
			w.pass(time.Second)
		}
		w.wantReplicas("web", 4, "its load has doubled")
		w.pass(time.Second)
		if got := w.hpa("web").Status.DesiredReplicas; got != 4 {
			t.Errorf("a second after it was scaled, the status of the HPA has %d replicas", got)
		}
	})
}
