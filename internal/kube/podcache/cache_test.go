package podcache

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// forms are all caches that both sides can read.
var forms = map[string]func(kubernetes.Interface) *Whole{
	"shared":         func(client kubernetes.Interface) *Whole { return NewShared(client) },
	"running":        func(client kubernetes.Interface) *Whole { return NewShared(client, Running) },
	"whole":          func(client kubernetes.Interface) *Whole { return NewWhole(client, "shop") },
	"whole, running": func(client kubernetes.Interface) *Whole { return NewWhole(client, "shop", Running) },
	"an informer without a transform": func(client kubernetes.Interface) *Whole {
		same := func(object any) (any, error) { return object, nil }
		return FromInformer(newCache(client, metav1.NamespaceAll, same).informer)
	},
}

// inCache runs a test with a cache of two pods.
func inCache(t *testing.T, test func(t *testing.T, client *fake.Clientset, c *Whole)) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(typical(1), typical(2))
				c := form(client)
				if c.factory == nil {
					go c.informer.RunWithContext(t.Context())
				}
				c.Start(t.Context())
				c.Start(t.Context())
				synctest.Wait()
				if !c.HasSynced() {
					t.Fatal("the cache is not filled")
				}
				test(t, client, c)
			})
		})
	}
}

// Every cache returns the same pods, of the requested type, whatever its informer holds.
func TestPods(t *testing.T) {
	inCache(t, func(t *testing.T, _ *fake.Clientset, c *Whole) {
		want := typical(2)
		if pod := c.Observed("shop", want.Name); pod == nil || !pod.IsSame(observe.PodOf(want)) || pod.Whole == nil {
			t.Errorf("observed %+v", pod)
		}
		if pod := c.Pod("shop", want.Name); pod == nil || pod.UID != want.UID || pod.Spec.NodeName != want.Spec.NodeName {
			t.Errorf("pod %+v", pod)
		}
		if c.Observed("shop", "other") != nil || c.Pod("other", want.Name) != nil {
			t.Error("missing pods are returned")
		}
		if names := namesOf(c.List()); c.List().Len() != 2 || !slices.Equal(names, []string{"web-0-1", "web-1-2"}) {
			t.Errorf("pods %v", names)
		}
		if indexers := c.informer.GetIndexer().GetIndexers(); len(indexers) > 0 {
			t.Errorf("indexes %v", indexers)
		}
	})
}

// TestRunning: the IDs of containers are kept on request, and are those of the last change.
func TestRunning(t *testing.T) {
	for _, keep := range [][]Keep{nil, {Running}} {
		synctest.Test(t, func(t *testing.T) {
			pod := typical(1)
			client := fake.NewClientset(pod)
			for name, c := range map[string]*Cache{"observed": New(client, keep...), "shared": NewShared(client, keep...).Cache,
				"whole": NewWhole(client, "shop", keep...).Cache} {
				c.Start(t.Context())
				synctest.Wait()
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", ContainerID: "containerd://" + name,
					State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
				if _, err := client.CoreV1().Pods("shop").Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				running := c.Observed("shop", pod.Name).Running
				if (running != nil) != (keep != nil) || running != nil && running.Containers[0].ID != name {
					t.Errorf("%s: %+v", name, running)
				}
			}
		})
	}
}

