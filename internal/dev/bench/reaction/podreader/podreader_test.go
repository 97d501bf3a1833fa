package podreader

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/fake"
)

const namespace = "reaction"

// The adapter's rate is that between the last two pages of the same pod.
func TestReader(t *testing.T) {
	total := 100
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := fmt.Fprintf(w, "# TYPE http_requests_total counter\nhttp_requests_total %d\n", total); err != nil {
			t.Error(err)
		}
	}))
	defer exporter.Close()
	address, isTCP := exporter.Listener.Addr().(*net.TCPAddr)
	if !isTCP {
		t.Fatal(exporter.Listener.Addr())
	}
	podLabels := labels.Set{"app": "web"}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a", UID: "1", Labels: podLabels},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address.IP.String()},
	}
	silent := pod.DeepCopy()
	silent.Name, silent.UID, silent.Status.PodIP = "b", "2", "127.77.0.1"
	r := New(Config{Client: fake.NewClientset(pod, silent), Namespace: namespace, Labels: podLabels, Port: address.Port})
	r.readAll(t.Context())
	if views := r.Pods(namespace, labels.Everything()); len(views) != 0 {
		t.Errorf("one page gives no rate, but %+v", views)
	}
	total += 1000
	began := time.Now()
	r.readAll(t.Context())
	views := r.Pods(namespace, labels.SelectorFromSet(podLabels))
	if len(views) != 1 || views[0].Name != "a" || views[0].Stats.ServedPerSecond <= 0 || r.At().Before(began) {
		t.Fatalf("%+v at %s", views, r.At())
	}
	if views := r.Pods("other", labels.Everything()); len(views) != 0 {
		t.Errorf("another namespace has %+v", views)
	}
	total = 3 // the pod has begun again
	r.readAll(t.Context())
	if views := r.Pods(namespace, labels.Everything()); len(views) != 0 {
		t.Errorf("a counter that fell gives %+v", views)
	}
}
