package horizontal_test

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// situation has all inputs of a decision.
type situation struct {
	now         time.Time
	policy      horizontal.Policy
	state       horizontal.State
	observation horizontal.Observation
}

func (s *situation) decide() (horizontal.Decision, horizontal.State) {
	return horizontal.Decide(s.now, &s.policy, s.state.Clone(), &s.observation)
}

// maker makes situations from numbers of a generator: rapid, or the bytes of a fuzzer.
type maker struct {
	pick func(what string, low, high int64) int64
	// wild permits inputs that validation and the controller exclude.
	wild bool
	// isHPA excludes the fields that only a WorkloadAutoscaler has.
	isHPA bool
}

func (m maker) chance(what string, oneIn int64) bool { return m.pick(what, 1, oneIn) == oneIn }

func (m maker) duration(what string, longest time.Duration) time.Duration {
	return time.Duration(m.pick(what, 0, int64(longest/time.Second))) * time.Second
}

// milli returns a value, rarely one near the end of the range.
func (m maker) milli(what string) int64 {
	low := int64(0)
	if m.wild {
		low = math.MinInt64
	}
	if m.chance(what+" extreme", 20) {
		return m.pick(what, low, math.MaxInt64)
	}
	return m.pick(what, max(low, -10), 3000)
}

func (m maker) situation() situation {
	s := situation{now: noon, policy: m.policy(), state: m.state()}
	s.observation = m.observation(&s.policy)
	if s.policy.WorkloadAutoscaler != nil && m.pick("idle", 0, 1) == 1 {
		s.state.IdleSince = noon.Add(-m.duration("idle for", 15*time.Minute))
	}
	return s
}

func (m maker) policy() horizontal.Policy {
	p := horizontal.Policy{
		Namespace: "shop", MinReplicas: int32(m.pick("min", 0, 5)),
		Tolerance: metric.Tolerance{
			Up: float64(m.pick("tolerance up", 0, 30)) / 100, Down: float64(m.pick("tolerance down", 0, 30)) / 100,
		},
		DownscaleStabilization:  m.duration("flag window", time.Hour),
		CPUInitializationPeriod: m.duration("initialization", 10*time.Minute),
		InitialReadinessDelay:   m.duration("readiness delay", time.Minute),
		Divergences:             divergence.Default,
		Surge:                   m.surge(),
	}
	p.MaxReplicas = int32(m.pick("max", int64(max(1, p.MinReplicas)), 20))
	if m.chance("many", 10) {
		p.MaxReplicas = math.MaxInt32
	}
	if m.wild {
		p.MinReplicas = int32(m.pick("any min", math.MinInt32, math.MaxInt32))
		p.Divergences = divergence.Set(m.pick("divergences", 0, int64(divergence.Default)))
	}
	if !m.isHPA && m.chance("workload autoscaler", 3) {
		p.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{Zero: zero.Settings{
			CooldownPeriod: m.duration("cooldown", 10*time.Minute), InitialCooldownPeriod: m.duration("initial", time.Minute),
		}}
	}
	for range m.pick("metrics", 1, 3) {
		if p.WorkloadAutoscaler != nil && m.pick("own", 0, 1) == 1 {
			p.Metrics = append(p.Metrics, m.ownSpec())
			continue
		}
		p.Metrics = append(p.Metrics, m.spec())
	}
	if m.pick("behavior", 0, 2) > 0 {
		p.Behavior = &behavior.Behavior{Up: m.rules(), Down: m.rules()}
	}
	return p
}

func (m maker) surge() surge.Settings {
	s := surge.Defaults()
	if m.chance("no surge window", 4) {
		s.Window = 0
	}
	if m.wild {
		s.Margin, s.SteepFactor = float64(m.pick("margin", -1, 3)), float64(m.pick("steep", -1, 9))
		s.LeastCPUMilli = m.pick("least", math.MinInt64, math.MaxInt64)
	}
	return s
}

func (m maker) rules() behavior.Rules {
	r := behavior.Rules{
		Stabilization: m.duration("window", time.Hour),
		Select:        behavior.Select(m.pick("select", 0, 2)),
	}
	for range m.pick("policies", 1, 3) {
		value := m.pick("rate", 1, 200)
		if m.chance("fast", 10) {
			value = math.MaxInt32
		}
		r.Policies = append(r.Policies, behavior.RatePolicy{
			Type: behavior.RateType(m.pick("unit", 0, 1)), Value: int32(value),
			Period: time.Second + m.duration("period", 30*time.Minute),
		})
	}
	return r
}

