package observe

import (
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// UID identifies an object by a hash of its UID; 0 for none. It takes less memory than the text.
type UID uint64

// UIDOf returns the UID of an object.
func UIDOf(uid types.UID) UID {
	if uid == "" {
		return 0
	}
	return UID(hashOf(string(uid)))
}

// Controller is the object that controls a pod: its controller reference.
type Controller struct {
	// UID is 0 if there is none.
	UID UID
	// ReplicaSet is its name if it is a ReplicaSet, which another object may control in turn.
	ReplicaSet string
}

// Controller returns the object that controls the pod.
func (p *Pod) Controller() Controller {
	if p.controller == (unique.Handle[Controller]{}) {
		return Controller{}
	}
	return p.controller.Value()
}

// HasSameController reports whether the same object controls the two.
func (p *Pod) HasSameController(other *Pod) bool { return p.controller == other.controller }

// controllerOf returns a value that the pods of one controller share.
func controllerOf(pod metav1.Object) (shared unique.Handle[Controller]) {
	reference := metav1.GetControllerOfNoCopy(pod)
	if reference == nil {
		return shared
	}
	c := Controller{UID: UIDOf(reference.UID)}
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	if err == nil && version.Group == appsv1.GroupName && reference.Kind == "ReplicaSet" {
		c.ReplicaSet = reference.Name
	}
	return unique.Make(c)
}
