package rules

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/recurring"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/scheduled"
)

const (
	// usualStartUp is the assumed time until pods are ready, where it is unknown.
	usualStartUp = time.Minute
	// mostSchedules is how many a WorkloadAutoscaler has at most.
	mostSchedules = 32
	// forecastAnnotation is the mode of an HPA's forecast.
	forecastAnnotation = "plimsoll.dev/forecast"
)

func loadRules() []*Rule {
	return []*Rule{{
		Name: "recurring-jump", Level: Advice, Title: "The load jumps at the same time of day",
		Why: "An autoscaler asks for pods after the load has come, and they are ready a start-up time later. Where the " +
			"load jumps at the same time every day, on working days, at weekends, on one weekday, every hour or " +
			"every second hour, a schedule has them ready. The rule plays the load of earlier days back (--history, " +
			"--prometheus-address, or what " +
			"Plimsoll's controller recorded). " +
			"It fits schedules to all days but the last third, and reports those that help on that third, for much " +
			"less than they cost: a pod-minute that lacks counts as ten of those that are added. A schedule that avoids " +
			"less than one pod-minute a day, or less than 5 % of what lacks, is not worth maintaining, and is not " +
			"reported. Where a forecast is active, nothing is.",
		Source:    "https://kubernetes.io/docs/concepts/workloads/autoscaling/#autoscaling-based-on-schedules",
		NeedsLoad: true, Check: checkRecurring,
	}}
}

func checkRecurring(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		load := c.LoadOf(h)
		if load == nil || hasForecast(h) {
			continue
		}
		startUp := startUpOf(c, h, load)
		proposals := propose(h, load, startUp)
		if len(proposals) > 0 {
			found = append(found, recurs(h, load, startUp, proposals))
		}
	}
	return found
}

func hasForecast(h *objects.Horizontal) bool {
	if h.Workload == nil {
		return h.Meta != nil && h.Meta.Annotations[forecastAnnotation] == string(plimsollv1alpha1.ForecastActive)
	}
	return h.Workload.Forecast != nil && h.Workload.Forecast.Mode == plimsollv1alpha1.ForecastActive
}

func startUpOf(c *objects.Collection, h *objects.Horizontal, load *objects.Load) time.Duration {
	if load.StartUp > 0 {
		return load.StartUp
	}
	if w := c.TargetOfHorizontal(h); w != nil {
		if observed := objects.StartUpOf(c, w); observed > 0 {
			return observed
		}
	}
	return usualStartUp
}

// propose are the schedules that an object lacks. An object that cannot be played has none: other rules are about it.
func propose(h *objects.Horizontal, load *objects.Load, startUp time.Duration) []recurring.Proposal {
	config := recurring.Config{
		MinReplicas: h.MinReplicas(), MaxReplicas: h.Spec.MaxReplicas, StartUp: startUp, Utilization: load.Utilization,
		Location: load.Location,
	}
	room := mostSchedules
	if h.Workload != nil && len(h.Workload.Schedules) > 0 {
		own, err := schedulesOf(h.Workload)
		if err != nil {
			return nil
		}
		room -= len(h.Workload.Schedules)
		cache, bounds := &schedules.Cache{}, schedules.Bounds{MinReplicas: h.MinReplicas(), MaxReplicas: h.Spec.MaxReplicas}
		config.Floor = func(at time.Time) int32 { return cache.At(at, own, bounds).MinReplicas }
	}
	proposals, err := recurring.Propose(recurring.History{Start: load.Start, Pods: load.Pods}, config)
	if err != nil {
		return nil
	}
	return proposals[:min(len(proposals), max(0, room))]
}

func schedulesOf(spec *plimsollv1alpha1.WorkloadAutoscalerSpec) ([]schedules.Schedule, error) {
	var all []schedules.Schedule
	for i := range spec.Schedules {
		s, errs := scheduled.Of(&spec.Schedules[i], field.NewPath("spec", "schedules").Index(i))
		if errs != nil {
			return nil, errs.ToAggregate()
		}
		if !spec.Schedules[i].Suspend {
			all = append(all, s)
		}
	}
	return all, nil
}

