package harness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// Count is a count of replicas with the time of its first observation.
type Count struct {
	At       time.Time
	Replicas int32
}

// Record has every count of a Deployment's spec.replicas since WatchCounts, from a watch, so that none is missed
// between two reads.
type Record struct {
	follower *follower
	counts   []Count // guarded by follower.mu; no two neighbours have equal Replicas
}

// WatchCounts records a Deployment's counts until the test ends. The Deployment must exist.
func (s *Namespace) WatchCounts(deployment string) *Record {
	s.t.Helper()
	record := &Record{}
	record.follower = s.follow(deployment, record.see)
	return record
}

func (r *Record) see(deployment *appsv1.Deployment) {
	if deployment.Spec.Replicas == nil {
		return
	}
	replicas := *deployment.Spec.Replicas
	if last := len(r.counts) - 1; last < 0 || r.counts[last].Replicas != replicas {
		r.counts = append(r.counts, Count{At: time.Now(), Replicas: replicas})
	}
}

// Counts are the counts until now, the present one last. An error means that some may be missing.
func (r *Record) Counts() ([]Count, error) {
	err := r.follower.caughtUp()
	return r.seen(), err
}

// seen returns the counts from the watch so far.
func (r *Record) seen() []Count {
	r.follower.mu.Lock()
	defer r.follower.mu.Unlock()
	return slices.Clone(r.counts)
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
	counts := r.seen()
	parts := make([]string, len(counts))
	for i, c := range counts {
		parts[i] = fmt.Sprintf("%d at %.1f s", c.Replicas, c.At.Sub(counts[0].At).Seconds())
	}
	return strings.Join(parts, ", ")
}
