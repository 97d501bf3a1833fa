package horizontal_test

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// arguments returns key=value, or a key alone.
func arguments(words []string) map[string]string {
	args := map[string]string{}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		args[key] = value
	}
	return args
}

func (s *stage) newPolicy(args map[string]string) {
	s.policy, s.ours, s.theirs, s.headed = policy(1, 10), side{}, side{}, false
	s.policy.Metrics = nil
	if _, is := args["wla"]; is {
		s.policy.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{}
		s.policy.WorkloadAutoscaler.Zero.CooldownPeriod = 5 * time.Minute
	}
	s.policy.Tolerance = metric.Tolerance{Up: 0.1, Down: 0.1}
	s.policy.Divergences &^= s.without
	if s.upstream {
		s.policy.Divergences = divergence.None
		s.policy.CPUInitializationPeriod, s.policy.InitialReadinessDelay = 2*time.Minute, 10*time.Second
	}
	for key, value := range args {
		switch key {
		case "min":
			s.policy.MinReplicas = s.count(value)
		case "max":
			s.policy.MaxReplicas = s.count(value)
		case "window":
			s.policy.DownscaleStabilization = s.period(value)
		case "init":
			s.policy.CPUInitializationPeriod = s.period(value)
		case "delay":
			s.policy.InitialReadinessDelay = s.period(value)
		case "tolerance":
			up, down, both := strings.Cut(value, "/")
			if !both {
				down = up
			}
			s.policy.Tolerance = metric.Tolerance{Up: s.fraction(up), Down: s.fraction(down)}
		case "divergences":
			set, err := divergence.Parse(value)
			s.must(err)
			s.policy.Divergences = set
		case "wla":
		case "mode", "paused", "cooldown", "initial", "created":
			s.workloadAutoscaler(key, value, args)
		default:
			s.surge(key, args)
		}
	}
}

// change edits the object.
func (s *stage) change(args map[string]string) {
	metrics, schedules, before := s.policy.Metrics, s.policy.WorkloadAutoscaler.Schedules, *s
	s.newPolicy(args)
	s.policy.Metrics, s.policy.WorkloadAutoscaler.Schedules = metrics, schedules
	s.policy.Behavior = before.policy.Behavior
	s.ours, s.theirs, s.headed = before.ours, before.theirs, before.headed
}

// workloadAutoscaler reads the parts of a policy that an HPA does not have.
func (s *stage) workloadAutoscaler(key, value string, args map[string]string) {
	w := s.policy.WorkloadAutoscaler
	if w == nil {
		s.t.Fatalf("policy has no %s without wla", key)
	}
	switch key {
	case "mode":
		w.Mode, _ = mode.Parse(value)
	case "paused":
		n := s.count(value)
		w.PausedReplicas = &n
	case "cooldown":
		w.Zero.CooldownPeriod = s.period(value)
	case "initial":
		w.Zero.InitialCooldownPeriod = s.period(value)
	case "created":
		s.created = noon.Add(s.period(args[key]))
	}
}

// scheduleOf reads a schedule: its settings, followed by its cron expression.
func (s *stage) scheduleOf(words []string) schedules.Schedule {
	one := schedules.Schedule{Name: words[0]}
	for i, word := range words[1:] {
		key, value, given := strings.Cut(word, "=")
		if !given {
			start, err := cron.ParseStandard(strings.Join(words[i+1:], " "))
			s.must(err)
			one.Start = start
			break
		}
		switch key {
		case "duration":
			one.Duration = s.period(value)
		case "ramp":
			one.Ramp = s.period(value)
		case "min":
			one.MinReplicas = s.count(value)
		case "max":
			one.MaxReplicas = s.count(value)
		default:
			s.t.Fatalf("a schedule has no %s", key)
		}
	}
	return one
}

// fallbackOf reads a fallback, as in 5/3m/CurrentReplicasIfHigher.
func (s *stage) fallbackOf(text string) source.Fallback {
	replicas, rest, _ := strings.Cut(text, "/")
	duration, behavior, _ := strings.Cut(rest, "/")
	b, known := source.ParseFallbackPolicy(behavior)
	if !known {
		s.t.Fatalf("what behavior is %q?", behavior)
	}
	return source.Fallback{Replicas: s.count(replicas), FailureDuration: s.period(duration), Policy: b}
}

