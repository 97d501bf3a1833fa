package oom

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

const lowOnMemory = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Ki. " +
	"Container app was using 2Gi, request is 300Mi, has larger consumption of memory. "

// node is a pod of a cluster, what its kubelet reports about it, and the Watcher that reads that.
type node struct {
	*Watcher
	pod   *corev1.Pod
	woken int
}

func newNode(set divergence.Set) *node {
	n := &node{pod: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-0", UID: "uid-web-0", Labels: map[string]string{"app": "web"},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}}
	find := func(namespace, name string) *corev1.Pod {
		if namespace == n.pod.Namespace && name == n.pod.Name {
			return n.pod
		}
		return nil
	}
	n.Watcher = NewWatcher(find, set, func() { n.woken++ })
	return n
}

// reports creates the event of an eviction whose container used this amount.
func (n *node) reports(used string, change ...func(*corev1.Event)) {
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e", CreationTimestamp: metav1.Now(),
			Annotations: map[string]string{
				"offending_containers": "app", "offending_containers_usage": used, "starved_resource": "memory",
			}},
		Reason:         "Evicted",
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "web-0", UID: "uid-web-0"},
	}
	for _, f := range change {
		f(e)
	}
	n.Evictions().OnAdd(e, false)
}

// evicts sets the status of the evicted pod.
func (n *node) evicts(message string, change ...func(*corev1.Pod)) {
	before := n.pod
	n.pod = before.DeepCopy()
	n.pod.Status.Phase, n.pod.Status.Reason, n.pod.Status.Message = corev1.PodFailed, "Evicted", message
	for _, f := range change {
		f(n.pod)
	}
	n.Pods().Update(before, n.pod)
}

// TestEvictedForMemory: the event counts once the pod's status confirms it, whichever comes first; for a pod that a
// controller deletes at once it is the last status.
func TestEvictedForMemory(t *testing.T) {
	limited := func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("600Mi")}
	}
	for why, tt := range map[string]struct {
		tell func(n *node)
		want int64
	}{
		"the event first": {func(n *node) {
			n.reports("2Gi")
			time.Sleep(time.Minute) //nolint:forbidigo // virtual time: the status is a minute late
			n.evicts(lowOnMemory)
		}, 2 << 30},
		"the status first": {func(n *node) {
			n.evicts(lowOnMemory)
			time.Sleep(time.Minute) //nolint:forbidigo // virtual time: the event is a minute late
			n.reports("2Gi")
		}, 2 << 30},
		"the status is the last one": {func(n *node) {
			n.reports("2Gi")
			n.pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: lowOnMemory}
			n.Pods().Delete(n.pod)
		}, 2 << 30},
		"more than twice the limit": {func(n *node) { n.reports("2Gi"); n.evicts(lowOnMemory, limited) }, 1200 << 20},
		"the pod runs":              {func(n *node) { n.reports("1Ti") }, 0},
		"another amount":            {func(n *node) { n.reports("1Ti"); n.evicts(lowOnMemory) }, 0},
		"another reason": {func(n *node) {
			n.reports("1Ti")
			n.evicts("The node had condition: [DiskPressure]. ")
		}, 0},
		"a namesake": {func(n *node) {
			n.reports("2Gi")
			n.evicts(lowOnMemory, func(p *corev1.Pod) { p.UID = "another" })
		}, 0},
		"another phase": {func(n *node) {
			n.reports("2Gi")
			n.evicts(lowOnMemory, func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
		}, 0},
		"two minutes before the status": {func(n *node) {
			n.reports("2Gi")
			time.Sleep(confirmWithin + 1) //nolint:forbidigo // virtual time: the event expires
			n.evicts(lowOnMemory)
		}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNode(divergence.Default)
			tt.tell(n)
			kills := n.Take()
			if (len(kills) == 1) != (tt.want > 0) || (n.woken == 1) != (tt.want > 0) {
				t.Fatalf("%s: %+v, woken %d times", why, kills, n.woken)
			}
			if tt.want > 0 && (int64(kills[0].OOM.Request) != tt.want || kills[0].Labels["app"] != "web") {
				t.Errorf("%s: %+v, want %d", why, kills, tt.want)
			}
			time.Sleep(confirmWithin + 1) //nolint:forbidigo // virtual time: what waits expires
			if left := n.Waiting(); left != 0 {
				t.Errorf("%s: %d claims and pods are kept", why, left)
			}
		})
	}
}

