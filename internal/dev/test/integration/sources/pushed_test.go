package sources

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/scaler"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// scaled is a WorkloadAutoscaler of the Deployment of the same name, between no and five replicas.
const scaled = `
apiVersion: plimsoll.dev/v1alpha1
kind: WorkloadAutoscaler
metadata: {name: %[1]s}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  minReplicas: 0
  maxReplicas: 5
  scaleToZero: {cooldownSeconds: %[2]d}
  syncPeriodSeconds: %[6]d
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
  metrics:
    - name: scaler
      type: ExternalScaler
      externalScaler: {scalerAddress: %[3]q, intervalSeconds: %[5]d, %[4]s}
---`

// create makes a Deployment with so many replicas and its WorkloadAutoscaler. More are fields of externalScaler.
func create(s *harness.Namespace, name string, replicas int32, cooldown int, more string) {
	s.Create(harness.Workload{Name: name, Replicas: &replicas}.Deployment())
	s.KubectlInput(fmt.Sprintf(scaled, name, cooldown, keda.Address(), more, 1, 3), "apply", "-f", "-")
}

// jobs are so many in the queue, five for each replica.
func jobs(isActive bool, n float64) scaler.State {
	return scaler.State{IsActive: isActive, Metrics: []scaler.Metric{{Name: "jobs", Value: n, Target: 5}}}
}

// push pushes that the object is active, once its stream is open.
func push(s *harness.Namespace, name string) {
	s.Eventually("an open stream of "+name, func(context.Context) error {
		if keda.Push(s.Name, name, true) == 0 {
			return fmt.Errorf("no stream is open")
		}
		return nil
	})
}