// surge reads a setting of the surge window.
func (s *stage) surge(key string, args map[string]string) {
	value, on := args["surge"]
	if !on {
		s.t.Fatalf("policy has no %s without surge", key)
	}
	window := &s.policy.Surge
	if window.Window == 0 {
		*window = surge.Defaults()
	}
	switch key {
	case "surge":
		if value != "" {
			window.Window = s.period(value)
		}
	case "steep":
		window.SteepFactor = s.fraction(args[key])
	case "margin":
		window.Margin = s.fraction(args[key])
	case "least":
		window.LeastCPUMilli = s.milli(args[key])
	case "ready":
		window.ReadyFor = s.period(args[key])
	default:
		s.t.Fatalf("policy has no %s", key)
	}
}

// metricOf reads a metric: cpu and memory are resources, app/cpu one of a container; object, external and pods are the
// types of those names. If a policy has two of a type, external:jobs adds a name, which the steps use for its values.
// endpoint, prometheus and scaler are the sources that Plimsoll reads itself; rate makes an endpoint's metric events
// per second, own takes the target's value from the reading. type=Cheese sets a type that no API has; a metric without
// a target has none.
func (s *stage) metricOf(kind string, args map[string]string) source.Spec {
	kind, name, named := strings.Cut(kind, ":")
	if !named {
		name = kind
	}
	spec := source.Spec{Type: source.Resource, Name: name, SelectorText: "nil"}
	container, resource, found := strings.Cut(kind, "/")
	switch {
	case found:
		spec.Type, spec.Name, spec.Container = source.ContainerResource, resource, container
	case kind == "object":
		spec.Type, spec.Object = source.Object, source.ObjectRef{Kind: "Service", Name: "web"}
	case kinds[kind] != "":
		spec.Type = kinds[kind]
	}
	for key, value := range args {
		switch key {
		case "utilization":
			spec.Target = source.Target{Type: source.Utilization, Percent: s.count(value)}
		case "average":
			spec.Target = source.Target{Type: source.AverageValue, Milli: s.milli(value)}
		case "value":
			spec.Target = source.Target{Type: source.Value, Milli: s.milli(value)}
		case "rate":
			spec.IsRate = true
		case "own":
			spec.IsOwnTarget = true
		case "type":
			spec.Type = source.Type(value)
		case "fallback":
			spec.Fallback = s.fallbackOf(value)
		case "activation":
			spec.ActivationMilli = s.milli(value)
		default:
			s.t.Fatalf("metric has no %s", key)
		}
	}
	return spec
}

var kinds = map[string]source.Type{
	"external": source.External, "pods": source.Pods, "endpoint": source.PodEndpoint, "prometheus": source.Prometheus,
	"scaler": source.ExternalScaler,
}

func (s *stage) rules(direction string, words []string) {
	if s.policy.Behavior == nil {
		s.policy.Behavior = defaults()
	}
	rules := &s.policy.Behavior.Up
	if direction == "down" {
		rules = &s.policy.Behavior.Down
	}
	given := false
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "window":
			rules.Stabilization = s.period(value)
			continue
		case "select":
			rules.Select = map[string]behavior.Select{
				"Max": behavior.SelectMax, "Min": behavior.SelectMin, "Disabled": behavior.SelectDisabled,
			}[value]
			continue
		}
		if !given {
			rules.Policies, given = nil, true
		}
		amount, period, _ := strings.Cut(value, "/")
		rate := pods(s.count(amount), s.period(period))
		if key == "percent" {
			rate.Type = behavior.RatePercent
		}
		rules.Policies = append(rules.Policies, rate)
	}
}

// past sets the object's history: recommendations and scale events as COUNT@TIME.
func (s *stage) past(args map[string]string) {
	for key, value := range args {
		var entries []past
		for entry := range strings.SplitSeq(value, ",") {
			count, when, _ := strings.Cut(entry, "@")
			entries = append(entries, past{ago: -s.period(when), replicas: s.count(count)})
		}
		// The state needs the oldest entry first; upstream's order differs.
		slices.SortStableFunc(entries, func(a, b past) int { return int(b.ago - a.ago) })
		switch key {
		case "recommended":
			s.ours.state.Recommendations = remembering(entries...).Recommendations
		case "up":
			s.ours.state.ScaleUps = changes(entries...)
		case "down":
			s.ours.state.ScaleDowns = changes(entries...)
		default:
			s.t.Fatalf("past has no %s", key)
		}
	}
	s.theirs.state = s.ours.state.Clone()
}

func (s *stage) milli(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	s.must(err)
	return n
}

func (s *stage) fraction(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	s.must(err)
	return x
}

func (s *stage) count(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	s.must(err)
	return int32(n)
}

func (s *stage) period(text string) time.Duration {
	d, err := time.ParseDuration(text)
	s.must(err)
	return d
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