// TestEvictionAsUpstream: upstream believes an event at once. The labels are those of the pod of that name.
func TestEvictionAsUpstream(t *testing.T) {
	n := newNode(divergence.None)
	n.reports("1Ti")
	n.reports("1Ti", func(e *corev1.Event) { e.InvolvedObject.Name = "gone" })
	if kills := n.Take(); len(kills) != 2 || kills[0].OOM.Request != 1<<40 || kills[0].Labels["app"] != "web" ||
		kills[1].Labels != nil {
		t.Errorf("%+v", kills)
	}
	if again := n.Take(); again != nil {
		t.Errorf("taken twice: %+v", again)
	}
	n.Evictions().OnAdd(&corev1.Pod{}, false)
	n.reports("much")
	if kills := n.Take(); kills != nil {
		t.Errorf("%+v", kills)
	}
}

// TestForgedEvictionsDisplaceNoOthers: a user forges as many events as are kept, in two namespaces. An eviction in
// another one still counts, instead of one of the namespace that has the most, and no more are kept than before.
func TestForgedEvictionsDisplaceNoOthers(t *testing.T) {
	n := newNode(divergence.Default)
	forge := func(i int) {
		n.reports("1Ti", func(e *corev1.Event) {
			e.InvolvedObject.UID = types.UID(strconv.Itoa(i))
			e.InvolvedObject.Namespace = "forger-few"
			if i%3 > 0 {
				e.InvolvedObject.Namespace = "forger-many"
			}
		})
	}
	forge(0)
	forge(1)
	for i := 2; i < MaxPending; i++ {
		n.claims = append(n.claims, n.claims[min(i%3, 1)])
	}
	few := func() (count int) {
		for i := range n.claims {
			if n.claims[i].namespace == "forger-few" {
				count++
			}
		}
		return count
	}
	before := few()
	n.reports("2Gi")
	forge(1)
	if left := n.Waiting(); left != MaxPending || few() != before {
		t.Errorf("%d claims are kept, %d of the namespace with few", left, few())
	}
	n.evicts(lowOnMemory)
	if kills := n.Take(); len(kills) != 1 {
		t.Errorf("%+v", kills)
	}
	clear(n.evicted)
	for i := range MaxPending {
		n.evicted[strconv.Itoa(i+2)] = evictedPod{pod: n.pod, until: time.Now().Add(confirmWithin)}
	}
	n.evicts(lowOnMemory, func(p *corev1.Pod) { p.UID = "one more" })
	if len(n.evicted) != MaxPending {
		t.Errorf("the statuses of %d pods are kept", len(n.evicted))
	}
}

// TestKillsAreFound: the first status of a pod after the start, and each change. A pod of the same name is another.
func TestKillsAreFound(t *testing.T) {
	ended := func(uid types.UID, at int64) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: uid},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
				Name: "app", LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					Reason: killed, FinishedAt: metav1.NewTime(time.Unix(at, 0)),
				}},
			}}},
		}
	}
	n := newNode(divergence.Default)
	handler := n.Pods()
	for _, step := range []struct {
		reason string
		act    func()
		want   int
	}{
		{"it was there before the start", func() { handler.Add(ended("a", 1), true) }, 0},
		{"it is new", func() { handler.Add(ended("a", 1), false) }, 1},
		{"nothing has changed", func() { handler.Update(ended("a", 1), ended("a", 1)) }, 0},
		{"it was killed again", func() { handler.Update(ended("a", 1), ended("a", 2)) }, 1},
		{"another pod has the name", func() { handler.Update(ended("a", 2), ended("b", 2)) }, 1},
	} {
		step.act()
		if kills := n.Take(); len(kills) != step.want {
			t.Errorf("%s: %d kills, want %d", step.reason, len(kills), step.want)
		}
	}
	for range MaxPending + 1 {
		n.add(Kill{})
	}
	if kills := n.Take(); len(kills) != MaxPending {
		t.Errorf("%d kills are kept", len(kills))
	}
}
