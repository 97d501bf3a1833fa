package podchange

import (
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// supportPeriod is how long the result is cached: a cluster may be upgraded while this runs.
const supportPeriod = 10 * time.Minute

// Support discovers whether the API server can resize pods. It is safe for concurrent use.
type Support struct {
	discovery discovery.DiscoveryInterface
	supported atomic.Bool
	// checked is the time of the last discovery, in Unix nanoseconds; 0 for never.
	checked atomic.Int64
}

// NewSupport makes a Support. It makes no request yet.
func NewSupport(client discovery.DiscoveryInterface) *Support {
	return &Support{discovery: client}
}

// Supported reports whether the API server can resize pods. While the API server does not respond, it returns true: the
// resize itself then fails or succeeds.
func (s *Support) Supported() bool {
	last := s.checked.Load()
	if last != 0 && time.Since(time.Unix(0, last)) < supportPeriod {
		return s.supported.Load()
	}
	list, err := s.discovery.ServerResourcesForGroupVersion(corev1.SchemeGroupVersion.String())
	if err != nil {
		return true
	}
	supported := slices.ContainsFunc(list.APIResources,
		func(r metav1.APIResource) bool { return r.Name == "pods/"+Subresource })
	s.supported.Store(supported)
	s.checked.Store(time.Now().UnixNano())
	return supported
}
