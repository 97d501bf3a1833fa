package whole

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
)

// lag is the delay of changes of VPAs at the admission controller.
var lag atomic.Int64

// lagging is a kubeconfig for the same permissions, whose API server delays VPAs by lag.
func lagging(dir, kubeconfig string) (string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return "", err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return "", err
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return "", err
	}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Query().Get("watch") != "" && strings.HasSuffix(r.Request.URL.Path, "/verticalpodautoscalers") {
				r.Body = newLate(r.Body)
			}
			return nil
		},
	}) // It ends with the tests.
	path := filepath.Join(dir, "lagging.kubeconfig")
	return path, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: front
clusters: [{name: front, cluster: {server: %q}}]
contexts: [{name: front, context: {cluster: front}}]
`, front.URL), 0o600)
}

// late is a stream of which each piece arrives later.
type late struct {
	io.Closer
	pieces chan piece
	rest   []byte
}

type piece struct {
	bytes []byte
	at    time.Time
	err   error
}

func newLate(stream io.ReadCloser) *late {
	l := &late{Closer: stream, pieces: make(chan piece, 10_000)}
	go func() {
		for {
			buffer := make([]byte, 32<<10)
			n, err := stream.Read(buffer)
			l.pieces <- piece{buffer[:n], time.Now(), err}
			if err != nil {
				return
			}
		}
	}()
	return l
}

func (l *late) Read(into []byte) (int, error) {
	if len(l.rest) == 0 {
		next := <-l.pieces
		<-time.After(time.Until(next.at.Add(time.Duration(lag.Load()))))
		if l.rest = next.bytes; next.err != nil {
			return copy(into, l.rest), next.err
		}
	}
	n := copy(into, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// TestAdmissionControllerHearsLater: pods that are evicted for a recent recommendation come back with it, though it
// arrives at the admission controller a second after the updater.
func TestAdmissionControllerHearsLater(t *testing.T) {
	lag.Store(int64(time.Second))
	t.Cleanup(func() { lag.Store(0) })
	w := &world{Namespace: namespace(t), t: t, before: map[string]map[types.UID]bool{"late": {}}}
	showAdmission(w)
	w.Create(harness.Workload{Name: "late", Replicas: ptr.To[int32](2)}.Deployment())
	w.Eventually("two pods", func(ctx context.Context) error {
		for _, pod := range w.pods(ctx, "late") {
			w.before["late"][pod.UID] = isReady(&pod)
		}
		for _, ready := range w.before["late"] {
			if !ready || len(w.before["late"]) != 2 {
				return fmt.Errorf("ready: %v", w.before["late"])
			}
		}
		if len(w.before["late"]) != 2 {
			return errors.New("too few")
		}
		return nil
	})
	w.KubectlInput(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: late}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: late}
  updatePolicy: {updateMode: Recreate}
`, "apply", "-f", "-")
	const interval = 10 * time.Second
	passes := startUpdater(w, interval)

	last := passes()
	w.Eventually("the end of a pass", func(context.Context) error {
		if passes() == last {
			return errors.New("there was none")
		}
		return nil
	})
	<-time.After(interval - 500*time.Millisecond) // The next pass is soon.
	recommendWanted(w, "late")
	recommended := time.Now()
	w.Eventually("new pods", func(ctx context.Context) error {
		fresh := w.fresh(ctx, "late")
		for i := range fresh {
			if !hasWanted(&fresh[i]) {
				t.Fatalf("%.1f s after the recommendation there is pod %s, which requests %v",
					time.Since(recommended).Seconds(), fresh[i].Name, requests(&fresh[i]))
			}
		}
		if len(fresh) != 2 {
			return fmt.Errorf("%d are new", len(fresh))
		}
		return nil
	})
	t.Logf("two pods replaced, each once, %.1f s after the recommendation", time.Since(recommended).Seconds())
}

// startUpdater runs an updater alone and counts its passes.
func startUpdater(w *world, interval time.Duration) (passes func() float64) {
	w.t.Helper()
	binary, err := parts.Program(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	address := parts.FreeAddress(w.t)
	program, err := w.Cluster.StartProgram(w.t.Context(), "updater", []string{
		binary, "controller", "--components=updater", "--kubeconfig=" + installation.plimsoll.Kubeconfig(), "--v=1",
		"--address=" + address, "--leader-elect=false", "--health-probe-bind-address=0", "--inspection-bind-address=0",
		"--vpa-object-namespace=" + w.Name, "--updater-interval=" + interval.String(),
		"--admission-controller-status-lease-namespace=" + own,
	}, func(ctx context.Context) error { return parts.Answers(ctx, "http://"+address+"/health-check") })
	if err != nil {
		w.t.Fatal(err)
	}
	parts.Granted(w.t, w.Cluster, program, "updater")
	return func() float64 {
		count, err := parts.Metric(w.t.Context(), address, "vpa_updater_execution_latency_seconds_count", `step="total"`)
		if err != nil {
			w.t.Fatal(err)
		}
		return count
	}
}

// recommendWanted writes what a recommender would.
func recommendWanted(w *world, name string) {
	w.t.Helper()
	object, err := installation.client.Get(w.t.Context(), w.Name, name)
	if err != nil {
		w.t.Fatal(err)
	}
	wanted := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(wantedMilli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(wantedMemory, resource.DecimalSI),
	}
	_, err = installation.client.UpdateStatus(w.t.Context(), object, func(s *vpav1.VerticalPodAutoscalerStatus) bool {
		s.Recommendation = &vpav1.RecommendedPodResources{ContainerRecommendations: []vpav1.RecommendedContainerResources{
			{ContainerName: "app", Target: wanted, LowerBound: wanted, UpperBound: wanted},
		}}
		return true
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
