package migrate

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// freezing passes on a number of writes, and nothing from then on: the last write is made, and its client gets no
// response.
type freezing struct {
	writes int

	mu     sync.Mutex
	log    []string // guarded by mu
	frozen chan struct{}
	thaw   chan struct{}
}

// start returns a kubeconfig that leads through the proxy.
func (f *freezing) start(w *workload) (kubeconfig string) {
	w.t.Helper()
	f.frozen, f.thaw = make(chan struct{}), make(chan struct{})
	kubeconfig = (&proxy{after: f.answered}).start(w)
	// Before the proxy is closed, which waits for its requests.
	w.t.Cleanup(func() { close(f.thaw) })
	return kubeconfig
}

// answered is called with each answer of the API server, before it is passed on.
func (f *freezing) answered(r *http.Response) {
	f.mu.Lock()
	if isWrite(r.Request) && r.StatusCode < http.StatusBadRequest && len(f.log) < f.writes {
		if f.log = append(f.log, r.Request.Method+" "+r.Request.URL.Path); len(f.log) == f.writes {
			close(f.frozen)
		}
	}
	isFrozen := len(f.log) == f.writes
	f.mu.Unlock()
	if isFrozen {
		<-f.thaw
	}
}

// made are the writes until now.
func (f *freezing) made() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.log, ", ")
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
		w.t.Fatalf("ended before %d writes: %v, %s\n%s", writes, err, f.made(), out.String())
	case <-time.After(harness.Long):
		w.t.Errorf("not %d writes within %s: %s", writes, harness.Long, f.made())
	}
	// SIGKILL.
	if err := cmd.Process.Kill(); err != nil {
		w.t.Error(err)
	}
	if <-ended; w.t.Failed() {
		w.t.Fatal(out.String())
	}
	w.t.Logf("killed after %s", f.made())
}

// Killed after each of its writes, exactly one autoscaler acts, and another run finishes. More than eight replicas the
// rates of the default behavior do not permit.
func TestKilledAfterEachWrite(t *testing.T) {
	t.Parallel()
	// The writer after each write.
	for i, by := range []string{upstream, upstream, plimsoll, plimsoll} {
		t.Run(fmt.Sprintf("forward/%d", i+1), func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, 35)
			changes := w.WatchChanges("web")
			w.killed(i+1, "hpa/web", "--apply", "--yes", observe)
			w.isScaledBy(changes, by, 6, 5)
			w.apply()
			w.isMigrated("web")
			w.isScaledBy(changes, plimsoll, 8)
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
			w.isScaledBy(changes, by, 6, 5)
			w.back()
			w.isBack(before)
			w.isScaledBy(changes, upstream, 8)
		})
	}
}

// isScaledBy sets the length of the queue to one after another, and ends the test unless only that controller scales to
// the count of each.
func (w *workload) isScaledBy(changes *harness.Changes, by string, counts ...int32) {
	w.t.Helper()
	for _, count := range counts {
		want := append(changes.All(), harness.Change{From: w.replicas(), To: count, By: by})
		w.SetQueue("jobs", int(10*count))
		w.AwaitReplicas(harness.Deployment, "web", int64(count))
		w.wantChanges(changes, want...)
	}
	w.HoldsReplicas(patience/2, harness.Deployment, "web", int64(counts[len(counts)-1]))
}

func (w *workload) replicas() int32 {
	w.t.Helper()
	return int32(w.Replicas(harness.Deployment, "web"))
}

func (w *workload) wantChanges(changes *harness.Changes, want ...harness.Change) {
	w.t.Helper()
	if all := changes.All(); !slices.Equal(all, want) {
		w.t.Fatalf("%v, want %v", all, want)
	}
}
