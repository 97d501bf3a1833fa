package devcluster

import (
	"context"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// Versions of the parts.
const (
	KubernetesVersion    = build.KubernetesVersion
	KWOKVersion          = build.KWOKVersion
	MetricsServerVersion = build.MetricsServerVersion
)

// BinEnv names the environment variable with a folder of ready binaries.
const BinEnv = "PLIMSOLL_BIN"

// BuildConfig configures a build.
type BuildConfig = build.Config

// BuildResult is the result of a build.
type BuildResult = build.Result

// Build brings the control plane's parts up to date, or checks a folder of ready binaries if the configuration names
// one.
func Build(ctx context.Context, config BuildConfig) (BuildResult, error) {
	return build.Run(ctx, config)
}
