package cluster

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/advise/containerusage"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/rules"
)

// start makes a client of a cluster with these objects, in which some resources may
// not be listed.
func start(forbidden []string, content ...runtime.Object) *fake.FakeDynamicClient {
	lists := map[schema.GroupVersionResource]string{}
	for i := range podMetrics {
		lists[podMetrics[i].gvr()] = "PodMetricsList"
	}
	for i := range kinds {
		lists[kinds[i].gvr()] = kinds[i].name + "List"
	}
	// Pods of both groups have one resource name; the group distinguishes them.
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, content...)
	for _, resource := range forbidden {
		client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
		})
	}
	return client
}

func autoscaler() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v2", "kind": objects.HPA, "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{
			"maxReplicas": int64(5), "newerThanThis": true, "minReplicas": int64(2),
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
		},
	}}
}

func TestReadFindsAMissingTarget(t *testing.T) {
	r := Reader{Client: start(nil, autoscaler()), Namespace: "shop", ClusterFlags: []string{"--context=staging"}}
	c, err := r.Read(t.Context(), time.Now())
	if err != nil || len(c.Horizontals) != 1 || len(c.ClusterFlags) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	report := rules.Run(c, rules.All())
	if len(report.Findings) != 1 || report.Findings[0].Rule.Name != "target-missing" {
		t.Errorf("it finds %+v", report.Findings)
	}
}

// TestRulesThatLackARightAreSkipped: what may not be read is not taken to be missing.
func TestRulesThatLackARightAreSkipped(t *testing.T) {
	r := Reader{Client: start([]string{"deployments", "nodes"}, autoscaler()), Namespace: "shop"}
	c, err := r.Read(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	report := rules.Run(c, rules.All())
	if len(report.Findings) != 0 {
		t.Errorf("it finds %+v", report.Findings)
	}
	skipped := map[string]string{}
	for _, s := range report.Skipped {
		skipped[s.Rule.Name] = s.Why
	}
	if skipped["target-missing"] != "you may not list deployments.apps in namespace shop" ||
		skipped["max-allowed-beyond-node"] != "you may not list nodes in the whole cluster" {
		t.Errorf("skipped are %v", skipped)
	}
}

// TestUsageOfEitherVersion: samples are those of the version of metrics.k8s.io that is served. A container without a
// value of CPU has a partial one.
func TestUsageOfEitherVersion(t *testing.T) {
	partial := containerusage.Partial{Namespace: "shop", Pod: "web-1", Container: "mesh", HasMemory: true}
	for _, served := range []string{"v1", "v1beta1"} {
		client := start(nil)
		client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			asked := action.GetResource()
			if asked.Version != served {
				return true, nil, apierrors.NewNotFound(asked.GroupResource(), "")
			}
			item := unstructured.Unstructured{Object: map[string]any{
				"apiVersion": asked.GroupVersion().String(), "kind": "PodMetrics",
				"metadata": map[string]any{"name": "web-1", "namespace": "shop"}, "timestamp": "2026-11-20T12:00:00Z",
				"containers": []any{
					map[string]any{"name": "web", "usage": map[string]any{"cpu": "250m", "memory": "20Mi"}},
					map[string]any{"name": "mesh", "usage": map[string]any{"memory": "20Mi"}},
				},
			}}
			return true, &unstructured.UnstructuredList{
				Object: map[string]any{"apiVersion": item.GetAPIVersion(), "kind": "PodMetricsList"},
				Items:  []unstructured.Unstructured{item},
			}, nil
		})
		r := Reader{Client: client, Namespace: "shop"}
		samples, why := r.Usage(t.Context())
		if why != "" || len(samples.All) != 1 || samples.All[0].CPUMilli != 250 ||
			len(samples.Partial) != 1 || samples.Partial[0] != partial {
			t.Errorf("%s: %+v, %s", served, samples, why)
		}
	}
}

func TestNoRightToListAutoscalers(t *testing.T) {
	r := Reader{Client: start([]string{"horizontalpodautoscalers", "verticalpodautoscalers"}), Namespace: "shop"}
	_, err := r.Read(t.Context(), time.Now())
	if err == nil ||
		!strings.Contains(err.Error(), "you may not list horizontalpodautoscalers.autoscaling in namespace shop") {
		t.Errorf("error %v", err)
	}
}

// resources are what a cluster has, by API version.
type resources map[string][]metav1.APIResource

// ServerResourcesForGroupVersion implements Kinds.
func (r resources) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	list, ok := r[version]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, version)
	}
	return &metav1.APIResourceList{APIResources: list}, nil
}

// TestTheClusterIsAskedForTheKindsOfTargets: one that it does not have, or that has no scale, is an error; one that the
// rules do not know is not.
func TestTheClusterIsAskedForTheKindsOfTargets(t *testing.T) {
	kinds := resources{
		"apps/v1": {{Name: "deployments", Kind: "Deployment"}, {Name: "deployments/scale", Kind: "Scale"}},
		"example.com/v1": {{Name: "games", Kind: "Game"}, {Name: "games/scale", Kind: "Scale"},
			{Name: "toys", Kind: "Toy"}},
	}
	for ref, want := range map[string]string{
		"apps/v1 Deployment": "", "apps/v1 deployment": "target-kind-in-lower-case", "example.com/v1 Game": "",
		"extensions/v1beta1 Deployment": "target-without-scale", "apps/v1 ReplicationController": "target-without-scale",
		"example.com/v1 Toy": "target-without-scale", "example.com/v2 Game": "target-without-scale",
	} {
		version, kind, _ := strings.Cut(ref, " ")
		hpa := autoscaler()
		if err := unstructured.SetNestedMap(hpa.Object, map[string]any{"apiVersion": version, "kind": kind, "name": "web"},
			"spec", "scaleTargetRef"); err != nil {
			t.Fatal(err)
		}
		r := Reader{Client: start(nil, hpa), Namespace: "shop", Kinds: kinds}
		c, err := r.Read(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, f := range rules.Run(c, rules.All()).Findings {
			if strings.HasPrefix(f.Rule.Name, "target-") && f.Rule.Name != "target-missing" {
				found = append(found, f.Rule.Name)
			}
		}
		if strings.Join(found, " ") != want {
			t.Errorf("%s: %v, want %q", ref, found, want)
		}
	}
}

// TestWhatKEDAMade: the HPA that KEDA makes and its ScaledObject are one autoscaler; another HPA is a second one.
func TestWhatKEDAMade(t *testing.T) {
	scaled := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
		"metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec":     map[string]any{"scaleTargetRef": map[string]any{"name": "web"}, "triggers": []any{}},
	}}
	for isMade, want := range map[bool]int{true: 0, false: 1} {
		hpa := autoscaler()
		if isMade {
			hpa.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Name: "web",
				UID: "1", Controller: &isMade}})
		}
		r := Reader{Client: start(nil, hpa, scaled), Namespace: "shop"}
		c, err := r.Read(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		report := rules.Run(c, rules.All())
		for _, f := range report.Findings {
			if f.Rule.Name == "two-autoscalers" {
				found++
			}
		}
		// Where KEDA made none, the ScaledObject itself is not examined.
		if found != want || len(report.Unexamined) != want {
			t.Errorf("made by KEDA: %t: %d, want %d; not examined: %+v", isMade, found, want, report.Unexamined)
		}
	}
}
