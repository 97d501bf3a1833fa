package horizontal_test

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// observation returns an observation from a step's details.
func (s *stage) observation(current int32, args map[string]string, details []string) horizontal.Observation {
	o := see(current)
	if text, given := args["existing"]; given {
		o.Target.StatusReplicas = s.count(text)
	}
	_, o.ScaledToZero = args["scaled-to-zero"]
	if text, given := args["selector"]; given {
		o.Target.Selector = selectors[text]
	}
	o.Target.Error = args["scale"]
	kind, known := trigger.Parse(args["trigger"])
	if o.Trigger = kind; !known {
		s.t.Fatalf("what trigger is %s?", args["trigger"])
	}

	values := map[string][]string{}
	kinds, asked := repeat("ready*"+strconv.Itoa(int(current))), []string(nil)
	for _, line := range details {
		words := strings.Fields(line)
		switch all := repeat(words[1:]...); words[0] {
		case "are":
			kinds = all
		case "requests":
			asked = all
		case "surge", "earlier":
			values[words[0]+" "+words[1]] = all[1:]
		default:
			values[words[0]] = all
		}
	}
	var requests []metric.Request
	for i, kind := range kinds {
		p, r := s.podOf(kind)
		p.Name = "web-" + strconv.Itoa(i)
		if i < len(asked) {
			r = s.requestOf(asked[i])
		}
		o.Pods, requests = append(o.Pods, p), append(requests, r)
	}
	for i := range s.policy.Metrics {
		spec := &s.policy.Metrics[i]
		r := s.reading(spec, values[key(spec)], requests)
		for _, text := range values["surge "+key(spec)] {
			r.Recent = append(r.Recent, s.recentOf(text))
		}
		for _, text := range values["earlier "+key(spec)] {
			r.Earlier = append(r.Earlier, s.sampleOf(text))
		}
		o.Readings = append(o.Readings, r)
		for _, window := range []string{"", "surge ", "earlier "} {
			delete(values, window+key(spec))
		}
	}
	if len(values) > 0 {
		s.t.Fatalf("%s: no metric has the values %v", s.block.title, values)
	}
	return o
}

var selectors = map[string]podselector.Selector{
	"missing":   {Problem: podselector.Missing},
	"invalid":   {Problem: podselector.Invalid, Message: "the selector cannot be read"},
	"ambiguous": {Problem: podselector.Ambiguous, Message: "pods are controlled by more than one HPA"},
}

// key returns the metric's name in the details of a step.
func key(spec *source.Spec) string {
	if spec.Type == source.ContainerResource {
		return spec.Container + "/" + spec.Name
	}
	return spec.Name
}

// repeat expands x*3 to x x x.
func repeat(terms ...string) []string {
	var all []string
	for _, w := range terms {
		term, times, found := strings.Cut(w, "*")
		n, err := strconv.Atoi(times)
		if !found || err != nil {
			n = 1
		}
		all = append(all, slices.Repeat([]string{term}, n)...)
	}
	return all
}

// podOf reads a pod: a kind, and what is otherwise, as in
//
//	ready:start=-10m,turned=-9m54s,phase=Succeeded
//
// Pods started an hour before noon and became ready a second later. Start is
// when the pod started, or none; turned when its Ready condition changed.
// An unready pod has never been ready, a young one is ready and started just
// now, a blank one has no Ready condition. A job is finished and has no request,
// an other one does not have the metric's container.
func (s *stage) podOf(text string) (metric.Pod, metric.Request) {
	started := noon.Add(-time.Hour)
	p := metric.Pod{
		Phase: metric.PhaseRunning, Ready: metric.ReadyTrue, StartTime: started, ReadyTransition: started.Add(time.Second),
	}
	r := metric.Request{Milli: 1000}
	kind, rest, _ := strings.Cut(text, ":")
	switch kind {
	case "ready":
	case "pending":
		p.Phase, p.Ready = metric.PhasePending, metric.ReadyFalse
	case "unready":
		p.Ready = metric.ReadyFalse
	case "young":
		p.StartTime, p.ReadyTransition = noon.Add(-20*time.Second), noon.Add(-10*time.Second)
	case "blank":
		p.Ready, p.ReadyTransition = metric.NoReadiness, time.Time{}
	case "deleting":
		p.Deleting = true
	case "failed":
		p.Phase = metric.PhaseFailed
	case "succeeded":
		p.Phase, p.Ready = metric.PhaseSucceeded, metric.ReadyFalse
	case "job":
		p.Phase, p.Ready = metric.PhaseSucceeded, metric.ReadyFalse
		r = metric.Request{Missing: metric.ContainerWithoutRequest, Container: "job"}
	case "other":
		r = metric.Request{Missing: metric.ContainerNotFound, Container: "app"}
	default:
		s.t.Fatalf("what pod is %q?", text)
	}
	s.differ(&p, rest)
	return p, r
}

