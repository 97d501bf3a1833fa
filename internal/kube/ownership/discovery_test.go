package ownership

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
)

// halfDown is a cluster of which one group cannot be discovered.
type halfDown struct{}

// ServerGroupsAndResources implements kinds.Discovery.
func (halfDown) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	down := schema.GroupVersion{Group: "down.example.com", Version: "v1"}
	return []*metav1.APIGroup{{Name: down.Group}}, nil,
		&discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{down: errors.New("the server is down")}}
}

// TestDiscoveryOutage: a kind whose group cannot be discovered may have a scale later, and the results for its objects
// stay.
func TestDiscoveryOutage(t *testing.T) {
	tree := &Tree{mapper: scale.NewMapper(halfDown{})}
	for group, want := range map[string]error{"down.example.com": ErrUnknown, "none.example.com": ErrUnsupported} {
		_, err := tree.get(t.Context(),
			key{kind: schema.GroupKind{Group: group, Kind: "Till"}, namespace: "shop", name: "web"})
		if !errors.Is(err, want) || errors.Is(err, ErrUnknown) && errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v, want %v", group, err, want)
		}
	}
}
