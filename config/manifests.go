// Package config has the manifests of an installation. `plimsoll doctor` compares clusters with them, so that the
// rights and the definitions that it looks for are those that are installed.
package config

import "embed"

// Manifests are the files below base, vertical and crd.
//
//go:embed base vertical crd
var Manifests embed.FS
