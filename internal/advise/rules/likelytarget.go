package rules

import (
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// mistakenReference returns which of two autoscalers with the same target has probably the wrong one, and the workload
// that it is named after; nil if neither is named after another workload.
func mistakenReference(
	c *objects.Collection, r, other *reference,
) (mistaken *reference, likely *objects.Workload) {
	for _, mistaken := range []*reference{r, other} {
		if likely := likelyTarget(c, mistaken); likely != nil {
			return mistaken, likely
		}
	}
	return nil, nil
}

// likelyTarget returns the workload that an autoscaler is named after, if no autoscaler changes that workload; nil
// without one, and if the autoscaler is named after its target.
func likelyTarget(c *objects.Collection, r *reference) *objects.Workload {
	names := namedAfter(r.object.Name)
	var other *objects.Workload
	for _, name := range names {
		if r.isOther || name == r.name {
			return nil
		}
		for _, w := range c.Named(name) {
			switch {
			case w.Namespace != r.object.Namespace || r.notScaledAs(w) || isChanged(c, r, w):
			case w.Kind == r.kind && objects.ResourceKey(w.APIVersion, w.Kind) == objects.ResourceKey(r.version, r.kind):
				return w
			default:
				other = w
			}
		}
	}
	return other
}

// isMisspelling reports whether two names differ in one place, by at most two letters.
func isMisspelling(a, b string) bool {
	start, end, length := 0, 0, min(len(a), len(b))
	for start < length && a[start] == b[start] {
		start++
	}
	for end < length-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return start+end > 2 && max(len(a), len(b))-start-end <= 2
}

// notScaledAs reports whether an autoscaler of this direction cannot change the workload.
func (r *reference) notScaledAs(w *objects.Workload) bool {
	to := reference{object: r.object, version: w.APIVersion, kind: w.Kind, isVertical: r.isVertical}
	return w.Kind == objects.DaemonSet && !r.isVertical || to.unknownToKubernetes() != ""
}

func isChanged(c *objects.Collection, r *reference, w *objects.Workload) bool {
	if r.isVertical {
		return len(c.VerticalsOf(w)) > 0
	}
	return len(c.HorizontalsOf(w)) > 0
}

// affixes are what people add to the name of a workload for its autoscaler.
var affixes = []string{"hpa", "vpa", "autoscaler", "scaler", "scaledobject", "so", "wla"}

// namedAfter are the names of workloads that an autoscaler of the name may be for.
func namedAfter(name string) []string {
	names := []string{name}
	for _, affix := range affixes {
		if rest, has := strings.CutSuffix(name, "-"+affix); has {
			names = append(names, rest)
		}
		if rest, has := strings.CutPrefix(name, affix+"-"); has {
			names = append(names, rest)
		}
	}
	return names
}

// referTo is the patch that makes the reference one to the workload.
func (r *reference) referTo(w *objects.Workload) *Patch {
	p := patch(r.object).set(r.field.In("name"), w.Name)
	if w.Kind != r.kind {
		p.set(r.field.In("kind"), w.Kind)
	}
	if objects.ResourceKey(w.APIVersion, w.Kind) != objects.ResourceKey(r.version, w.Kind) {
		p.set(r.field.In("apiVersion"), w.APIVersion)
	}
	return p
}
