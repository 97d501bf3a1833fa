package population

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"pgregory.net/rapid"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// Every pod is on exactly one node, no node has more than it takes, and every object is found by its name.
func TestEverythingHasItsPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := Size{
			Objects: rapid.IntRange(1, 60).Draw(t, "objects"), PodsPer: rapid.IntRange(1, 12).Draw(t, "pods"),
			ObjectsPerNamespace: rapid.IntRange(1, 30).Draw(t, "objects in a namespace"),
			PodsPerNode:         rapid.IntRange(1, 30).Draw(t, "pods on a node"),
		}
		seen := map[Place]bool{}
		for node := range size.Nodes() {
			places := size.PodsOn(node)
			if len(places) > size.PodsPerNode {
				t.Fatalf("%d pods on node %d", len(places), node)
			}
			for _, place := range places {
				if seen[place] || size.NodeOf(place.Object, place.Pod) != node {
					t.Fatalf("%v is on node %d and on %d", place, node, size.NodeOf(place.Object, place.Pod))
				}
				seen[place] = true
			}
		}
		if len(seen) != size.Pods() {
			t.Fatalf("%d of %d pods are on nodes", len(seen), size.Pods())
		}
		for object := range size.Objects {
			if found, ok := size.Find(size.NamespaceOf(object), ObjectName(object)); !ok || found != object {
				t.Fatalf("object %d is found as %d, %t", object, found, ok)
			}
		}
	})
}

func TestPodsOfAWorkloadAreOnDifferentNodes(t *testing.T) {
	size, err := Size{Objects: 100, PodsPer: 10}.Completed()
	if err != nil {
		t.Fatal(err)
	}
	if size.Nodes() != 10 || size.Namespaces() != 5 {
		t.Errorf("%d nodes, %d namespaces", size.Nodes(), size.Namespaces())
	}
	nodes := map[int]bool{}
	for pod := range 10 {
		nodes[size.NodeOf(57, pod)] = true
	}
	if len(nodes) != 10 {
		t.Errorf("10 pods on %d nodes", len(nodes))
	}
}

func TestStrangersAreNotFound(t *testing.T) {
	size := Size{Objects: 30, PodsPer: 1, ObjectsPerNamespace: 20, PodsPerNode: 100}
	for _, c := range [][2]string{
		{"shop-0", "web-20"}, {"shop-1", "web-30"}, {"shop-1", "web-+25"}, {"shop-1", "web-025"}, {"shop-1", "25"},
		{"shop-1", "web--1"}, {"", "web-"},
	} {
		if object, found := size.Find(c[0], c[1]); found {
			t.Errorf("%v is found as %d", c, object)
		}
	}
}

func TestSizeIsChecked(t *testing.T) {
	for _, size := range []Size{{}, {Objects: 1}, {Objects: 1, PodsPer: -1}, {Objects: 1, PodsPer: 1, PodsPerNode: -1}} {
		if _, err := size.Completed(); err == nil {
			t.Errorf("%+v is accepted", size)
		}
	}
}

// control makes the service accounts that pods need, as a controller does, and counts what comes in.
type control struct {
	*fake.Clientset

	mu    sync.Mutex
	calls map[string]int
}

func newControl() *control {
	c := &control{Clientset: fake.NewClientset(), calls: map[string]int{}}
	c.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		c.calls[action.GetVerb()+" "+action.GetResource().Resource+"/"+action.GetSubresource()]++
		c.mu.Unlock()
		return false, nil, nil
	})
	c.PrependReactor("get", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &corev1.ServiceAccount{}, nil
	})
	return c
}

func TestCreateMakesWhatAutoscalersNeed(t *testing.T) {
	size, err := Size{Objects: 7, PodsPer: 3, ObjectsPerNamespace: 2, PodsPerNode: 10}.Completed()
	if err != nil {
		t.Fatal(err)
	}
	client := newControl()
	var mu sync.Mutex
	last := 0
	progress := func(done int) {
		mu.Lock()
		defer mu.Unlock()
		last = max(last, done)
	}
	if err := Create(t.Context(), Config{Client: client, Size: size, KubeletPorts: []int{11,
		12, 13}, Progress: progress}); err != nil {
		t.Fatal(err)
	}
	if last != 7 {
		t.Errorf("progress of %d objects", last)
	}
	for call, want := range map[string]int{
		"create nodes/": 3, "create namespaces/": 4, "create deployments/": 7, "update deployments/status": 7,
		"create replicasets/": 7,
		"create pods/":        21, "update pods/status": 21, "create horizontalpodautoscalers/": 7,
	} {
		if got := client.calls[call]; got != want {
			t.Errorf("%s: %d, want %d", call, got, want)
		}
	}
	checkWorkload(t, client, "shop-2", "web-5")
	node, err := client.CoreV1().Nodes().Get(t.Context(), "node-2", metav1.GetOptions{})
	if err != nil || node.Status.DaemonEndpoints.KubeletEndpoint.Port != 13 {
		t.Errorf("node %+v, %v", node, err)
	}
}

