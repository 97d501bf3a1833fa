package targets

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
)

// inCluster runs a test with a synced Cache of a cluster that has a Deployment and a ReplicaSet.
func inCluster(t *testing.T, test func(ctx context.Context, c *Cache, cluster *fake.Clientset)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cluster := fake.NewClientset(
			&appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "1"},
				Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)},
			},
			replicaSet("web-1", "a", "web"),
		)
		c := New(cluster)
		c.Start(ctx)
		synctest.Wait()
		if !c.HasSynced() {
			t.Error("the caches are not filled")
		}
		test(ctx, c, cluster)
		cancel()
		c.factory.Shutdown()
	})
}

func replicaSet(name, uid, owner string) *appsv1.ReplicaSet {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid)}}
	if owner != "" {
		set.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "Deployment", Name: owner, UID: types.UID(owner), Controller: ptr.To(true),
		}}
	}
	return set
}

// TestWatch: new targets and other counts are reported, not those from before the start and not other changes.
func TestWatch(t *testing.T) {
	inCluster(t, func(ctx context.Context, c *Cache, cluster *fake.Clientset) {
		var reported []string
		stop, err := c.Watch(func(id ID, replicas int32) {
			reported = append(reported, fmt.Sprintf("%s %s %d", id.Kind.Kind, id.Name, replicas))
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		deployments := cluster.AppsV1().Deployments("shop")
		apply := func(name string, replicas *int32, label string) {
			d := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"is": label}},
				Spec:       appsv1.DeploymentSpec{Replicas: replicas},
			}
			if _, err := deployments.Update(ctx, d, metav1.UpdateOptions{}); err != nil {
				_, err = deployments.Create(ctx, d, metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
				}
			}
			synctest.Wait()
		}
		apply("web", ptr.To[int32](3), "edited")
		apply("web", ptr.To[int32](5), "edited")
		apply("new", nil, "")
		stop()
		synctest.Wait()
		apply("web", ptr.To[int32](7), "edited")
		if want := []string{"deployment shop/web 5", "deployment shop/new 1"}; !slices.Equal(reported, want) {
			t.Errorf("reported %q, want %q", reported, want)
		}
	})
}

// TestWatchOwners: new ReplicaSets are reported, and those that another object controls than before.
func TestWatchOwners(t *testing.T) {
	inCluster(t, func(ctx context.Context, c *Cache, cluster *fake.Clientset) {
		var reported []string
		stop, err := c.WatchOwners(func(namespace, name string, isNew bool) {
			reported = append(reported, fmt.Sprintf("%s/%s %t", namespace, name, isNew))
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		sets := cluster.AppsV1().ReplicaSets("shop")
		for _, next := range []*appsv1.ReplicaSet{
			replicaSet("web-1", "a", "web"), replicaSet("web-1", "a", "other"), replicaSet("web-1", "b", "other"),
			replicaSet("web-1", "b", ""),
		} {
			if _, err := sets.Update(ctx, next, metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		stop()
		want := []string{"shop/web-1 true", "shop/web-1 false", "shop/web-1 false", "shop/web-1 false"}
		if !slices.Equal(reported, want) {
			t.Errorf("reported %q, want %q", reported, want)
		}
	})
}

// TestScale: the cache serves a scale unless the API server has shown a newer one, by either spelling of the kind.
func TestScale(t *testing.T) {
	inCluster(t, func(_ context.Context, c *Cache, _ *fake.Clientset) {
		of := func(kind, name string) (int32, bool) {
			target, ok := c.Scale(schema.GroupKind{Group: "apps", Kind: kind}, "shop", name)
			if !ok {
				return 0, false
			}
			return target.Scale.Spec.Replicas, true
		}
		for _, tt := range []struct {
			kind, name string
			want       bool
		}{
			{"Deployment", "web", true}, {"deployment", "web", true}, {"DEPLOYMENT", "web", false}, {"DaemonSet", "web", false},
			{"Deployment", "gone", false}, {"ReplicaSet", "web-1", false}, // a Deployment controls it
		} {
			if _, ok := of(tt.kind, tt.name); ok != tt.want {
				t.Errorf("%s %s: %t", tt.kind, tt.name, ok)
			}
		}
		deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
		seen := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "2"}}
		c.Saw(deployments, seen)
		if _, ok := of("Deployment", "web"); ok {
			t.Error("the cache serves version 1 after the API server has shown version 2")
		}
		seen.ResourceVersion = "1"
		c.Saw(deployments, seen)
		if replicas, ok := of("Deployment", "web"); !ok || replicas != 3 || len(c.seen) != 0 {
			t.Errorf("%d replicas, %t; %v is still awaited", replicas, ok, c.seen)
		}
	})
}

// TestSweep: scales of deleted objects are dropped once there are many.
func TestSweep(t *testing.T) {
	factory := informers.NewSharedInformerFactory(nil, 0)
	c := Over(factory.Apps().V1())
	c.most = 2
	store := c.stores[keyOf(schema.GroupKind{Group: "apps", Kind: "Deployment"})].informer.GetStore()
	for i := range 3 {
		d := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint(i)},
			Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{}},
		}
		if err := store.Add(d); err != nil {
			t.Fatal(err)
		}
		first, ok := c.Scale(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "shop", d.Name)
		again, _ := c.Scale(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "shop", d.Name)
		if !ok || first.Scale != again.Scale {
			t.Errorf("the scale of %s is not the same again", d.Name)
		}
		if i == 0 {
			if err := store.Delete(d); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(c.made) != 2 || c.most != leastMost {
		t.Errorf("%d scales are kept, %d at most", len(c.made), c.most)
	}
}
