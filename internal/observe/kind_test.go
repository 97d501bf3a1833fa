package observe

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

// Kinds that the mapper of clients maps to one resource have one key, and kinds of different resources do not.
func TestKindKey(t *testing.T) {
	resources := map[string]string{"Deployment": "deployments", "StatefulSet": "statefulsets", "HTTPRoute": "httproutes"}
	group := &restmapper.APIGroupResources{
		Group: metav1.APIGroup{
			Name: "shop", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "shop/v1", Version: "v1"}},
		},
	}
	var list []metav1.APIResource
	for kind, resource := range resources {
		list = append(list, metav1.APIResource{Name: resource, Kind: kind, Namespaced: true})
	}
	group.VersionedResources = map[string][]metav1.APIResource{"v1": list}
	mapper := restmapper.NewDiscoveryRESTMapper([]*restmapper.APIGroupResources{group})
	keys, mapped := map[string]string{}, 0
	for _, kind := range []string{
		"Deployment", "deployment", "DEPLOYMENT", "deployments", "StatefulSet", "statefulset", "Statefulset", "HTTPRoute",
		"httproute", "HttpRoute",
	} {
		m, err := mapper.RESTMapping(schema.GroupKind{Group: "shop", Kind: kind})
		if err != nil {
			continue
		}
		mapped++
		if other, isKnown := keys[m.Resource.Resource]; isKnown && other != KindKey(kind) {
			t.Errorf("%s has the key %s, other spellings of its resource have %s", kind, KindKey(kind), other)
		}
		keys[m.Resource.Resource] = KindKey(kind)
	}
	if mapped != 2*len(resources) || len(keys) != len(resources) {
		t.Errorf("%d kinds are mapped, and the resources have the keys %v", mapped, keys)
	}
}
