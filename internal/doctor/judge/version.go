package judge

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// The minor versions of Kubernetes 1 that Plimsoll works with.
const (
	// OldestMinor is the first that takes all fields of config/ by default: the preStop hook that sleeps, and
	// quantities in the rules of CustomResourceDefinitions.
	OldestMinor = 30
	// NewestMinor is that of the modules with which Plimsoll is built and tested.
	NewestMinor = 37
)

// later is what minor versions brought that is on by default and that Plimsoll works without, the oldest first.
var later = []struct {
	minor uint
	lack  string
}{
	{33, "running pods are not resized in place; Plimsoll evicts them where a VPA permits that"},
	{35, "an HPA has no tolerance of its own: the API server drops it; a WorkloadAutoscaler can have one"},
	{37, "an HPA cannot have minReplicas: 0; a WorkloadAutoscaler can"},
}

func kubernetesVersion(f *doctor.Facts) []doctor.Finding {
	if f.Server.Unread != nil {
		return unknown("the version of Kubernetes", f.Server.Unread)
	}
	text := f.Server.Value.Version
	parsed, err := version.ParseGeneric(text)
	if err != nil {
		return []doctor.Finding{{Level: doctor.Unknown, What: fmt.Sprintf("%q is no version of Kubernetes", text)}}
	}
	supported := fmt.Sprintf("Plimsoll works with 1.%d to 1.%d", OldestMinor, NewestMinor)
	switch minor := parsed.Minor(); {
	case parsed.Major() != 1 || minor > NewestMinor:
		return []doctor.Finding{{
			Level: doctor.Warning, What: fmt.Sprintf("Kubernetes %s is newer than this program; %s", text, supported),
			Why: "nobody has tested them together",
			Do:  "use a newer release of Plimsoll if there is one, and try this one on a cluster that may fail",
		}}
	case minor < OldestMinor:
		return []doctor.Finding{{
			Level: doctor.Problem, What: fmt.Sprintf("Kubernetes %s is too old; %s", text, supported),
			Why: "the API server does not take Plimsoll's CustomResourceDefinitions and Deployments as they are",
			Do:  fmt.Sprintf("upgrade the cluster to Kubernetes 1.%d or newer", OldestMinor),
		}}
	}
	found := ok("Kubernetes %s", text)
	for _, l := range later {
		if parsed.Minor() < l.minor {
			found = append(found, ok("before Kubernetes 1.%d, without its feature gate, %s", l.minor, l.lack)...)
		}
	}
	return found
}