func (m maker) spec() source.Spec {
	kinds := []source.Type{source.Resource, source.ContainerResource, source.Pods, source.Object, source.External, "Vibes"}
	known := int64(4)
	if m.wild {
		known = 5
	}
	s := source.Spec{
		Type: kinds[m.pick("type", 0, known)], Name: "memory", Container: "app", SelectorText: "nil",
		Object: source.ObjectRef{Kind: "Service", Name: "web"},
		Target: source.Target{Type: source.AverageValue, Milli: max(1, m.milli("target"))},
	}
	if m.pick("cpu", 0, 1) == 1 {
		s.Name = source.CPU
	}
	second := m.pick("target type", 0, 1) == 1
	switch {
	case second && (s.Type == source.Resource || s.Type == source.ContainerResource):
		s.Target = source.Target{Type: source.Utilization, Percent: int32(m.pick("percent", 1, 200))}
	case second && s.Type != source.Pods:
		s.Target.Type = source.Value
	}
	if m.wild && m.chance("odd target", 10) {
		s.Target = source.Target{
			Type:    []source.TargetType{"", source.Utilization, source.Value, source.AverageValue}[m.pick("odd type", 0, 3)],
			Milli:   m.pick("odd value", math.MinInt64, math.MaxInt64),
			Percent: int32(m.pick("odd percent", math.MinInt32, math.MaxInt32)),
		}
	}
	if m.wild && m.chance("odd selector", 10) {
		s.SelectorError = "odd"
	}
	return s
}

// ownSpec returns a metric that Plimsoll reads itself.
func (m maker) ownSpec() source.Spec {
	kinds := []source.Type{source.PodEndpoint, source.Prometheus, source.ExternalScaler}
	s := source.Spec{
		Type: kinds[m.pick("own type", 0, 2)], Name: "requests", SelectorText: "nil", Identity: "1",
		Target: source.Target{Type: source.AverageValue, Milli: max(1, m.milli("target"))},
	}
	if m.pick("target type", 0, 1) == 1 {
		s.Target.Type = source.Value
	}
	switch s.Type {
	case source.PodEndpoint:
		s.IsRate = m.pick("rate", 0, 1) == 1
	case source.Prometheus:
		s.ActivationMilli = m.pick("activation", 0, 2000)
	case source.ExternalScaler:
		if s.IsOwnTarget = m.pick("own target", 0, 1) == 1; s.IsOwnTarget {
			s.Target.Milli = 0
		}
	}
	if m.wild && m.chance("odd own target", 10) {
		s.Target.Milli = m.pick("odd value", math.MinInt64, math.MaxInt64)
	}
	return s
}

func (m maker) state() horizontal.State {
	var s horizontal.State
	if m.pick("scaled up", 0, 1) == 1 {
		at := noon.Add(-m.duration("since", 90*time.Second))
		s.Count = history.Count{ChangedAt: at, EffectiveAt: at, IsLowered: m.pick("lowered", 0, 1) == 1}
	}
	ago := 2 * time.Hour
	for range m.pick("recommendations", 0, 6) {
		ago -= m.duration("gap", 20*time.Minute)
		s.Recommendations.Add(noon.Add(-ago), int32(m.pick("recommended", 0, 25)))
	}
	for range m.pick("events", 0, 4) {
		at, n := noon.Add(-m.duration("event", 40*time.Minute)), int32(m.pick("change", 1, 10))
		if m.pick("direction", 0, 1) == 0 {
			s.ScaleUps = s.ScaleUps.Add(at, n, time.Hour)
		} else {
			s.ScaleDowns = s.ScaleDowns.Add(at, n, time.Hour)
		}
	}
	return s
}

func (m maker) observation(p *horizontal.Policy) horizontal.Observation {
	o := horizontal.Observation{ScaledToZero: m.pick("scaled to zero", 0, 1) == 1}
	o.Target.SpecReplicas = int32(m.pick("current", int64(max(0, p.MinReplicas)), int64(max(24, p.MinReplicas))))
	if m.pick("out of range", 0, 5) > 0 {
		o.Target.SpecReplicas = min(o.Target.SpecReplicas, p.MaxReplicas)
	} else {
		o.Target.SpecReplicas -= p.MinReplicas
	}
	if p.MaxReplicas > 1000 && m.chance("huge", 3) {
		o.Target.SpecReplicas = int32(m.pick("huge current", 0, math.MaxInt32))
	}
	o.Target.StatusReplicas = int32(m.pick("existing", 0, 24))
	if m.chance("selector", 15) {
		o.Target.Selector = podselector.Selector{Problem: podselector.Problem(m.pick("problem", 1, 3)), Message: "m"}
	}
	if m.wild && m.chance("unreadable", 15) {
		o.Target.Error = "not found"
	}
	for i := range m.pick("pods", 0, 7) {
		o.Pods = append(o.Pods, m.pod(fmt.Sprintf("web-%d", i)))
	}
	for i := range p.Metrics {
		o.Readings = append(o.Readings, m.reading(&p.Metrics[i], len(o.Pods)))
	}
	if m.wild && m.chance("lost reading", 20) {
		o.Readings = o.Readings[1:]
	}
	return o
}

