package loop

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// Loop is a controller.
type Loop interface {
	// Next is when it does something next.
	Next() time.Duration
	// Act does what is due now. Time is moved by others.
	Act()
}

// Config has the settings that both loops share.
type Config struct {
	Policy horizontal.Policy
	// Requests say for each of the policy's metrics what a pod requests of it.
	Requests []metric.Request
	// Asks say for each of the policy's metrics how it is asked for that Plimsoll reads itself. They
	// may be left out if there are none.
	Asks  []Ask
	World *world.World
	Seed  uint64
	// IsMissing says that the load is not known at a time. Metrics with a fallback cannot be read
	// then. It may be nil.
	IsMissing func(at time.Duration) bool
	// Floor raises the policy's MinReplicas, up to its MaxReplicas, until the next whole minute. Plimsoll's loop calls
	// it once at each, and decides at once if it rises. It may be nil.
	Floor func(at time.Duration) int32
	// OnDecision is called after every decision; it may be nil. It must not keep its arguments.
	OnDecision func(o *horizontal.Observation, d *horizontal.Decision)
}

// decider observes the world and decides; both loops embed it.
type decider struct {
	Config
	state       horizontal.State
	observation horizontal.Observation
	decision    horizontal.Decision
}

func newDecider(c Config) decider {
	d := decider{Config: c}
	d.observation.CreatedAt = c.World.Epoch()
	d.observation.Readings = make([]metric.Reading, len(c.Policy.Metrics))
	for i := range c.Policy.Metrics {
		d.observation.Readings[i].Pending = isAsked(&c.Policy.Metrics[i])
	}
	return d
}

// observePods reads the target and its pods. The API's times are whole seconds, and those of pods are by the clocks of
// their nodes.
func (d *decider) observePods() {
	o := &d.observation
	o.Pods = o.Pods[:0]
	present := int32(0)
	for _, p := range d.World.Pods() {
		seen := metric.Pod{Name: p.Name, Phase: metric.PhasePending, Ready: metric.NoReadiness, Deleting: p.Deleting}
		if p.IsPlaced {
			seen.Ready, seen.ReadyTransition = metric.ReadyFalse, d.whole(p.Placed+p.ClockOffset)
			seen.StartTime = d.whole(p.Placed + p.ClockOffset)
		}
		if p.IsRunning {
			seen.Phase = metric.PhaseRunning
		}
		if p.IsReady {
			seen.Ready, seen.ReadyTransition = metric.ReadyTrue, d.whole(p.Ready+p.ClockOffset)
		}
		if !p.Deleting {
			present++
		}
		o.Pods = append(o.Pods, seen)
	}
	o.Target.SpecReplicas, o.Target.StatusReplicas = d.World.Replicas(), present
	if d.Policy.Forecast.Learns() {
		o.StartUp = world.StartUp(d.World)
	}
}

func (d *decider) whole(at time.Duration) time.Time { return d.World.Time(at).Truncate(time.Second) }

// missing is the reading of a metric while the load is not known.
var missing = metric.Reading{Error: "the trace has no value"}

func (d *decider) isMissing(spec *source.Spec) bool {
	return d.IsMissing != nil && spec.Fallback.FailureDuration > 0 && d.IsMissing(d.World.Now())
}

// isResource reports whether a metric comes from the kubelets.
func isResource(spec *source.Spec) bool {
	return spec.Type == source.Resource || spec.Type == source.ContainerResource
}

// begin empties a reading and asks for what pods request.
func (d *decider) begin(i int) *metric.Reading {
	r := &d.observation.Readings[i]
	*r = metric.Reading{
		Samples: r.Samples[:0], Recent: r.Recent[:0], Requests: r.Requests[:0], Series: r.Series[:0],
		Extraneous: r.Extraneous[:0], Earlier: r.Earlier[:0],
	}
	if isResource(&d.Policy.Metrics[i]) {
		for range d.observation.Pods {
			r.Requests = append(r.Requests, d.Requests[i])
		}
	}
	return r
}

// ask reads a metric of the custom or external metrics APIs: requests that a pod
// serves, that the workload is offered, or that wait.
func (d *decider) ask(i int) {
	r, now := d.begin(i), d.World.Time(d.World.Now())
	stats := d.World.Stats()
	r.Asked = now
	switch spec := &d.Policy.Metrics[i]; {
	case spec.Type == source.Pods:
		for _, p := range d.World.Pods() {
			s, runs := p.Stats()
			r.Samples = append(r.Samples, metric.Sample{Present: runs,
				Milli: milli(s.ServedPerSecond), At: now, Window: time.Minute})
		}
		r.Empty = len(r.Samples) == 0
	case spec.Type == source.Object, spec.Type == source.Prometheus, spec.OtherPods != "" && spec.IsRate:
		r.Series, r.At = append(r.Series, milli(stats.OfferedPerSecond)), now
	case spec.Type.ReportsActivity():
		r.Series, r.At, r.Activity = append(r.Series, milli(stats.QueueLength)), now, d.activity()
	default:
		r.Series, r.At = append(r.Series, milli(stats.QueueLength)), now
	}
}

func milli(v float64) int64 { return int64(v*1000 + 0.5) }

// isEmpty reports whether no pod has a sample: the API's list is empty then.
func isEmpty(r *metric.Reading) bool {
	for i := range r.Samples {
		if r.Samples[i].Present {
			return false
		}
	}
	return true
}

// decide is one decision on what was observed, and what follows from it. The next one replaces it.
func (d *decider) decide() *horizontal.Decision {
	now := d.World.Time(d.World.Now())
	decision := &d.decision
	*decision, d.state = horizontal.Decide(now, &d.Policy, d.state, &d.observation)
	if decision.Branch == horizontal.BranchAwaiting {
		return decision
	}
	if d.OnDecision != nil {
		d.OnDecision(&d.observation, decision)
	}
	if decision.Rescale {
		d.World.Scale(decision.Desired)
		d.observation.ScaledToZero = decision.Desired == 0
		d.state = horizontal.Settle(d.state, horizontal.Outcome{At: now})
	}
	return decision
}
