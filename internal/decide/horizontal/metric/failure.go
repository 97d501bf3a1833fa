package metric

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

const (
	noPods     = "no pods returned by selector while calculating replica count"
	noRequests = "no metrics returned matched known pods"
)

// sourceError returns the error for which a metric is not computed at all: an unusable spec, an API error, an empty or
// an implausible response.
func sourceError(spec *source.Spec, reading *Reading, c *Context) string {
	switch {
	case !spec.Type.Known():
		return fmt.Sprintf("unknown metric source type %q", string(spec.Type))
	case spec.SelectorError != "" && (spec.Type != source.External || spec.Target.Type != ""):
		return spec.SelectorError
	case spec.Target.Type == "":
		return spec.Type.NoTarget()
	case reading.Error != "":
		return unread(spec, c, reading.Error)
	case reading.Empty:
		return spec.Before(c.Namespace) + fmt.Sprintf("no metrics returned from %s", spec.Type.Origin())
	case spec.IsOwnTarget && reading.TargetMilli <= 0:
		return spec.Before(c.Namespace) + "the reading has no target"
	case !fits(spec, reading, c):
		return spec.Before(c.Namespace) + "the values do not belong to the pods"
	case c.Divergences.Has(divergence.RejectImplausible):
		if text := negative(reading, c); text != "" {
			return spec.Before(c.Namespace) + text
		}
	}
	return ""
}

func unread(spec *source.Spec, c *Context, why string) string {
	return spec.Before(c.Namespace) + fmt.Sprintf("unable to fetch metrics from %s: %s", spec.Type.Origin(), why)
}

// fits reports whether the reading has the elements that the calculation indexes. If not, the collector has a defect,
// and the metric fails instead of causing a panic.
func fits(spec *source.Spec, reading *Reading, c *Context) bool {
	if !spec.IsPerPod() {
		return len(reading.Series) > 0
	}
	withRequests := len(reading.Requests) > 0 || spec.Target.Type == source.Utilization
	return len(reading.Samples) == len(c.Pods) && (!withRequests || len(reading.Requests) == len(c.Pods))
}

func negative(reading *Reading, c *Context) string {
	for i := range reading.Samples {
		if s := &reading.Samples[i]; s.Present && s.Milli < 0 {
			return fmt.Sprintf("negative value of pod %s: %dm", c.Pods[i].Name, s.Milli)
		}
	}
	for _, values := range [...][]int64{reading.Extraneous, reading.Series} {
		if i := slices.IndexFunc(values, isNegative); i >= 0 {
			return fmt.Sprintf("negative value: %dm", values[i])
		}
	}
	return ""
}

func isNegative(milli int64) bool { return milli < 0 }

// IsWithoutPods reports whether a metric failed because its target has no pods.
func IsWithoutPods(f *source.Failure) bool { return strings.Contains(f.Error, noPods) }
