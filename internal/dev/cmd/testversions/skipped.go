package main

import (
	"fmt"
	"strconv"
	"strings"
)

// skipped is a test that cannot pass on older versions of Kubernetes.
type skipped struct {
	// Test is its name, and Package the end of its package's path.
	Test, Package string
	// Before is the minor version of Kubernetes 1 from which on it passes.
	Before int
	// Why names the feature that an older version lacks.
	Why string
}

// The reasons that several tests have.
const (
	noResizes = "pods cannot be resized in place before 1.33"
	noZero    = "an HPA may not have minReplicas: 0 before 1.37 without the feature gate HPAScaleToZero"
)

var allSkipped = []skipped{
	{"TestResizesInPlace", "vertical/updater", 33, noResizes},
	{"TestInfeasibleResize", "vertical/updater", 33, noResizes},
	{"TestNodeTooSmall", "vertical/updater", 33, noResizes},
	{"TestStartupBoostEnds", "vertical/updater", 33, noResizes},
	{"TestControllerUpdates", "vertical/updater", 33, noResizes},
	{"TestModesOverRestarts", "vertical/whole", 33, noResizes},
	{"TestExplainsWhatComes", "vertical/whole", 33, noResizes},
	{"TestStatusAndEvents", "scaling", 37, "an HPA has no metadata.generation before 1.37"},
	{"TestScalesToZeroAndBackByAnExternalMetric", "scaling", 37, noZero},
	{"TestSpecOfAnHPAIsAccepted", "workloadautoscaler", 37,
		"it compares with what an HPA may have in 1.37, such as minReplicas: 0 and a tolerance"},
	{"TestInvalidHPAsAreRefused", "workloadautoscaler", 37, "an older API server accepts more HPAs"},
	{"TestReferenceWithImpossibleVersion", "faults", 37, "an older API server accepts such an HPA"},
	{"TestRandomSpecsAreAcceptedAlike", "workloadautoscaler", 37,
		"it compares with what an HPA may have in 1.37, such as minReplicas: 0 and a tolerance"},
}

// skippedOn are the tests that cannot pass on a version such as 1.32.
func skippedOn(version string) ([]skipped, error) {
	major, second, found := strings.Cut(version, ".")
	minor, err := strconv.Atoi(second)
	if !found || major != "1" || err != nil {
		return nil, fmt.Errorf("%q is no minor version of Kubernetes, such as 1.32", version)
	}
	var all []skipped
	for _, s := range allSkipped {
		if minor < s.Before {
			all = append(all, s)
		}
	}
	return all, nil
}

// skipPattern is the argument of `go test -skip` that leaves them out; empty if there are none.
func skipPattern(version string) (string, error) {
	all, err := skippedOn(version)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", nil
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Test)
	}
	return "^(" + strings.Join(names, "|") + ")$", nil
}