func checkWorkload(t *testing.T, client *control, namespace, name string) {
	t.Helper()
	hpa, err := client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	target, err := client.AppsV1().Deployments(namespace).Get(t.Context(), hpa.Spec.ScaleTargetRef.Name,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(target.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	selected, set := 0, ReplicaSetName(5)
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		selected++
		if pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodRunning || pod.OwnerReferences[0].Name != set {
			t.Errorf("pod %s on %q is %s and of %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase, pod.OwnerReferences[0].Name)
		}
	}
	if selected != 3 || *target.Spec.Replicas != 3 || target.Status.Replicas != 3 {
		t.Errorf("%d pods selected, scale %d of %d", selected, target.Status.Replicas, *target.Spec.Replicas)
	}
}

// Every second workload gets a WorkloadAutoscaler with the spec of its HPA, and gets the HPA again.
func TestReplaceAndBack(t *testing.T) {
	size, err := Size{Objects: 7, PodsPer: 3, ObjectsPerNamespace: 2, PodsPerNode: 10}.Completed()
	if err != nil {
		t.Fatal(err)
	}
	client := newControl()
	config := Config{
		Client: client, Size: size, KubeletPorts: []int{11, 12, 13},
		Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
	}
	if err := Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if err := Replace(t.Context(), config, HPAs, Half); err != nil {
		t.Fatal(err)
	}
	objects := config.Dynamic.Resource(plimsollv1alpha1.SchemeGroupVersion.WithResource(
		plimsollv1alpha1.WorkloadAutoscalers))
	wla, err := objects.Namespace("shop-2").Get(t.Context(), "web-5", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hpas := client.AutoscalingV2().HorizontalPodAutoscalers("shop-2")
	if _, err := hpas.Get(t.Context(), "web-5", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("its HPA: %v", err)
	}
	if _, err := hpas.Get(t.Context(), "web-4", metav1.GetOptions{}); err != nil {
		t.Errorf("the HPA of another: %v", err)
	}
	if most, _, err := unstructured.NestedInt64(wla.Object, "spec", "maxReplicas"); err != nil || most != 9 {
		t.Errorf("maxReplicas %d, %v", most, err)
	}
	if err := Replace(t.Context(), config, Half, HPAs); err != nil {
		t.Fatal(err)
	}
	if _, err := hpas.Get(t.Context(), "web-5", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := objects.Namespace("shop-2").Get(t.Context(), "web-5", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("its WorkloadAutoscaler: %v", err)
	}
}

// Every workload gets a WorkloadAutoscaler on the metrics of its pods, whatever it had before.
func TestReplaceByOwnMetrics(t *testing.T) {
	size, err := Size{Objects: 4, PodsPer: 1, ObjectsPerNamespace: 2, PodsPerNode: 10}.Completed()
	if err != nil {
		t.Fatal(err)
	}
	client := newControl()
	config := Config{
		Client: client, Size: size, KubeletPorts: []int{11},
		Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
	}
	if err := Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if err := Replace(t.Context(), config, HPAs, OwnMetrics); err == nil {
		t.Error("there is no port of the metrics")
	}
	config.MetricsPort = 23456
	for _, step := range [][2]Autoscalers{{HPAs, Half}, {Half, OwnMetrics}} {
		if err := Replace(t.Context(), config, step[0], step[1]); err != nil {
			t.Fatal(err)
		}
	}
	objects := config.Dynamic.Resource(plimsollv1alpha1.SchemeGroupVersion.WithResource(
		plimsollv1alpha1.WorkloadAutoscalers))
	for object := range size.Objects {
		found, err := objects.Namespace(size.NamespaceOf(object)).Get(t.Context(), ObjectName(object), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var wla plimsollv1alpha1.WorkloadAutoscaler
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &wla); err != nil {
			t.Fatal(err)
		}
		metrics := wla.Spec.Metrics
		if len(metrics) != 1 || metrics[0].PodEndpoint == nil || metrics[0].PodEndpoint.Port.IntValue() != 23456 ||
			metrics[0].PodEndpoint.Target.AverageValue.Value() != RequestsPerSecond {
			t.Errorf("metrics of object %d: %+v", object, metrics)
		}
	}
	hpas, err := client.AutoscalingV2().HorizontalPodAutoscalers("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(hpas.Items) != 0 {
		t.Errorf("%d HPAs are left, %v", len(hpas.Items), err)
	}
}

func TestPodsAreFoundByTheirAddresses(t *testing.T) {
	size := Size{Objects: MostObjects, PodsPer: MostPods}
	rapid.Check(t, func(t *rapid.T) {
		place := Place{
			Object: rapid.IntRange(0, size.Objects-1).Draw(t, "object"), Pod: rapid.IntRange(0, size.PodsPer-1).Draw(t, "pod"),
		}
		at := netip.MustParseAddr(address(place))
		if found, ok := size.FindAddress(at); !ok || found != place || !at.IsLoopback() {
			t.Fatalf("%v at %s is found as %v, %t", place, at, found, ok)
		}
	})
	small := Size{Objects: 2, PodsPer: 3}
	for _, other := range []string{"127.0.0.1", "127.1.2.1", "127.1.0.4", "127.1.0.0", "10.1.0.1", "::1"} {
		if place, found := small.FindAddress(netip.MustParseAddr(other)); found {
			t.Errorf("%s is found as %v", other, place)
		}
	}
}

func TestCreateSaysWhatFailed(t *testing.T) {
	client := newControl()
	refusal := errors.New("no room")
	client.PrependReactor("create", "replicasets",
		func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refusal })
	size := Size{Objects: 2, PodsPer: 1, ObjectsPerNamespace: 1, PodsPerNode: 10}
	if err := Create(t.Context(), Config{Client: client, Size: size, KubeletPorts: []int{1}}); !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
	if err := Create(t.Context(), Config{Client: client, Size: size}); err == nil {
		t.Error("no error without kubelets")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Create(ctx, Config{Client: newControl(), Size: size, KubeletPorts: []int{1}}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
