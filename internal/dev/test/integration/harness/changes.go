package harness

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
)

// Change is a change of a Deployment's spec.replicas and the name of the field manager that made it.
type Change struct {
	From, To int32
	By       string
}

// Changes are all changes of a Deployment's count since WatchChanges, in their order.
type Changes struct {
	follower *follower
	count    *int32   // guarded by follower.mu; nil before the first version
	list     []Change // guarded by follower.mu
}

// WatchChanges follows each version of a Deployment until the test ends. The Deployment must exist.
func (s *Namespace) WatchChanges(deployment string) *Changes {
	s.t.Helper()
	c := &Changes{}
	c.follower = s.follow(deployment, c.see)
	return c
}

func (c *Changes) see(deployment *appsv1.Deployment) {
	count := *deployment.Spec.Replicas
	if c.count != nil && *c.count != count {
		c.list = append(c.list, Change{From: *c.count, To: count, By: ownerOfReplicas(deployment)})
	}
	c.count = ptr.To(count)
}

// ownerOfReplicas is the field manager that set spec.replicas last: a change of a value takes the field from all
// others.
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

// All are the changes until now. The test ends if some may be missing.
func (c *Changes) All() []Change {
	s := c.follower.namespace
	s.t.Helper()
	if err := c.follower.caughtUp(); err != nil {
		s.t.Fatal(err)
	}
	c.follower.mu.Lock()
	defer c.follower.mu.Unlock()
	return slices.Clone(c.list)
}

// By returns those of one field manager.
func (c *Changes) By(manager string) []Change {
	return slices.DeleteFunc(c.All(), func(change Change) bool { return change.By != manager })
}
