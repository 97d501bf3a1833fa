package simulate

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/loop"
)

// Refusal is why it is no use to play the settings, nil if it is: they scale different pods, their metrics cannot
// follow the load, or all of them ask for the same.
func Refusal(s *Scene, settings []Setting) error {
	if err := errors.Join(s.validate(), oneTarget(settings)); err != nil {
		return err
	}
	var found findings
	for i := range settings {
		policy, err := settings[i].policy()
		if err != nil {
			return err
		}
		fixedTexts := fixedMetrics(s, &policy)
		if len(fixedTexts) < len(policy.Metrics) {
			continue
		}
		for _, text := range fixedTexts {
			found.add(settings[i].Name, text)
		}
	}
	if err := found.join(len(settings)); err != nil {
		return err
	}
	return sameSettings(settings)
}

// oneTarget is an error if settings scale different workloads: all are played with the same pods. Namespaces do not
// count, as files may leave them out.
func oneTarget(settings []Setting) error {
	first := settings[0].Autoscaler().Target()
	for i := range settings {
		ref := settings[i].Autoscaler().Target()
		if observe.KindKey(ref.Kind) != observe.KindKey(first.Kind) || ref.Name != first.Name {
			return fmt.Errorf("%s scales %s %s, and %s scales %s %s: all that is compared has the same pods, so play them one "+
				"by one", settings[0].Name, first.Kind, first.Name, settings[i].Name, ref.Kind, ref.Name)
		}
	}
	return nil
}

