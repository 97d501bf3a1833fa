package cluster

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/rules"
)

// start makes a client of a cluster with these objects, in which some resources may
// not be listed.
func start(forbidden []string, content ...runtime.Object) *fake.FakeDynamicClient {
	lists := map[schema.GroupVersionResource]string{podMetrics.gvr(): "PodMetricsList"}
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

func TestNoRightToListAutoscalers(t *testing.T) {
	r := Reader{Client: start([]string{"horizontalpodautoscalers", "verticalpodautoscalers"}), Namespace: "shop"}
	_, err := r.Read(t.Context(), time.Now())
	if err == nil ||
		!strings.Contains(err.Error(), "you may not list horizontalpodautoscalers.autoscaling in namespace shop") {
		t.Errorf("error %v", err)
	}
}