// A push alone wakes the target, whatever the values are. They decide how many replicas there are then, and the
// cooldown when there are none.
func TestPushedActivity(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	keda.Set(s.Name, "worker", jobs(false, 12))
	create(s, "worker", 0, 10, "")
	s.HoldsReplicas(3*time.Second, harness.Deployment, "worker", 0)
	s.Eventually("3 replicas", func(context.Context) error {
		// Again, as on a busy machine the cooldown of one push may end before the values are known.
		keda.Push(s.Name, "worker", true)
		if n := s.Replicas(harness.Deployment, "worker"); n != 3 {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
	keda.Set(s.Name, "worker", jobs(true, 24))
	s.AwaitReplicas(harness.Deployment, "worker", 5)
	keda.Set(s.Name, "worker", jobs(true, 0))
	s.AwaitReplicas(harness.Deployment, "worker", 1)
	s.HoldsReplicas(12*time.Second, harness.Deployment, "worker", 1)
	// The last poll may be long ago on a busy machine; a push is not.
	active := time.Now()
	push(s, "worker")
	keda.Set(s.Name, "worker", jobs(false, 0))
	s.AwaitReplicas(harness.Deployment, "worker", 0)
	if after := time.Since(active); after < 10*time.Second {
		t.Errorf("the last replica went after %s, and the cooldown is 10 s", after)
	}
}

// A scaler without a stream wakes its target by polls.
func TestPolledActivity(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	keda.Set(s.Name, "worker", jobs(false, 0))
	create(s, "worker", 1, 2, "delivery: Poll")
	s.AwaitReplicas(harness.Deployment, "worker", 0)
	if keda.Push(s.Name, "worker", true) != 0 {
		t.Error("a stream is open")
	}
	keda.Set(s.Name, "worker", jobs(true, 7))
	s.AwaitReplicas(harness.Deployment, "worker", 2)
}

// Replicas stay while the scaler gives no answer.
func TestScalerWithoutAnswers(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	keda.Set(s.Name, "worker", jobs(true, 12))
	create(s, "worker", 1, 2, "")
	s.AwaitReplicas(harness.Deployment, "worker", 3)
	keda.Set(s.Name, "worker", scaler.State{})
	s.HoldsReplicas(10*time.Second, harness.Deployment, "worker", 3)
}

// A scaler that changes its mind all the time does not make the target do so.
func TestFlappingScaler(t *testing.T) {
	t.Parallel()
	const cooldown, lasts = 5, 20 * time.Second
	s := namespace(t)
	keda.Set(s.Name, "worker", jobs(false, 0))
	create(s, "worker", 0, cooldown, "")
	push(s, "worker")
	s.AwaitReplicas(harness.Deployment, "worker", 1)
	record := s.WatchCounts("worker")
	isActive := false
	ticker := time.NewTicker(150 * time.Millisecond)
	defer ticker.Stop()
	for began := time.Now(); time.Since(began) < lasts; <-ticker.C {
		isActive = !isActive
		keda.Set(s.Name, "worker", jobs(isActive, 0))
		keda.Push(s.Name, "worker", isActive)
	}
	counts, err := record.Replicas()
	if err != nil || slices.Contains(counts, 0) {
		t.Errorf("counts: %s, %v", record, err)
	}
	keda.Set(s.Name, "worker", jobs(false, 0))
	s.AwaitReplicas(harness.Deployment, "worker", 0)
}

// The time from a push to the written count is bounded loosely here: the machine may have other work. The benchmark
// prints it.
func TestPushIsFast(t *testing.T) {
	const most = 10 * time.Second
	took := pushes(t, 20)
	t.Logf("from the push to the scale write: %s", quantiles(took))
	if slowest := slices.Max(took); slowest > most {
		t.Errorf("%s from a push to the scale write", slowest)
	}
}

// BenchmarkPush measures 200 pushes, each to an object of its own:
//
//	go test -run '^$' -bench Push -benchtime 1x ./test/integration/sources
func BenchmarkPush(b *testing.B) {
	var took []time.Duration
	for b.Loop() {
		took = append(took, pushes(b, 200)...)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
	b.ReportMetric(0, "ns/op")
}

func quantiles(took []time.Duration) string {
	slices.Sort(took)
	return fmt.Sprintf("median %s, p99 %s, most %s", took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
}

// pushes returns the times from the push to the scale write for targets at zero, from a watch.
func pushes(t testing.TB, n int) []time.Duration {
	t.Helper()
	s := namespace(t)
	manifests := ""
	for i := range n {
		name := fmt.Sprintf("worker-%d", i)
		keda.Set(s.Name, name, jobs(false, 0))
		s.Create(harness.Workload{Name: name, Replicas: ptr.To[int32](0)}.Deployment())
		manifests += fmt.Sprintf(scaled, name, 300, keda.Address(), "", 30, 30)
	}
	s.KubectlInput(manifests, "apply", "-f", "-")
	writes := watchWrites(t, s)
	took := make([]time.Duration, n)
	for i := range took {
		name := fmt.Sprintf("worker-%d", i)
		awaitStream(s, name)
		began := time.Now()
		if keda.Push(s.Name, name, true) != 1 {
			t.Fatalf("the stream of %s has ended", name)
		}
		took[i] = writes.await(s, name).Sub(began)
	}
	return took
}

// awaitStream waits until the stream of an object is open. What is pushed meanwhile changes nothing.
func awaitStream(s *harness.Namespace, name string) {
	s.Eventually("an open stream of "+name, func(context.Context) error {
		if keda.Push(s.Name, name, false) == 0 {
			return fmt.Errorf("no stream is open")
		}
		return nil
	})
}

// writes are the times at which the Deployments of a namespace got their first replica.
type writes struct {
	mu    sync.Mutex
	first map[string]time.Time
}

// watchWrites begins with the changes from now on.
func watchWrites(t testing.TB, s *harness.Namespace) *writes {
	t.Helper()
	watcher, err := s.Client.AppsV1().Deployments(s.Name).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	w := &writes{first: map[string]time.Time{}}
	go func() {
		for event := range watcher.ResultChan() {
			if d, has := event.Object.(*appsv1.Deployment); has && ptr.Deref(d.Spec.Replicas, 0) > 0 {
				w.add(d.Name)
			}
		}
	}()
	return w
}

func (w *writes) add(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, has := w.first[name]; !has {
		w.first[name] = time.Now()
	}
}

// await returns when the Deployment got its first replica.
func (w *writes) await(s *harness.Namespace, name string) time.Time {
	var at time.Time
	s.Eventually("the first replica of "+name, func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		var has bool
		if at, has = w.first[name]; !has {
			return fmt.Errorf("no replica")
		}
		return nil
	})
	return at
}