// ModeNotes say which objects have another mode than that in which they are played.
func ModeNotes(settings []Setting) (notes []string) {
	for i := range settings {
		own := settings[i].Workload
		if own == nil || own.Spec.Mode == "" || own.Spec.Mode == plimsollv1alpha1.ModeActive {
			continue
		}
		note := fmt.Sprintf("%s %s has mode %s: it is played as %s", plimsollv1alpha1.Kind, own.Name, own.Spec.Mode,
			plimsollv1alpha1.ModeActive)
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// sameSettings is an error if several settings are to be compared that ask for the same.
func sameSettings(settings []Setting) error {
	bySide := map[Side][]demands{}
	for i := range settings {
		d, err := settings[i].demands()
		if err != nil {
			return err
		}
		bySide[settings[i].Side] = append(bySide[settings[i].Side], d)
	}
	for _, all := range bySide {
		if len(all) == 1 || slices.ContainsFunc(all[1:], func(d demands) bool { return !reflect.DeepEqual(d, all[0]) }) {
			return nil
		}
	}
	return fmt.Errorf("all %d settings ask for the same, so they cannot differ: change a field that the simulation uses",
		len(settings)/len(bySide))
}

// demands are all of a setting that makes a difference to what is played.
type demands struct {
	policy horizontal.Policy
	asks   []loop.Ask
	sync   time.Duration
	floor  uintptr
}

// demands leaves out names: whatever they are, a metric of a type is the same here.
func (s *Setting) demands() (demands, error) {
	p, err := s.policy()
	p.Namespace, p.Forecast.Identity, p.Metrics = "", 0, slices.Clone(p.Metrics)
	for i := range p.Metrics {
		m := &p.Metrics[i]
		m.GivenName, m.Object, m.SelectorText, m.SelectorError, m.Identity = "", source.ObjectRef{}, "", "", ""
		if m.Type != source.Resource && m.Type != source.ContainerResource {
			m.Name = ""
		}
	}
	return demands{p, s.asks(), s.Autoscaler().SyncPeriod(0), reflect.ValueOf(s.Floor).Pointer()}, err
}

// AsksForTheSame reports whether two settings differ in nothing that is played.
func AsksForTheSame(a, b *Setting) bool {
	one, err := a.demands()
	other, otherErr := b.demands()
	return err == nil && otherErr == nil && reflect.DeepEqual(one, other)
}

// Verdict is what a reader of the scores must know, nil if there is nothing: why the count could not follow the load.
func Verdict(s *Scene, settings []Setting) error {
	var found findings
	var missing []string
	fixed := 0
	for i := range settings {
		policy, err := settings[i].policy()
		if err != nil {
			return err
		}
		for k := range policy.Metrics {
			if text := whyOffTarget(s, &policy, &policy.Metrics[k]); text != "" {
				found.add(settings[i].Name, text)
			}
		}
		for _, text := range fixedMetrics(s, &policy) {
			found.add(settings[i].Name, text)
		}
		if settings[i].hasSchedules() {
			continue
		}
		if policy.MinReplicas == policy.MaxReplicas {
			fixed++
		}
		if most := neededBy(s, &policy); most > int64(policy.MaxReplicas) {
			missing = append(missing, fmt.Sprintf("%d of maxReplicas %d", most, policy.MaxReplicas))
		}
	}
	if fixed == len(settings) {
		found.addAll(settings, "minReplicas is maxReplicas, so the count cannot change: set a higher maxReplicas")
	}
	if len(missing) == len(settings) {
		slices.Sort(missing)
		found.addAll(settings, fmt.Sprintf(
			"the peak needs more pods than maxReplicas permits (%s), so it is never served at the target: raise "+
				"maxReplicas, or --pod-capacity if a pod serves more", strings.Join(slices.Compact(missing), ", ")))
	}
	return found.join(len(settings))
}

// neededBy is how many pods the peak needs by the metric that asks for the most.
func neededBy(s *Scene, p *horizontal.Policy) (most int64) {
	for i := range p.Metrics {
		if part, ok := s.Workload.partAtTarget(&p.Metrics[i]); ok {
			most = max(most, s.podsFor(part))
		}
	}
	return most
}

// fixedMetrics are the metrics that never ask for more pods, or always, whatever the load is, with the reason. Memory
// beside other metrics that do may be far below its target: that is what it is like.
func fixedMetrics(s *Scene, p *horizontal.Policy) (texts []string) {
	hasOther := slices.ContainsFunc(p.Metrics, func(m source.Spec) bool { return !isMemory(&m) })
	for i := range p.Metrics {
		m := &p.Metrics[i]
		switch text := whyFixed(s, m, 1+p.Tolerance.Up); {
		case text == "":
		case isMemory(m) && hasOther && s.Workload.memoryRequests(m) > 0:
		default:
			texts = append(texts, "metric "+m.ShortName()+" "+text)
		}
	}
	return texts
}

// whyFixed is why; above is how many times its target a metric has to be to ask for more pods.
func whyFixed(s *Scene, m *source.Spec, above float64) string {
	w := &s.Workload
	if isMemory(m) {
		return whyMemoryFixed(w, m, above)
	}
	part, ok := w.partAtTarget(m)
	asks, most := part*above*w.servesAtFull(), w.servesAtMost()
	switch {
	case isGauge(m) && float64(m.Target.Milli)/1000*above >= w.Profile.QueueLimit:
		return fmt.Sprintf("never asks for more pods: at most %s requests wait in a pod, and its target is %s",
			number(w.Profile.QueueLimit), number(float64(m.Target.Milli)/1000))
	case !ok || isGauge(m) || isOffered(m) || asks < most:
		return ""
	case m.IsCPU():
		return fmt.Sprintf("never asks for more pods: it does above %.0fm in a pod, and a pod gets at most %.0fm: lower the "+
			"target, or raise --cpu-limit or --burst", part*above*w.CPURequestMilli, w.ceilingMilli())
	}
	return fmt.Sprintf("never asks for more pods: it does above %s requests/s in a pod, and a pod serves at most %s "+
		"(%.0fm of CPU): lower the target, or raise --pod-capacity", number(asks), number(most), w.ceilingMilli())
}

func whyMemoryFixed(w *Workload, m *source.Spec, above float64) string {
	requests, target, limit := w.memoryRequests(m), w.memoryTarget(m), w.MemoryLimitBytes
	switch {
	case requests <= 0:
		return fmt.Sprintf("always asks for more pods: each uses %s without requests, and its target is %s: say with "+
			"--memory what a pod uses", bytes(w.idleMemory(m)), bytes(target))
	case limit > 0 && target*above >= limit:
		return fmt.Sprintf("never asks for more pods: it does above %s in a pod, and the limit is %s: lower the target",
			bytes(target*above), bytes(limit))
	case requests*above >= w.servesAtMost():
		return fmt.Sprintf("never asks for more pods: a pod would reach its target of %s with %s requests/s, and serves at "+
			"most %s: say with --memory what a request uses", bytes(target), number(requests), number(w.servesAtMost()))
	}
	return ""
}

// whyOffTarget is why a metric does not come to its target, however many pods there are; empty if it does.
func whyOffTarget(s *Scene, p *horizontal.Policy, m *source.Spec) string {
	value, peak, above := float64(m.Target.Milli)/1000, s.peakRequests(), 1+p.Tolerance.Up
	most := s.Workload.servesAtMost()
	name := "metric " + m.ShortName()
	switch {
	case isWaiting(m) && peak <= most*float64(max(1, p.MinReplicas)):
		return fmt.Sprintf("%s asks for nothing: the peak of %s requests/s is what %s can serve, so none wait: raise the "+
			"load, or lower --pod-capacity", name, number(peak), pods(int64(max(1, p.MinReplicas))))
	case isOffered(m) && m.Target.Type == source.AverageValue && value > most:
		return fmt.Sprintf("%s gives a pod %s requests/s at its target, and a pod serves at most %s: lower the target, or "+
			"raise --pod-capacity", name, number(value), number(most))
	case m.Target.Type != source.Value || !countsRequests(m):
		return ""
	case !isOffered(m) && most*float64(p.MinReplicas) <= value*above:
		return fmt.Sprintf("%s asks for nothing: %s can serve at most %s requests/s, and its target is %s: raise "+
			"minReplicas or --pod-capacity", name, pods(int64(p.MinReplicas)), number(most*float64(p.MinReplicas)),
			number(value))
	case peak <= value*above:
		return fmt.Sprintf("%s asks for nothing: the peak of %s requests/s is not above its target of %s: lower the target, "+
			"or raise the load", name, number(peak), number(value))
	}
	return fmt.Sprintf("%s is all requests, which more pods do not lower: above %s it asks for maxReplicas: use an "+
		"averageValue", name, number(value*above))
}

// Note is what may surprise in runs; empty if there is nothing.
func Note(s *Scene, runs []*Run) string {
	if !slices.ContainsFunc(runs, func(r *Run) bool { return r.Setting.Autoscaler().NumMetrics() > 0 }) {
		return "no metric follows the load: schedules alone change the count"
	}
	needs := "the peak needs " + pods(s.podsFor(s.Target))
	if !slices.ContainsFunc(runs, func(r *Run) bool { return len(r.Changes) > 0 }) {
		return "the count never changes: " + needs
	}
	bySide := map[Side][]*Run{}
	for _, run := range runs {
		bySide[run.Setting.Side] = append(bySide[run.Setting.Side], run)
	}
	for _, all := range bySide {
		if len(all) == 1 || slices.ContainsFunc(all[1:], func(r *Run) bool { return !isSamePlay(r, all[0]) }) {
			return ""
		}
	}
	return "the settings make no difference to this load, and have the same counts at all times: " + needs
}

func isSamePlay(a, b *Run) bool {
	return a.Score.PodHours == b.Score.PodHours && slices.Equal(a.Changes, b.Changes)
}

// findings are texts, and the settings that each is about.
type findings struct {
	texts []string
	names map[string][]string
}

func (f *findings) add(name, text string) {
	if f.names == nil {
		f.names = map[string][]string{}
	}
	if !slices.Contains(f.texts, text) {
		f.texts = append(f.texts, text)
	}
	if !slices.Contains(f.names[text], name) {
		f.names[text] = append(f.names[text], name)
	}
}

func (f *findings) addAll(settings []Setting, text string) {
	for i := range settings {
		f.add(settings[i].Name, text)
	}
}

// join is each text once, with the settings unless it is about all of them.
func (f *findings) join(settings int) error {
	var all []error
	for _, text := range f.texts {
		if names := f.names[text]; len(names) < settings {
			text = strings.Join(names, ", ") + ": " + text
		}
		all = append(all, errors.New(text))
	}
	return errors.Join(all...)
}
