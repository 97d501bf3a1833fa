package migrate

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/test/integration/harness"
)

// freezing is a proxy in front of the API server that answers nothing any more after a number of writes: the last one
// is made, and who made it never learns that.
type freezing struct {
	writes int

	mu     sync.Mutex
	count  int
	log    []string
	frozen chan struct{}
	thaw   chan struct{}
}

// start returns a kubeconfig that leads through the proxy.
func (f *freezing) start(w *workload) (kubeconfig string) {
	w.t.Helper()
	f.frozen, f.thaw = make(chan struct{}), make(chan struct{})
	config := w.Cluster.RESTConfig()
	transport, err := rest.TransportFor(config)
	if err != nil {
		w.t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		w.t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: transport, ModifyResponse: f.answered,
	})
	w.t.Cleanup(func() {
		close(f.thaw)
		server.CloseClientConnections()
		server.Close()
	})
	kubeconfig = filepath.Join(w.t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return kubeconfig
}

// answered is called with each answer of the API server, before it is passed on.
func (f *freezing) answered(r *http.Response) error {
	f.mu.Lock()
	isWrite := r.Request.Method != http.MethodGet && !strings.Contains(r.Request.URL.Path, "selfsubjectaccessreviews") &&
		r.StatusCode < http.StatusBadRequest
	if isWrite && f.count < f.writes {
		f.log = append(f.log, r.Request.Method+" "+r.Request.URL.Path)
		if f.count++; f.count == f.writes {
			close(f.frozen)
		}
	}
	isFrozen := f.count == f.writes
	f.mu.Unlock()
	if isFrozen {
		<-f.thaw
	}
	return nil
}

// killed runs migrate and kills it with SIGKILL after a number of writes.
func (w *workload) killed(writes int, args ...string) {
	w.t.Helper()
	f := freezing{writes: writes}
	cmd := w.command(append(args, "--kubeconfig="+f.start(w))...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-f.frozen:
	case err := <-ended:
		w.t.Fatalf("ended before %d writes: %v, %v\n%s", writes, err, f.log, out.String())
	case <-time.After(harness.Long):
		w.t.Errorf("%d writes of %d: %v", f.count, writes, f.log)
	}
	// SIGKILL.
	if err := cmd.Process.Kill(); err != nil {
		w.t.Error(err)
	}
	if <-ended; w.t.Failed() {
		w.t.Fatal(out.String())
	}
	w.t.Logf("killed after %s", strings.Join(f.log, ", "))
}

// Killed after each of its writes, exactly one autoscaler acts, and another run finishes.
func TestKilledAfterEachWrite(t *testing.T) {
	t.Parallel()
	// Who acts after each write.
	for i, by := range []string{upstream, upstream, plimsoll, plimsoll} {
		t.Run(fmt.Sprintf("forward/%d", i+1), func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, 35)
			changes := w.WatchChanges("web")
			w.killed(i+1, "hpa/web", "--apply", "--yes", observe)
			w.isScaledBy(changes, by)
			w.apply()
			w.isMigrated("web")
			w.endsBy(changes, by, plimsoll)
		})
	}
	for i, by := range []string{plimsoll, upstream, upstream} {
		t.Run(fmt.Sprintf("back/%d", i+1), func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, 35)
			before := w.HPA("web")
			w.apply()
			changes := w.WatchChanges("web")
			w.killed(i+1, "hpa/web", "--apply", "--yes", "--back")
			w.isScaledBy(changes, by)
			w.back()
			w.isBack(before)
			w.endsBy(changes, by, upstream)
		})
	}
}

// isScaledBy has more jobs wait, and ends the test unless that one alone follows them.
func (w *workload) isScaledBy(changes *harness.Changes, by string) {
	w.t.Helper()
	w.SetQueue("jobs", 55)
	w.AwaitReplicas(harness.Deployment, "web", 6)
	w.HoldsReplicas(patience/2, harness.Deployment, "web", 6)
	w.wantChanges(changes, harness.Change{From: 4, To: 6, By: by})
}

// endsBy is the same after the second run. More than eight replicas the rates of the default behavior do not permit.
func (w *workload) endsBy(changes *harness.Changes, before, by string) {
	w.t.Helper()
	w.HoldsReplicas(patience/2, harness.Deployment, "web", 6)
	w.SetQueue("jobs", 75)
	w.AwaitReplicas(harness.Deployment, "web", 8)
	w.HoldsReplicas(patience/2, harness.Deployment, "web", 8)
	w.wantChanges(changes, harness.Change{From: 4, To: 6, By: before}, harness.Change{From: 6, To: 8, By: by})
}

func (w *workload) wantChanges(changes *harness.Changes, want ...harness.Change) {
	w.t.Helper()
	if all := changes.All(); !slices.Equal(all, want) {
		w.t.Fatalf("%v, want %v", all, want)
	}
}