func (m maker) pod(name string) metric.Pod {
	started := noon.Add(-m.duration("age", 20*time.Minute))
	p := metric.Pod{
		Name: name, Phase: metric.PhaseRunning, Ready: metric.ReadyTrue,
		StartTime: started, ReadyTransition: started.Add(m.duration("start-up", 2*time.Minute)),
	}
	if m.chance("odd pod", 3) {
		p.Phase = metric.Phase(m.pick("phase", 0, 4))
		p.Ready = metric.Readiness(m.pick("ready", 0, 3))
		p.Deleting = m.chance("deleting", 4)
		if m.chance("not started", 8) {
			p.StartTime = time.Time{}
		}
	}
	return p
}

func (m maker) reading(spec *source.Spec, pods int) metric.Reading {
	r := m.values(spec, pods)
	if spec.Type == source.ExternalScaler {
		r.Activity = metric.Activity(m.pick("activity", 0, 2))
	}
	return r
}

func (m maker) values(spec *source.Spec, pods int) metric.Reading {
	switch m.pick("outage", 0, 31) {
	case 29:
		return broken()
	case 30:
		return metric.Reading{Empty: true}
	case 31:
		return metric.Reading{Pending: true}
	}
	switch {
	case spec.Type == source.PodEndpoint:
		return m.endpoint(pods)
	case spec.HasValueWithoutPods():
		return m.total(spec)
	default:
		return m.perPod(pods)
	}
}

// total returns the values of a metric that does not concern single pods.
func (m maker) total(spec *source.Spec) metric.Reading {
	var r metric.Reading
	if spec.Type == source.ExternalScaler {
		r.TargetMilli = max(1, m.milli("the scaler's target"))
		if m.wild && m.chance("odd scaler's target", 10) {
			r.TargetMilli = m.pick("odd value", math.MinInt64, math.MaxInt64)
		}
	}
	if m.pick("timed", 0, 1) == 1 {
		r.At = noon.Add(-m.duration("series' age", time.Minute))
	}
	r.Series = append(r.Series, m.milli("series"))
	for spec.Type == source.External && m.pick("another", 0, 2) == 2 {
		r.Series = append(r.Series, m.milli("series"))
	}
	return r
}

// perPod returns the samples of all pods, and their requests.
func (m maker) perPod(pods int) metric.Reading {
	var r metric.Reading
	for range pods {
		sample, request := m.sample(), m.request()
		sample.NoContainer = !sample.Present && request.Missing == metric.ContainerNotFound
		r.Samples, r.Requests = append(r.Samples, sample), append(r.Requests, request)
	}
	if m.pick("intervals", 0, 1) == 1 {
		for range pods {
			r.Recent = append(r.Recent, m.recent())
		}
	}
	for m.chance("extraneous", 8) {
		r.Extraneous = append(r.Extraneous, m.milli("extraneous value"))
	}
	if m.wild && m.chance("short", 20) && pods > 0 {
		r.Samples = r.Samples[1:]
	}
	return r
}

// endpoint returns the samples of some of the pods.
func (m maker) endpoint(pods int) metric.Reading {
	r := metric.Reading{Samples: make([]metric.Sample, pods), Recent: make([]metric.Recent, pods)}
	isSampled := m.pick("sampled", 0, 1) == 1
	for i := range pods {
		if isSampled && m.pick("asked", 0, 2) == 0 {
			r.Samples[i].Unsampled = true
			continue
		}
		r.Samples[i], r.Recent[i] = m.sample(), m.recent()
	}
	if m.wild && m.chance("short", 20) && pods > 0 {
		r.Samples = r.Samples[1:]
	}
	return r
}

func (m maker) sample() metric.Sample {
	if m.chance("no sample", 5) {
		return metric.Sample{}
	}
	return metric.Sample{
		Present: true, Milli: m.milli("sample"), Window: 30 * time.Second,
		At: noon.Add(-m.duration("sample age", time.Minute)),
	}
}

func (m maker) recent() metric.Recent {
	var r metric.Recent
	for i := range m.pick("recent", 0, averaging.RecentIntervals) {
		r[i] = metric.Sample{
			Present: true, Milli: m.milli("interval"), At: noon.Add(-time.Duration(i) * time.Second),
			Window: time.Duration(m.pick("span", 0, 3000)) * time.Millisecond,
		}
	}
	return r
}

func (m maker) request() metric.Request {
	if m.chance("no request", 60) {
		return metric.Request{Missing: metric.MissingRequest(m.pick("why", 1, 3)), Container: "app"}
	}
	return metric.Request{Milli: m.milli("request")}
}
