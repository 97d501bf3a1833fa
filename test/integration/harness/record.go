package harness

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// Count is a count of replicas and when it was first seen.
type Count struct {
	At       time.Time
	Replicas int32
}

// Record is every count that a Deployment's spec.replicas has had since WatchCounts, seen by a watch, so that none is
// missed between two looks.
type Record struct {
	mu     sync.Mutex
	counts []Count // guarded by mu; no two neighbours have equal Replicas
	err    error   // guarded by mu; why the watch ended, if not with the test
}

// WatchCounts records a Deployment's counts until the test ends. The Deployment must exist.
func (s *Space) WatchCounts(deployment string) *Record {
	s.t.Helper()
	first, watcher := s.watch(deployment)
	record := &Record{counts: []Count{{At: time.Now(), Replicas: *first.Spec.Replicas}}}
	go record.run(watcher)
	return record
}

// watch gives a Deployment as it is stored, and what becomes of it until the test ends.
func (s *Space) watch(deployment string) (*appsv1.Deployment, watch.Interface) {
	s.t.Helper()
	client := s.Client.AppsV1().Deployments(s.Namespace)
	first, err := client.Get(s.t.Context(), deployment, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	// Without a version the watch may begin with what was before.
	watcher, err := client.Watch(s.t.Context(), metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, deployment).String(),
		ResourceVersion: first.ResourceVersion,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(watcher.Stop)
	return first, watcher
}

func (r *Record) run(watcher watch.Interface) {
	for event := range watcher.ResultChan() {
		r.see(event)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = fmt.Errorf("the watch ended")
	}
}

func (r *Record) see(event watch.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	deployment, ok := event.Object.(*appsv1.Deployment)
	if !ok {
		r.err = fmt.Errorf("watch event %s %v", event.Type, event.Object)
		return
	}
	if deployment.Spec.Replicas == nil || event.Type == watch.Deleted {
		return
	}
	replicas := *deployment.Spec.Replicas
	if last := len(r.counts) - 1; last < 0 || r.counts[last].Replicas != replicas {
		r.counts = append(r.counts, Count{At: time.Now(), Replicas: replicas})
	}
}

// Counts are the counts until now, the present one last. An error means that some may be missing.
func (r *Record) Counts() ([]Count, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.counts), r.err
}

// Replicas are the counts without their times.
func (r *Record) Replicas() ([]int32, error) {
	counts, err := r.Counts()
	replicas := make([]int32, len(counts))
	for i, c := range counts {
		replicas[i] = c.Replicas
	}
	return replicas, err
}

// String writes the counts with the seconds since the first.
func (r *Record) String() string {
	counts, err := r.Counts()
	parts := make([]string, len(counts))
	for i, c := range counts {
		parts[i] = fmt.Sprintf("%d at %.1f s", c.Replicas, c.At.Sub(counts[0].At).Seconds())
	}
	text := strings.Join(parts, ", ")
	if err != nil {
		text += fmt.Sprintf(" (%v)", err)
	}
	return text
}
