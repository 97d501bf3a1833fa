package whole

import (
	"bufio"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// readiness follows how many pods of each Deployment serve, and counts all that there ever were.
type readiness struct {
	w *world

	// mu guards what follows.
	mu    sync.Mutex
	ready map[string]map[types.UID]bool
	seen  map[string]map[types.UID]bool
	least map[string]int
}

func watchReady(w *world) *readiness {
	w.t.Helper()
	r := &readiness{
		w: w, ready: map[string]map[types.UID]bool{}, seen: map[string]map[types.UID]bool{}, least: map[string]int{},
	}
	list, err := w.Client.CoreV1().Pods(w.Name).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, one := range workloads {
		r.ready[one.name], r.seen[one.name], r.least[one.name] = map[types.UID]bool{}, map[types.UID]bool{}, int(one.replicas)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		r.seen[pod.Labels["app"]][pod.UID] = true
		if isReady(pod) {
			r.ready[pod.Labels["app"]][pod.UID] = true
		}
	}
	watcher, err := w.Client.CoreV1().Pods(w.Name).Watch(w.t.Context(),
		metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(watcher.Stop)
	go func() {
		for event := range watcher.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				r.see(pod, event.Type == watch.Deleted)
			}
		}
	}()
	return r
}

func (r *readiness) see(pod *corev1.Pod, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := pod.Labels["app"]
	r.seen[name][pod.UID] = true
	if !gone && pod.DeletionTimestamp == nil && isReady(pod) {
		r.ready[name][pod.UID] = true
	} else {
		delete(r.ready[name], pod.UID)
	}
	r.least[name] = min(r.least[name], len(r.ready[name]))
}

// check: at no time did fewer serve, and each pod was replaced once.
func (r *readiness) check(least map[string]int) {
	r.w.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range workloads {
		want, ok := least[one.name]
		if !ok {
			continue
		}
		if r.least[one.name] < want {
			r.w.t.Errorf("%s: only %d pods served at some time, want %d", one.name, r.least[one.name], want)
		}
		if n := len(r.seen[one.name]); n != 2*int(one.replicas) {
			r.w.t.Errorf("%s: there were %d pods, want each of %d replaced once", one.name, n, one.replicas)
		}
	}
}

// showAdmission shows the admission controller's log of a test that failed.
func showAdmission(w *world) {
	w.t.Cleanup(func() {
		log, err := os.ReadFile(w.Cluster.LogPath("admission"))
		if w.t.Failed() {
			w.t.Logf("the admission controller's log (%v):\n%s", err, log[max(0, len(log)-8000):])
		}
	})
}

// unchanged is the number of pods that the admission controller admitted unchanged because of an error.
func unchanged(t *testing.T) float64 {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://"+installation.health+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var sum float64
	found := false
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasPrefix(name, "plimsoll_admission_unchanged_total") {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		if number != 0 {
			t.Log(lines.Text())
		}
		sum, found = sum+number, true
	}
	if !found || lines.Err() != nil {
		t.Fatalf("the metric is not there, %v", lines.Err())
	}
	return sum
}
