package podchange

import (
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// supportPeriod is how long an answer holds: a cluster is upgraded while this runs.
const supportPeriod = 10 * time.Minute

// Support finds out whether the API server can resize pods. It may be used by many
// goroutines.
type Support struct {
	discovery discovery.DiscoveryInterface
	supported atomic.Bool
	// checked is when that was found out, in Unix nanoseconds; 0 for never.
	checked atomic.Int64
}

// NewSupport makes a Support. It asks nothing yet.
func NewSupport(client discovery.DiscoveryInterface) *Support {
	return &Support{discovery: client}
}

// Supported reports whether the API server can resize pods. While it does not answer,
// it is taken to: the resize itself then fails or does not.
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
