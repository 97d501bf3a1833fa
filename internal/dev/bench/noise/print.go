package noise

import (
	"fmt"
	"io"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// The targets.
const (
	mostExcessActions         = 0
	mostExcessPodHoursPercent = 1.0
)

// WriteTables prints the results.
func (r *Results) WriteTables(out io.Writer) error {
	noise := report.Table{
		Title: fmt.Sprintf(
			"What the surge window adds where nothing rises: 30 minutes at the target with 10 pods, %d seeds each.\n"+
				"Medians (least to most) of 15 s averages alone and with the surge window. More and fewer are the actions over\n"+
				"the seeds that had more and over those that had fewer; excess and how often it asked, over all seeds.", r.Seeds),
		Head: []string{"", "actions alone", "with", "more", "fewer", "pod-hours alone", "with", "excess %", "asked"},
	}
	for i := range r.Noises {
		n := &r.Noises[i]
		noise.Add(n.Name, n.ActionsAlone, n.ActionsWith, n.MoreActions, n.FewerActions, n.PodHoursAlone, n.PodHoursWith,
			n.ExcessPodHoursPercent, n.Asked)
	}
	rise := report.Table{
		Title: fmt.Sprintf(
			"What it is worth where the load rises for good, without behavior, %d seeds each: seconds to the first scale-up\n"+
				"and to nine tenths of the pods that it takes, and the most that was wanted, in parts of that.", r.Seeds),
		Head: []string{"load", "first alone", "with", "nine tenths alone", "with", "most alone", "with"},
	}
	for i := range r.Surges {
		s := &r.Surges[i]
		rise.Add(s.Name, s.FirstAlone, s.FirstWith, s.NearAlone, s.NearWith, s.MostAlone, s.MostWith)
	}
	for _, table := range []*report.Table{&noise, &rise, r.workTable()} {
		if _, err := table.WriteTo(out); err != nil {
			return fmt.Errorf("print results: %w", err)
		}
		if _, err := fmt.Fprintln(out); err != nil {
			return fmt.Errorf("print results: %w", err)
		}
	}
	_, err := fmt.Fprintln(out, r.verdict())
	return err
}

func (r *Results) workTable() *report.Table {
	table := &report.Table{
		Title: fmt.Sprintf(
			"Work that each pod does by itself, all at the same time, beside a load that 10 pods which request %dm carry at\n"+
				"their target: an hour, %d seeds each. The largest count and the pod-hours beyond what the load takes, with the "+
				"surge\n"+
				"window, with 15 s averages alone, and of upstream's controller with its defaults; how often the surge window "+
				"asked.", requestWithWorkMilli, r.WorkSeeds),
		Head: []string{"", "peak with", "alone", "upstream", "excess pod-hours with", "alone", "upstream", "asked"},
	}
	for i := range r.Works {
		w := &r.Works[i]
		table.Add(w.Name, w.With.PeakReplicas, w.Alone.PeakReplicas, w.Upstream.PeakReplicas,
			w.With.ExcessPodHours, w.Alone.ExcessPodHours, w.Upstream.ExcessPodHours, w.Asked)
	}
	return table
}

// Misses are the targets that were not met.
func (r *Results) Misses() []string {
	var misses []string
	for i := range r.Noises {
		n := &r.Noises[i]
		if excess := n.ExcessActions(); excess > mostExcessActions {
			misses = append(misses, fmt.Sprintf("%s: %d scale actions too many, at most %d", n.Name, excess, mostExcessActions))
		}
		if n.ExcessPodHoursPercent > mostExcessPodHoursPercent {
			misses = append(misses, fmt.Sprintf("%s: %.2f %% too many pod-hours, at most %.0f %%",
				n.Name, n.ExcessPodHoursPercent, mostExcessPodHoursPercent))
		}
	}
	return misses
}

func (r *Results) verdict() string {
	misses := r.Misses()
	if len(misses) == 0 {
		return fmt.Sprintf("Targets met: excess scale actions at most %d, excess pod-hours at most %.0f %%.",
			mostExcessActions, mostExcessPodHoursPercent)
	}
	text := "Targets missed:"
	for _, miss := range misses {
		text += "\n  " + miss
	}
	return text
}