func namesOf(l List) []string {
	var names []string
	for pod := range l.All() {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

func TestIndexes(t *testing.T) {
	inCache(t, func(t *testing.T, client *fake.Clientset, c *Whole) {
		byNode, err := c.AddIndex("node", func(pod *corev1.Pod) (string, bool) {
			return pod.Spec.NodeName, pod.Name != "web-0-1"
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.AddIndex("node", nil); err == nil {
			t.Error("two indexes have one name")
		}
		if err := client.Tracker().Add(typical(102)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if values := byNode.Values(); !slices.Equal(values, []string{"node-2"}) {
			t.Errorf("values %v", values)
		}
		if names := namesOf(byNode.Pods("node-2")); !slices.Equal(names, []string{"web-1-2", "web-51-102"}) {
			t.Errorf("pods %v", names)
		}
		if byNode.Pods("node-1").Len() != 0 {
			t.Error("a pod that is not indexed is found")
		}
	})
}

// TestInNamespace: the index can be added while the cache is in use, and follows changes.
func TestInNamespace(t *testing.T) {
	inCache(t, func(t *testing.T, client *fake.Clientset, c *Whole) {
		names := func(namespace string) (names []string) {
			for pod := range c.InNamespace(namespace) {
				names = append(names, pod.Name)
			}
			slices.Sort(names)
			return names
		}
		first, second := typical(1).Name, typical(2).Name
		if got := names("shop"); !slices.Equal(got, slices.Sorted(slices.Values([]string{first, second}))) {
			t.Errorf("pods %q", got)
		}
		if got := names("other"); len(got) > 0 {
			t.Errorf("pods of another namespace: %q", got)
		}
		for range c.InNamespace("shop") {
			break
		}
		if err := client.CoreV1().Pods("shop").Delete(t.Context(), first, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := names("shop"); !slices.Equal(got, []string{second}) {
			t.Errorf("pods %q after one was deleted", got)
		}
	})
}

// recorded writes down the calls of a handler.
func recorded[P any](calls *[]string, name func(P) string) Handler[P] {
	return Handler[P]{
		Add: func(pod P, isInInitialList bool) {
			*calls = append(*calls, fmt.Sprint("add ", name(pod), " ", isInInitialList))
		},
		Update: func(before, after P) { *calls = append(*calls, "update "+name(before)+" "+name(after)) },
		Delete: func(pod P) { *calls = append(*calls, "delete "+name(pod)) },
	}
}

func TestHandlers(t *testing.T) {
	inCache(t, func(t *testing.T, client *fake.Clientset, c *Whole) {
		var observed, whole, added []string
		nameOf := func(pod *observe.Pod) string { return pod.Name }
		withoutUpdate := recorded(&added, nameOf)
		withoutUpdate.Update = nil
		var all []*Registration
		for _, add := range []func() (*Registration, error){
			func() (*Registration, error) { return c.AddHandler(recorded(&observed, nameOf)) },
			func() (*Registration, error) { return c.AddHandler(withoutUpdate) },
			func() (*Registration, error) {
				return c.AddPodHandler(recorded(&whole, func(pod *corev1.Pod) string { return pod.Name }))
			},
		} {
			registration, err := add()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, registration)
		}
		synctest.Wait()
		pods := client.CoreV1().Pods("shop")
		changed := typical(1)
		changed.Status.Phase = corev1.PodFailed
		if _, err := pods.Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := pods.Delete(t.Context(), changed.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, registration := range all {
			if !registration.HasSynced() {
				t.Error("a handler has not had the first list")
			}
			registration.Remove()
		}
		if err := client.Tracker().Add(typical(3)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		last := []string{"update web-0-1 web-0-1", "delete web-0-1"}
		wantCalls(t, "observed", observed, last)
		wantCalls(t, "whole", whole, last)
		wantCalls(t, "without Update", added, []string{"add web-0-1 false", "delete web-0-1"})
	})
}

// wantCalls expects two pods to be added in any order, and then these calls.
func wantCalls(t *testing.T, name string, got, last []string) {
	t.Helper()
	if len(got) < 2 {
		t.Errorf("%s: %v", name, got)
		return
	}
	slices.Sort(got[:2])
	if want := append([]string{"add web-0-1 true", "add web-1-2 true"}, last...); !slices.Equal(got, want) {
		t.Errorf("%s:\n%v, want\n%v", name, got, want)
	}
}

// A missed deletion comes in a wrapper.
func TestDeletedFinalStateUnknown(t *testing.T) {
	for name, object := range map[string]any{"whole": typical(1), "observed": observe.PodOf(typical(1))} {
		var calls []string
		h := adapter[*observe.Pod]{recorded(&calls, func(pod *observe.Pod) string { return pod.Name }), observedOf}
		h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/web-0-1", Obj: object})
		h.OnAdd("no pod", false)
		if !slices.Equal(calls, []string{"delete web-0-1"}) {
			t.Errorf("%s: %v", name, calls)
		}
	}
}

// A cache of the horizontal side alone has the fields of observe's pods.
func TestHorizontalSideAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(fake.NewClientset(typical(1)))
		c.Start(t.Context())
		synctest.Wait()
		if pod := c.Observed("shop", "web-0-1"); pod == nil || !pod.IsSame(observe.PodOf(typical(1))) || pod.Whole != nil {
			t.Errorf("%+v", pod)
		}
	})
}

// Reading costs no more than reading the informer's store does.
func TestReadingAllocatesNothingNew(t *testing.T) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	made, err := toShared(typical(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Add(made); err != nil {
		t.Fatal(err)
	}
	plain := testing.AllocsPerRun(100, func() {
		object, _, _ := store.GetByKey("shop" + "/" + made.(*observe.Pod).Name)
		if object == nil {
			t.Error("no pod")
		}
	})
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, cache.Indexers{})
	if err := informer.GetStore().Add(made); err != nil {
		t.Fatal(err)
	}
	c := FromInformer(informer)
	typed := testing.AllocsPerRun(100, func() {
		if c.Observed("shop", made.(*observe.Pod).Name) == nil {
			t.Error("no pod")
		}
	})
	if typed > plain {
		t.Errorf("%v allocations, the store's are %v", typed, plain)
	}
}
