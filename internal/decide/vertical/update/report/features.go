package report

import (
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// FeatureType is the type of the condition, and of the event, of an object that asks
// for what is switched off, or what the cluster cannot do.
const FeatureType = "FeatureOff"

// The features, and the condition's reasons: upstream's gates, and the API's part.
const (
	InPlace         = "InPlace"
	CPUStartupBoost = "CPUStartupBoost"
	PerVPAConfig    = "PerVPAConfig"
	PodsResize      = "PodsResize"
)

// Request is what an object asks for that not every cluster does.
type Request struct {
	Mode vertical.Mode
	// Boost is a start-up boost, OOMTime an evictAfterOOMSeconds of its own.
	Boost, OOMTime bool
}

// Features are those that are there.
type Features struct{ InPlace, CPUStartupBoost, PerVPAConfig, PodsResize bool }

// Missing returns the condition that says what an object asks for in vain, and what happens instead; false if there is
// nothing of that kind. Since is the caller's to set.
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

// HasFeature reads the condition's reason.
func HasFeature(reason, feature string) bool {
	return slices.Contains(strings.Split(reason, ","), feature)
}
