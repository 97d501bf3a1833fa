package release

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// CheckVersion refuses what is not a version with v and three numbers, such as v1.2.3 or v1.2.3-rc.1. Tags of images
// and krew take nothing else; build metadata, as in v1.2.3+4, cannot be in a tag of an image.
func CheckVersion(version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("the version %q is not v and a semantic version without build metadata, such as v0.1.0 or "+
			"v0.1.0-rc.1: set VERSION", version)
	}
	return nil
}

// number is the version without v, as charts have it.
func number(version string) string { return strings.TrimPrefix(version, "v") }
