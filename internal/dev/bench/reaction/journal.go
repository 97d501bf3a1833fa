package reaction

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// sighting is the state of the workload at a time.
type sighting struct {
	at            time.Time
	wanted, ready int32
}

// moments are seconds from the begin of the load, NaN for what did not happen.
type moments struct {
	firstWrite, almostWanted, allWanted, allReady float64
}

// momentsOf reads the milestones from sightings in order. What happened before the load began was not caused by it.
func momentsOf(began time.Time, seen []sighting) moments {
	first := func(reached func(sighting) bool) float64 {
		for _, s := range seen {
			if !s.at.Before(began) && reached(s) {
				return s.at.Sub(began).Seconds()
			}
		}
		return math.NaN()
	}
	return moments{
		firstWrite:   first(func(s sighting) bool { return s.wanted > minReplicas }),
		almostWanted: first(func(s sighting) bool { return s.wanted >= almost }),
		allWanted:    first(func(s sighting) bool { return s.wanted >= maxReplicas }),
		allReady:     first(func(s sighting) bool { return s.ready >= maxReplicas }),
	}
}

// journal follows the workload's Deployment.
type journal struct {
	client kubernetes.Interface

	mu      sync.Mutex
	seen    []sighting    // guarded by mu
	changed chan struct{} // guarded by mu; closed and replaced with each sighting
}

func newJournal(client kubernetes.Interface) *journal {
	return &journal{client: client, changed: make(chan struct{})}
}

// run watches until the context ends.
func (j *journal) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := j.follow(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// follow watches until the API server ends the watch, as it does now and then.
func (j *journal) follow(ctx context.Context) error {
	deployments := j.client.AppsV1().Deployments(namespace)
	// Without a version the watch begins with the object as it is.
	watcher, err := deployments.Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: workload}))
	if err != nil {
		return fmt.Errorf("watch the workload: %w", err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if deployment, ok := event.Object.(*appsv1.Deployment); ok {
			j.note(sightingOf(deployment, time.Now()))
		}
	}
	return nil
}

func sightingOf(d *appsv1.Deployment, at time.Time) sighting {
	s := sighting{at: at, ready: d.Status.ReadyReplicas}
	if d.Spec.Replicas != nil {
		s.wanted = *d.Spec.Replicas
	}
	return s
}

func (j *journal) note(s sighting) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, s)
	close(j.changed)
	j.changed = make(chan struct{})
}

// since are the sightings from a time on.
func (j *journal) since(at time.Time) []sighting {
	j.mu.Lock()
	defer j.mu.Unlock()
	var seen []sighting
	for _, s := range j.seen {
		if !s.at.Before(at) {
			seen = append(seen, s)
		}
	}
	return seen
}

// last is the newest sighting, and what is closed when there is a newer one.
func (j *journal) last() (s sighting, found bool, changed <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.seen) > 0 {
		s, found = j.seen[len(j.seen)-1], true
	}
	return s, found, j.changed
}

// errTooLong is returned if an expected state did not come in time.
var errTooLong = errors.New("not seen in time")

// await waits until the newest sighting is as wanted.
func (j *journal) await(ctx context.Context, patience time.Duration, reached func(sighting) bool) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		s, found, changed := j.last()
		if found && reached(s) {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return fmt.Errorf("%w within %s: %d replicas wanted, %d ready", errTooLong, patience, s.wanted, s.ready)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