func recurs(h *objects.Horizontal, load *objects.Load, startUp time.Duration, proposals []recurring.Proposal) Finding {
	first, sum := &proposals[0], recurring.Gain{}
	for i := range proposals {
		sum.Avoided += proposals[i].PerDay.Avoided
		sum.Added += proposals[i].PerDay.Added
	}
	what := "a schedule"
	if len(proposals) > 1 {
		what = fmt.Sprintf("%d schedules", len(proposals))
	}
	f := Finding{
		Object: &h.Object, Field: objects.Field{"spec", "schedules"},
		Why: fmt.Sprintf("The load jumps at the same time of day (%s; pods take %.0f s until they are ready). On the "+
			"last %d of %d days %s would have avoided %.1f of %.1f pod-minutes a day that lacked, for %.1f pod-minutes a day "+
			"more.",
			load.Source, startUp.Seconds(), first.HeldOutDays, first.HeldOutDays+first.FittedDays, what,
			sum.Avoided, first.PerDay.Lacking, sum.Added),
		Remedy: "Add this to its spec, or let a forecast find the times (spec.forecast.mode: Active).",
	}
	entries := entriesOf(h, load.Location, proposals)
	f.Snippet = snippet(entries, proposals)
	if h.Workload == nil {
		f.Field = objects.Field{"spec"}
		f.Remedy = "An HPA has no schedules. Migrate it (plimsoll migrate), and add this to the spec of the " +
			"WorkloadAutoscaler, or let a forecast find the times."
		return f
	}
	f.Patch = addSchedules(h, entries)
	return f
}

// addSchedules adds them behind those that there are.
func addSchedules(h *objects.Horizontal, entries []plimsollv1alpha1.Schedule) *Patch {
	list, p := objects.Field{"spec", "schedules"}, patch(&h.Object)
	if !h.Has(list) {
		return p.set(list, entries)
	}
	for _, entry := range entries {
		p.Operations = append(p.Operations, Operation{Op: "add", Path: list.Pointer() + "/-", Value: entry})
	}
	return p
}

// entriesOf are the proposals as the API has them, with names that are not taken.
func entriesOf(
	h *objects.Horizontal, location *time.Location, proposals []recurring.Proposal,
) []plimsollv1alpha1.Schedule {
	isTaken := map[string]bool{}
	if h.Workload != nil {
		for i := range h.Workload.Schedules {
			isTaken[h.Workload.Schedules[i].Name] = true
		}
	}
	zone := location.String()
	if zone == "UTC" {
		zone = plimsollv1alpha1.DefaultTimeZone
	}
	var entries []plimsollv1alpha1.Schedule
	for i := range proposals {
		p := &proposals[i]
		base := fmt.Sprintf("jump-%02d%02d", p.Hour, p.Minute)
		switch {
		case p.EveryHours == 1:
			base = fmt.Sprintf("jump-hourly-%02d", p.Minute)
		case p.EveryHours > 1:
			base = fmt.Sprintf("jump-%dh-%02d", p.EveryHours, p.Minute)
		}
		name := base
		for k := 2; isTaken[name]; k++ {
			name = fmt.Sprintf("%s-%d", base, k)
		}
		isTaken[name] = true
		seconds := int32(p.Duration / time.Second)
		entries = append(entries, plimsollv1alpha1.Schedule{
			Name: name, Start: p.Cron(), TimeZone: zone, DurationSeconds: &seconds, MinReplicas: &p.MinReplicas,
		})
	}
	return entries
}

// snippet is the entries as YAML, each with what it did.
func snippet(entries []plimsollv1alpha1.Schedule, proposals []recurring.Proposal) string {
	var text strings.Builder
	text.WriteString("schedules:\n")
	for i := range entries {
		p := &proposals[i]
		fmt.Fprintf(&text, "# Helped at %d of %d starts; avoids %.1f and adds %.1f pod-minutes a day.\n", p.Helped, p.Starts,
			p.PerDay.Avoided, p.PerDay.Added)
		entry, err := yaml.Marshal(entries[i : i+1])
		if err != nil {
			// Entries are made of what YAML has.
			panic(err)
		}
		text.Write(entry)
	}
	return text.String()
}
