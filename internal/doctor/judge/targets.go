package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// Kinds of autoscalers, as they are in the API.
const (
	hpaKind = "HorizontalPodAutoscaler"
	wlaKind = "WorkloadAutoscaler"
)

// horizontal are those that scale replicas, by the key of what they scale. A ScaledObject counts as the HPA that it
// made.
func horizontal(f *doctor.Facts) map[doctor.Target][]doctor.Autoscaler {
	all := map[doctor.Target][]doctor.Autoscaler{}
	made := map[string]bool{}
	add := func(a doctor.Autoscaler) { all[a.Target.Key()] = append(all[a.Target.Key()], a) }
	for _, h := range f.HPAs.Value {
		add(h)
		if h.ScaledObject != "" {
			made[h.Namespace+"/"+h.ScaledObject] = true
		}
	}
	for _, w := range f.WLAs.Value {
		if w.Mode == "" || w.Mode == "Active" {
			add(w)
		}
	}
	for _, s := range f.ScaledObjects.Value.All {
		if !made[s.Namespace+"/"+s.Name] {
			add(s)
		}
	}
	return all
}

func targets(f *doctor.Facts) []doctor.Finding {
	if f.HPAs.Unread != nil {
		return unknown("whether workloads have several autoscalers", f.HPAs.Unread)
	}
	all := horizontal(f)
	var found []doctor.Finding
	for _, autoscalers := range all {
		if len(autoscalers) > 1 {
			found = append(found, several(autoscalers))
		}
		for i := range autoscalers {
			found = append(found, overridden(&autoscalers[i])...)
		}
	}
	for i := range f.VPAs.Value {
		found = append(found, sameResource(&f.VPAs.Value[i], all)...)
		found = append(found, ineffective(&f.VPAs.Value[i])...)
	}
	slices.SortFunc(found, func(a, b doctor.Finding) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.What, b.What))
	})
	for _, other := range []struct {
		kind   string
		unread *doctor.Unread
	}{
		{wlaKind, f.WLAs.Unread}, {"VerticalPodAutoscaler", f.VPAs.Unread}, {"ScaledObject", f.ScaledObjects.Unread},
	} {
		if other.unread != nil {
			found = append(found, unread("which workloads have a "+other.kind, other.unread))
		}
	}
	switch {
	case len(found) > 0:
		return bounded(found)
	case len(all) == 0:
		return nothing
	}
	return ok("%s, each with one autoscaler", count(len(all), "scaled workload"))
}

// several is the finding about autoscalers that change the same replica count.
func several(autoscalers []doctor.Autoscaler) doctor.Finding {
	target := autoscalers[0].Target
	var names []string
	kinds := map[string]int{}
	for i := range autoscalers {
		names = append(names, autoscalers[i].String())
		kinds[autoscalers[i].Kind]++
	}
	slices.Sort(names)
	found := doctor.Finding{
		Level:  doctor.Problem,
		Object: fmt.Sprintf("%s %s/%s", target.Kind, target.Namespace, target.Name),
		What:   fmt.Sprintf("%d autoscalers scale it: %s", len(names), listed(names)),
		Why:    "their decisions undo each other",
		Do:     "delete all but one",
	}
	if kinds[wlaKind] > 0 {
		found.Why = "a WorkloadAutoscaler does nothing while another autoscaler has its target"
		found.Do = "delete all but one; plimsoll migrate replaces an HPA without a moment in which both act"
	}
	if kinds[hpaKind] > 1 {
		found.Command = fmt.Sprintf("kubectl get hpa -n %s", target.Namespace)
	}
	return found
}

// overridden finds another writer of the replica count, which the controller has named.
func overridden(a *doctor.Autoscaler) []doctor.Finding {
	if a.Overridden == "" {
		return nil
	}
	return []doctor.Finding{{
		Level: doctor.Problem, Object: a.String(), What: a.Overridden, Why: "their writes undo each other",
		Do: "remove spec.replicas from the manifest that the other writer applies, or make it ignore the field",
	}}
}

// ineffective finds a VPA whose policies have no effect, as the recommender has found.
func ineffective(v *doctor.Autoscaler) []doctor.Finding {
	if v.Ineffective == "" {
		return nil
	}
	return []doctor.Finding{{
		Level: doctor.Warning, Object: v.String(), What: v.Ineffective,
		Why: "containers without a policy are sized without bounds, and those that are left out are not sized",
		Do:  "correct containerName or mode in spec.resourcePolicy.containerPolicies",
	}}
}

// sameResource finds a VPA that changes the requests by which an HPA divides.
func sameResource(v *doctor.Autoscaler, all map[doctor.Target][]doctor.Autoscaler) []doctor.Finding {
	if v.Mode == "Off" {
		return nil
	}
	for _, h := range all[v.Target.Key()] {
		shared := slices.DeleteFunc(slices.Clone(h.Resources), func(r string) bool {
			return !slices.Contains(v.Resources, r)
		})
		if len(shared) == 0 {
			continue
		}
		return []doctor.Finding{{
			Level: doctor.Warning, Object: v.String(),
			What: fmt.Sprintf("it changes requests of %s, by which %s divides", strings.Join(shared, ", "), h.String()),
			Why:  "a changed request looks like a changed load, so that the two drive each other",
			Do: "let the VerticalPodAutoscaler control other resources (controlledResources), or give the other one a " +
				"target of type AverageValue",
		}}
	}
	return nil
}
