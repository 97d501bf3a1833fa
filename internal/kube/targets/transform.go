package targets

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// toScale is the transform of private informers: they hold the scales of the objects. An object with an invalid
// selector stays an object, so that its scale is read from the API server.
func toScale(object any) (any, error) {
	if set, ok := object.(*appsv1.ReplicaSet); ok {
		if owner := metav1.GetControllerOf(set); owner != nil {
			// A ReplicaSet stays for each of its owner's revisions, and no HPA scales it.
			return &owned{
				namespace: set.Namespace, name: set.Name, version: set.ResourceVersion,
				uid: observe.UIDOf(set.UID), owner: observe.UIDOf(owner.UID),
			}, nil
		}
	}
	if scale, err := ScaleOf(object); err == nil {
		return scale, nil
	}
	return slim.Transform(object)
}

// owned is an object that its owner scales.
type owned struct {
	namespace, name, version string
	uid, owner               observe.UID
}

var _ metav1.ObjectMetaAccessor = (*owned)(nil)

// GetObjectMeta implements metav1.ObjectMetaAccessor, for the informer.
func (o *owned) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: o.namespace, Name: o.name, ResourceVersion: o.version}
}
