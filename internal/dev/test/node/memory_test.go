//go:build node

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOutOfMemory: a container that needs 200 MiB and may use 64. The kernel kills it within a second of its start,
// again and again, so that no scrape has its use: only the kill is known. The memory must be raised twice, as the first
// time is not enough.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"Recreate", "InPlaceOrRecreate", "InPlace"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			raised(t, mode)
		})
	}
}

// TestCrashLoop: the same, but it has been killed so often that the kubelet waits before it starts it again, when
// a VerticalPodAutoscaler is created for it.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"Recreate", "InPlaceOrRecreate"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			seen := s.record("app=web")
			s.deploy(hungry())
			s.eventually(patience, "a container in CrashLoopBackOff", func(context.Context) error {
				story := seen()
				if !slices.ContainsFunc(story, func(line string) bool { return strings.Contains(line, "64Mi CrashLoopBackOff") }) {
					return errors.New(strings.Join(story, "; "))
				}
				return nil
			})
			began := time.Now()
			s.recommend("web", fmt.Sprintf(`,"updatePolicy":{"updateMode":%q,"minReplicas":1}`, mode))
			s.lives(began, seen)
			s.acted(mode)
		})
	}
}

// hungry is a container that needs three times what it may have.
func hungry() workload {
	return workload{
		name: "web", replicas: 1, args: []string{"-memory-mib=200"},
		requests: map[corev1.ResourceName]string{"cpu": "25m", "memory": "64Mi"},
		limits:   map[corev1.ResourceName]string{"memory": "64Mi"},
	}
}

func raised(t *testing.T, mode string) {
	s := newSpace(t)
	s.recommend("web", fmt.Sprintf(`,"updatePolicy":{"updateMode":%q,"minReplicas":1}`, mode))
	seen, began := s.record("app=web"), time.Now()
	s.deploy(hungry())
	s.lives(began, seen)
	if !slices.ContainsFunc(seen(), func(line string) bool { return strings.Contains(line, "64Mi OOMKilled") }) {
		t.Error("it was never seen killed: the test shows less than it should")
	}
	s.acted(mode)
}

// lives waits until the container has what it needs, and lives on with it.
func (s *space) lives(began time.Time, seen func() []string) {
	s.t.Helper()
	const need = 200 << 20
	var at time.Time
	s.eventually(2*patience, "a container that lives", func(ctx context.Context) error {
		pods, err := s.pods(ctx, "web")
		if err != nil || len(pods) != 1 || len(pods[0].Status.ContainerStatuses) != 1 {
			return fmt.Errorf("%d pods, %w", len(pods), err)
		}
		pod, status := &pods[0], &pods[0].Status.ContainerStatuses[0]
		limit := pod.Spec.Containers[0].Resources.Limits.Memory()
		if status.State.Running == nil || limit.Value() <= need {
			return fmt.Errorf("limit %s, %+v", limit, status.State)
		}
		// It takes a second and a half to take what it needs.
		if at = status.State.Running.StartedAt.Time; time.Since(at) < 10*time.Second {
			return fmt.Errorf("limit %s, started %s ago", limit, time.Since(at))
		}
		return nil
	})
	last := s.running("web").Status.ContainerStatuses[0].ContainerID
	s.holds(20*time.Second, "alive", func(ctx context.Context) error {
		pods, err := s.pods(ctx, "web")
		if err != nil || len(pods) != 1 || pods[0].Status.ContainerStatuses[0].ContainerID != last {
			return fmt.Errorf("%d pods, or another container: %w", len(pods), err)
		}
		return nil
	})
	s.t.Logf("it lives on what was begun %s later:\n  %s", at.Sub(began).Round(time.Second), strings.Join(seen(), "\n  "))
}

// acted checks by its events that Plimsoll acted as the mode demands.
func (s *space) acted(mode string) {
	s.t.Helper()
	s.eventually(patience, "events of what was done", func(ctx context.Context) error {
		evicted, err1 := s.events(ctx, "EvictedByVPA")
		resized, err2 := s.events(ctx, "InPlaceResizedByVPA")
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		s.t.Logf("%d pods evicted, %d resized in place", len(evicted), len(resized))
		switch {
		case mode == "Recreate" && (len(evicted) == 0 || len(resized) > 0), mode == "InPlace" &&
			(len(evicted) > 0 || len(resized) == 0),
			len(evicted)+len(resized) == 0:
			return fmt.Errorf("mode %s: evicted %v, resized %v", mode, evicted, resized)
		}
		return nil
	})
}

// record records the states of the containers of pods, each once, until the returned function is called.
func (s *space) record(selector string) (story func() []string) {
	began := time.Now()
	w, err := stage.cluster.Client().CoreV1().Pods(s.namespace).Watch(s.t.Context(),
		metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		s.t.Fatal(err)
	}
	var mu sync.Mutex // guards lines
	var lines []string
	last := ""
	go func() {
		for event := range w.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			line := pod.Name + " " + containerState(pod)
			mu.Lock()
			if line != last {
				lines, last = append(lines, fmt.Sprintf("%5.1f s  %s", time.Since(began).Seconds(), line)), line
			}
			mu.Unlock()
		}
	}()
	s.t.Cleanup(w.Stop)
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(lines)
	}
}

// containerState is the state of a pod's first container: how much it may have, why it does not run, and how often it
// began anew.
func containerState(pod *corev1.Pod) string {
	resources := pod.Spec.Containers[0].Resources
	words := resource.NewQuantity(resources.Limits.Memory().Value()>>20<<20, resource.BinarySI).String()
	if len(pod.Status.ContainerStatuses) == 0 {
		return words + " " + string(pod.Status.Phase)
	}
	switch status := pod.Status.ContainerStatuses[0]; {
	case status.State.Terminated != nil:
		words += " " + status.State.Terminated.Reason
	case status.State.Waiting != nil:
		words += " " + status.State.Waiting.Reason
	default:
		words += " running"
	}
	if pod.DeletionTimestamp != nil {
		words += ", ends"
	}
	return fmt.Sprintf("%s, %d restarts", words, pod.Status.ContainerStatuses[0].RestartCount)
}
