package observe

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// KindKey returns equal keys for the kinds of two references that name the same resource of a group. Clients of the API
// map a kind to its resource by its own spelling and by the lower-case one (client-go's
// restmapper.NewDiscoveryRESTMapper adds both), so scaleTargetRef.kind may be deployment where another autoscaler's is
// Deployment.
func KindKey(kind string) string { return strings.ToLower(kind) }

// GroupKey returns equal keys for the API versions of two references that name the same kind of workload. It is empty
// for the groups in which Kubernetes' own workloads were ever served: a VerticalPodAutoscaler's target may name an old
// one of them, a wrong one or none, as upstream finds these workloads by kind alone. A kind of the same name in any
// other group is another resource.
func GroupKey(apiVersion string) string {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return apiVersion
	}
	switch version.Group {
	case "apps", "batch", "extensions":
		return ""
	}
	return version.Group
}
