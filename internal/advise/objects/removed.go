package objects

import (
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
)

// Removed is an object of a version or a kind that no API server serves.
type Removed struct {
	Object *Object
	// Version and Kind are what to write instead; empty where that is not known.
	Version, Kind string
	// Since says where it is not served any more; empty if it never was.
	Since string
	// IsRenamed says that nothing but the version and the kind has to change.
	IsRenamed bool
	// add reads the object all the same; nil where its fields are not known.
	add func(*Collection, *Object) error
}

// removals are the versions that were served once, of the kinds that matter here.
var removals = []struct {
	versions, kinds []string
	current, since  string
}{
	{[]string{"extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"}, []string{Deployment, StatefulSet, DaemonSet,
		ReplicaSet}, "apps/v1", "since Kubernetes 1.16"},
	{[]string{"autoscaling/v2beta1"}, []string{HPA}, "autoscaling/v2", "since Kubernetes 1.25"},
	{[]string{"autoscaling/v2beta2"}, []string{HPA}, "autoscaling/v2", "since Kubernetes 1.26"},
	{[]string{"policy/v1beta1"}, []string{PDB}, "policy/v1", "since Kubernetes 1.25"},
	{[]string{"batch/v1beta1"}, []string{CronJob}, "batch/v1", "since Kubernetes 1.25"},
	{[]string{"batch/v2alpha1"}, []string{CronJob}, "batch/v1", "since Kubernetes 1.21"},
	{[]string{"autoscaling.k8s.io/v1beta1", "autoscaling.k8s.io/v1beta2"}, []string{VPA}, "autoscaling.k8s.io/v1",
		"by the definitions of today's VerticalPodAutoscalers"},
	{[]string{"poc.autoscaling.k8s.io/v1alpha1"}, []string{VPA}, "autoscaling.k8s.io/v1",
		"by the definitions of today's VerticalPodAutoscalers"},
	{[]string{"keda.k8s.io/v1alpha1"}, []string{ScaledObject}, scaledobject.APIVersion, "since KEDA 2"},
}

// withOtherFields are the versions whose fields differ from those of the versions that are served.
var withOtherFields = []string{"autoscaling/v2beta1", "poc.autoscaling.k8s.io/v1alpha1", "keda.k8s.io/v1alpha1"}

// removalOf says what to write for an object of a version or kind that is not served; nil for objects
// of other groups, whose kinds may have any name.
func removalOf(o *Object) *Removed {
	for i := range removals {
		r := &removals[i]
		if slices.Contains(r.versions, o.APIVersion) && slices.Contains(r.kinds, o.Kind) {
			found := &Removed{Object: o, Version: r.current, Kind: o.Kind, Since: r.since, IsRenamed: true,
				add: adders[r.current+" "+o.Kind]}
			if slices.Contains(withOtherFields, o.APIVersion) {
				found.IsRenamed, found.add = false, nil
			}
			if o.APIVersion == "autoscaling/v2beta1" {
				found.add = addHorizontalV2beta1
			}
			return found
		}
	}
	var found *Removed
	for _, known := range slices.Sorted(maps.Keys(adders)) {
		version, kind, _ := strings.Cut(known, " ")
		if strings.EqualFold(kind, o.Kind) && isOfGroup(o.APIVersion, version) {
			// The last one is of the newest version.
			found = &Removed{Object: o, Version: version, Kind: kind, IsRenamed: true}
		}
	}
	if found == nil && isAutoscalerOrWorkload(o) && isUnknownToKubernetes(o) {
		found = &Removed{Object: o}
	}
	return found
}

// ServedAs returns the place of the same object in a version that is served; false if the input has none.
func (c *Collection) ServedAs(r *Removed) (Place, bool) {
	served := *r.Object
	served.APIVersion, served.Kind = r.Version, r.Kind
	at, known := c.at[served.Key()]
	return at.place, known && !at.isUnserved && served.Name != ""
}

// isUnknownToKubernetes reports whether the object is of a group of Kubernetes itself, whose kinds are known.
func isUnknownToKubernetes(o *Object) bool {
	isNamed := o.APIVersion != "" && o.Kind != ""
	return isNamed && !slices.Contains(ofCore, o.Kind) && slices.Contains(builtIn, groupOf(o.APIVersion))
}

// ofCore are kinds of version v1: OpenShift serves its DeploymentConfigs there as well.
var ofCore = []string{"ReplicationController", "DeploymentConfig"}

// builtIn are the groups whose kinds Kubernetes itself has, as far as they matter here.
var builtIn = []string{"", "extensions", "apps", "autoscaling", "batch", "policy"}

// isOfGroup reports whether somebody who wrote one version may have meant the other: both are of one group, or
// of groups of Kubernetes itself.
func isOfGroup(wrote, other string) bool {
	a, b := groupOf(wrote), groupOf(other)
	return a == b || slices.Contains(builtIn, a) && slices.Contains(builtIn, b)
}

// groupOf is the group of an API version; empty for the core group.
func groupOf(version string) string {
	group, _, has := strings.Cut(version, "/")
	if !has {
		return ""
	}
	return group
}