// differ changes one property of the pod.
func (s *stage) differ(p *metric.Pod, what string) {
	for key, value := range arguments(strings.FieldsFunc(what, func(c rune) bool { return c == ',' })) {
		switch {
		case key == "phase":
			p.Phase = phases[value]
		case key == "start" && value == "none":
			p.StartTime = time.Time{}
		case key == "start":
			p.StartTime = noon.Add(s.period(value))
		case key == "turned":
			p.ReadyTransition = noon.Add(s.period(value))
		default:
			s.t.Fatalf("a pod has no %s", key)
		}
	}
}

var phases = map[string]metric.Phase{
	"Pending": metric.PhasePending, "Running": metric.PhaseRunning, "Succeeded": metric.PhaseSucceeded,
	"Failed": metric.PhaseFailed,
}

// requestOf reads a request: a number, "-" for a container without one, "?" for
// a pod that lacks the metric's container, "pod" for requests of the pod as a
// whole that leave the resource out.
func (s *stage) requestOf(text string) metric.Request {
	switch text {
	case "-":
		return metric.Request{Missing: metric.ContainerWithoutRequest, Container: "app"}
	case "?":
		return metric.Request{Missing: metric.ContainerNotFound, Container: "app"}
	case "pod":
		return metric.Request{Missing: metric.PodWithoutRequest}
	}
	return metric.Request{Milli: s.milli(text)}
}

// reading returns a metric's answer: "down" is an API error, "none" an empty list, "awaited" nothing yet. The value of
// an Object or External metric may say when it was asked for, as in 500@-90s?15s. Those of a scaler begin with what it
// says of itself: active, inactive or silent; target=500 is the target that comes with them.
func (s *stage) reading(spec *source.Spec, values []string, requests []metric.Request) metric.Reading {
	if spec.Type == source.ExternalScaler && len(values) > 0 {
		activity, rest := values[0], values[1:]
		spec := *spec
		spec.Type = source.External
		r := s.reading(&spec, rest, requests)
		r.Activity = map[string]metric.Activity{"active": metric.Active, "inactive": metric.Inactive}[activity]
		return r
	}
	switch {
	case slices.Contains(values, "down"):
		return broken()
	case slices.Contains(values, "awaited"):
		return metric.Reading{Pending: true}
	case slices.Contains(values, "none"):
		return metric.Reading{Empty: true}
	}
	var r metric.Reading
	if !spec.IsPerPod() {
		for _, v := range values {
			if target, isTarget := strings.CutPrefix(v, "target="); isTarget {
				r.TargetMilli = s.milli(target)
				continue
			}
			v, asked, given := strings.Cut(v, "?")
			if given {
				r.Asked = noon.Add(s.period(asked))
			}
			one := s.sampleOf(v)
			r.Series, r.At = append(r.Series, one.Milli), one.At
		}
		return r
	}
	r.Requests = requests
	for _, v := range values {
		if v[0] == '+' {
			r.Extraneous = append(r.Extraneous, s.milli(v))
			continue
		}
		r.Samples = append(r.Samples, s.sampleOf(v))
	}
	for i := range min(len(requests), len(r.Samples)) {
		r.Samples[i].NoContainer = !r.Samples[i].Present && requests[i].Missing == metric.ContainerNotFound
	}
	return r
}

// sampleOf reads a sample, as in 500@-10s/1m: its value, when it was taken, and
// its window; the time of the decision and 30s where that is left out. "-" is
// none, "~" is a pod that was not asked, +500 the one of a pod that is not among the pods.
func (s *stage) sampleOf(text string) metric.Sample {
	if text == "-" {
		return metric.Sample{}
	}
	if text == "~" {
		return metric.Sample{Unsampled: true}
	}
	text, window, windowed := strings.Cut(text, "/")
	text, at, timed := strings.Cut(text, "@")
	sample := metric.Sample{Present: true, Milli: s.milli(text), At: s.now, Window: 30 * time.Second}
	if timed {
		sample.At = noon.Add(s.period(at))
	}
	if windowed {
		sample.Window = s.period(window)
	}
	return sample
}

// recentOf reads a pod's last intervals, as in 500,480/0.2s,90: of a second each
// by default, the newest up to the time of the decision, each of
// the others up to where the next one begins. "-" is none.
func (s *stage) recentOf(text string) (recent metric.Recent) {
	if text == "-" {
		return recent
	}
	end := s.now
	for i, part := range strings.Split(text, ",") {
		value, span, given := strings.Cut(part, "/")
		recent[i] = metric.Sample{Present: true, Milli: s.milli(value), At: end, Window: time.Second}
		if given {
			recent[i].Window = s.period(span)
		}
		end = end.Add(-recent[i].Window)
	}
	return recent
}
