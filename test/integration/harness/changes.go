package harness

import (
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Change is a change of a Deployment's spec.replicas and who made it, by the name of the field manager.
type Change struct {
	From, To int32
	By       string
}

// Changes are all changes of a Deployment's count since WatchChanges, in their order.
type Changes struct {
	mu   sync.Mutex
	list []Change // guarded by mu
}

// WatchChanges follows each version of a Deployment until the test ends. The Deployment must exist.
func (s *Space) WatchChanges(deployment string) *Changes {
	s.t.Helper()
	first, watcher := s.watch(deployment)
	c := &Changes{}
	go c.follow(watcher, *first.Spec.Replicas)
	return c
}

func (c *Changes) follow(watcher watch.Interface, replicas int32) {
	for event := range watcher.ResultChan() {
		deployment, ok := event.Object.(*appsv1.Deployment)
		if !ok || *deployment.Spec.Replicas == replicas {
			continue
		}
		c.mu.Lock()
		c.list = append(c.list, Change{From: replicas, To: *deployment.Spec.Replicas, By: ownerOfReplicas(deployment)})
		c.mu.Unlock()
		replicas = *deployment.Spec.Replicas
	}
}

// ownerOfReplicas is who set spec.replicas last: a change of a value takes the field from all others.
func ownerOfReplicas(deployment *appsv1.Deployment) string {
	for i := range deployment.ManagedFields {
		entry := &deployment.ManagedFields[i]
		isSpec := entry.Subresource != "status"
		if isSpec && entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:replicas"`) {
			return entry.Manager
		}
	}
	return ""
}

// All are the changes until now.
func (c *Changes) All() []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// By are those that one field manager made.
func (c *Changes) By(manager string) []Change {
	return slices.DeleteFunc(c.All(), func(change Change) bool { return change.By != manager })
}
