package observe

import "strings"

// KindKey is equal for the kinds of two references that name the same resource of a group. Clients of the API map a
// kind to its resource by its own spelling and by that in lower case alone (client-go's
// restmapper.NewDiscoveryRESTMapper adds both), so scaleTargetRef.kind may be deployment where another autoscaler's is
// Deployment.
func KindKey(kind string) string { return strings.ToLower(kind) }
