package report

import (
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// FeatureType is the type of the condition, and of the event, of an object with a setting that is switched off, or that
// the cluster does not support.
const FeatureType = "FeatureOff"

// The features, and the reasons of the condition: upstream's gates, and the API's pods/resize.
const (
	InPlace         = "InPlace"
	CPUStartupBoost = "CPUStartupBoost"
	PerVPAConfig    = "PerVPAConfig"
	PodsResize      = "PodsResize"
)

// Request has the settings of an object that not every cluster supports.
type Request struct {
	Mode vertical.Mode
	// Boost is set for a start-up boost, OOMTime for the object's own evictAfterOOMSeconds.
	Boost, OOMTime bool
}

// Features marks the available ones.
type Features struct{ InPlace, CPUStartupBoost, PerVPAConfig, PodsResize bool }

// Missing returns the condition about settings without effect, and what happens instead; false if there are none. The
// caller sets Since.
func Missing(a Request, has Features) (c condition.Condition, is bool) {
	var names, texts []string
	lacks := func(name, text string) {
		names, texts = append(names, name), append(texts, text)
	}
	resizes := a.Mode.ResizesInPlace()
	if a.Mode == vertical.ModeInPlace && !has.InPlace {
		lacks(InPlace, "updateMode InPlace does nothing to running pods: the updater's feature gate InPlace is off")
		resizes = false
	}
	if a.Boost && !has.CPUStartupBoost {
		lacks(CPUStartupBoost, "startupBoost is ignored: the updater's feature gate CPUStartupBoost is off")
	}
	if a.OOMTime && !has.PerVPAConfig {
		lacks(PerVPAConfig, "evictAfterOOMSeconds is ignored, --evict-after-oom-threshold holds: the updater's feature "+
			"gate PerVPAConfig is off")
	}
	if resizes && !has.PodsResize {
		instead := "pods stay as they are"
		if a.Mode == vertical.ModeInPlaceOrRecreate {
			instead = "pods are evicted"
		}
		lacks(PodsResize, "the API server cannot resize pods (pods/resize is in Kubernetes 1.33 and newer): "+instead)
	}
	return condition.Condition{
		Type: FeatureType, Status: condition.True, Reason: strings.Join(names, ","), Message: strings.Join(texts, "; "),
	}, len(names) > 0
}

// HasFeature reports whether the condition's reason contains a feature.
func HasFeature(reason, feature string) bool {
	return slices.Contains(strings.Split(reason, ","), feature)
}
