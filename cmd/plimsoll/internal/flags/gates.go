package flags

import (
	"fmt"
	"strconv"

	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
)

// ParseGates reads upstream's feature gates; AllAlpha stands for all of them, as
// all are in their first stage.
func ParseGates(gates map[string]string) (validation.Features, error) {
	var features validation.Features
	known := map[string]*bool{
		validation.CPUStartupBoost: &features.CPUStartupBoost, validation.InPlace: &features.InPlace,
		validation.PerVPAConfig: &features.PerVPAConfig,
	}
	for _, all := range []bool{true, false} {
		for name, text := range gates {
			on, err := strconv.ParseBool(text)
			if err != nil {
				return features, fmt.Errorf("%s=%s: must be true or false", name, text)
			}
			switch feature := known[name]; {
			case name == "AllAlpha" && all:
				features = validation.Features{CPUStartupBoost: on, InPlace: on, PerVPAConfig: on}
			case name == "AllAlpha" || name == "AllBeta" || name == "InPlaceOrRecreate": // the last is always on by now
			case feature == nil:
				return features, fmt.Errorf("unrecognized feature gate: %s", name)
			case !all:
				*feature = on
			}
		}
	}
	return features, nil
}
