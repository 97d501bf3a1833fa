package simulate

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/loop"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

const (
	// warmUp is how long the load stays as it begins before anything is counted, so that
	// the controllers know what pods use. It is whole minutes, as floors change with the load's minutes.
	warmUp = time.Minute
	// groups are the nodes whose kubelets are asked one after the other.
	groups = 3
	// checkEvery is after how many seconds it is asked whether to go on.
	checkEvery = 4096
)

// Change is a change of the wanted count.
type Change struct {
	// At is since the load began.
	At       time.Duration
	From, To int32
	// Surge says that the surge window asked.
	Surge bool
}

// Moment is how things stood at the end of a second.
type Moment struct {
	// At is since the load began.
	At   time.Duration
	Load float64
	// Need is the count that the target asks for.
	Need, Wanted, Ready, Paid int
	// Least and Most are the limits.
	Least, Most int
	// Utilization is the CPU that ready pods use in parts of what they request; Latency
	// the mean in seconds.
	Utilization, Latency float64
	// IsShort says that the load is more than ready pods serve with all that they
	// requested.
	IsShort bool
}

// Run is a setting that was played.
type Run struct {
	Setting Setting
	Score   score.Score
	Changes []Change
	// Limits are the fewest and the most replicas; more than one if schedules change them.
	Limits []Limit
	Series Series
	// Minutes are all of it.
	Minutes []Minute
}

// HasSchedules reports whether the limits may change with the time.
func (r *Run) HasSchedules() bool { return r.Setting.hasSchedules() }

// Limit is the fewest and the most replicas from a time on.
type Limit struct {
	// At is since the load began.
	At          time.Duration
	Least, Most int32
}

// Watch may be given to Play. Each may be nil.
type Watch struct {
	// Progress is called now and then with the part that is done.
	Progress func(part float64)
	// Moment is called every second.
	Moment func(m *Moment)
	// Decision is called after every decision; it must not keep its arguments.
	Decision func(at time.Duration, o *horizontal.Observation, d *horizontal.Decision)
}

// player is a setting that is played.
type player struct {
	scene *Scene
	watch Watch
	world *world.World
	run   *Run
	tally *score.Accumulator
	// offered and dropped are the totals a second ago.
	offered, dropped float64
	moment           Moment
}

// Play plays a setting to its end.
func Play(ctx context.Context, s *Scene, setting Setting, watch Watch) (*Run, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	policy, err := setting.policy()
	if err != nil {
		return nil, err
	}
	if setting.hasSchedules() && s.Load.IsSpedUp() {
		return nil, fmt.Errorf("%s: a load that is sped up has another clock than the schedules", setting.Name)
	}
	requests, err := s.Workload.requests(&policy)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting.Name, err)
	}
	w, err := s.world(&policy)
	if err != nil {
		return nil, err
	}
	p := &player{
		scene: s, watch: watch, world: w, run: &Run{Setting: setting, Series: newSeries(s.For)},
		tally: score.New(score.Config{
			PodCapacity: s.PodCapacity, Target: s.Target, Tolerance: s.Tolerance, MinReplicas: s.MinReplicas,
			Slow:         s.Slow,
			RequestCores: s.Workload.requestMilli() / 1000, CoreHourPrice: s.CoreHourPrice, NodeCores: s.Supply.CPUMilli / 1000,
		}),
	}
	w.OnSecond(p.second)
	controller := p.controller(loop.Config{
		Policy: policy, Requests: requests, Asks: setting.asks(), World: w, Seed: s.loopSeed(), OnDecision: p.decided,
		IsMissing: func(at time.Duration) bool { return at >= warmUp && s.Load.IsMissing(at-warmUp) },
		Floor:     setting.floor(),
	})
	if err := p.play(ctx, controller); err != nil {
		return nil, err
	}
	p.run.Score = p.tally.Score()
	p.run.Series.finish()
	return p.run, nil
}

func (p *player) controller(c loop.Config) loop.Loop {
	if p.run.Setting.Side == Upstream {
		return loop.NewUpstream(c, p.scene.Timing.Upstream)
	}
	timing := p.scene.Timing.Plimsoll
	timing.Sync = p.run.Setting.Autoscaler().SyncPeriod(timing.Sync)
	timing.StandIn = p.scene.Timing.Upstream.MetricsServerTiming
	return loop.NewPlimsoll(c, timing)
}

func (p *player) play(ctx context.Context, controller loop.Loop) error {
	end := warmUp + p.scene.For
	for check := 0; p.world.Now() < end; check++ {
		if check%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if p.watch.Progress != nil {
				p.watch.Progress(float64(p.world.Now()) / float64(end))
			}
		}
		p.world.AdvanceTo(min(end, controller.Next()))
		controller.Act()
	}
	return nil
}

// floor is the setting's floor by the world's time; nil if it has none.
func (s *Setting) floor() func(at time.Duration) int32 {
	if s.Floor == nil {
		return nil
	}
	return func(at time.Duration) int32 {
		if at < warmUp {
			return 0
		}
		return s.Floor(at - warmUp)
	}
}

func (p *player) decided(o *horizontal.Observation, d *horizontal.Decision) {
	at := p.world.Now() - warmUp
	if p.watch.Decision != nil {
		p.watch.Decision(at, o, d)
	}
	if at >= 0 && at < p.scene.For {
		(*minutes)(&p.run.Minutes).decided(at, &d.Forecast)
	}
	p.limit(Limit{At: max(0, at), Least: d.Bounds.MinReplicas, Most: d.Bounds.MaxReplicas})
	if !d.Rescale || at < 0 {
		return
	}
	p.run.Changes = append(p.run.Changes, Change{At: at, From: d.Current, To: d.Desired, Surge: d.Surge.Proposes()})
	if at >= p.scene.ScoreFrom {
		p.tally.AddAction(d.Desired - d.Current)
	}
}

// limit notes the limits of a decision. Of those before the load begins, the last ones count.
func (p *player) limit(now Limit) {
	if n := len(p.run.Limits); n > 0 {
		last := &p.run.Limits[n-1]
		switch {
		case last.Least == now.Least && last.Most == now.Most:
			return
		case last.At == now.At:
			*last = now
			return
		}
	}
	p.run.Limits = append(p.run.Limits, now)
}

func (p *player) second() {
	stats := p.world.Stats()
	offered, dropped := stats.OfferedTotal-p.offered, stats.DroppedTotal-p.dropped
	p.offered, p.dropped = stats.OfferedTotal, stats.DroppedTotal
	at := p.world.Now() - warmUp
	if at <= 0 {
		return
	}
	m := &p.moment
	*m = Moment{
		At: at, Load: p.scene.Load.Rate(at - time.Second), Wanted: int(p.world.Replicas()), Latency: stats.LatencySeconds,
	}
	if n := len(p.run.Limits); n > 0 {
		m.Least, m.Most = int(p.run.Limits[n-1].Least), int(p.run.Limits[n-1].Most)
	}
	p.recordPods(m)
	config := score.Config{PodCapacity: p.scene.PodCapacity, Target: p.scene.Target, MinReplicas: p.scene.MinReplicas}
	m.Need = int(config.Need(m.Load))
	m.IsShort = m.Load > float64(m.Ready)*p.scene.PodCapacity*(1+1e-9)
	if at > p.scene.ScoreFrom {
		p.tally.Add(&score.Second{
			Load: m.Load, Ready: m.Ready, Paid: m.Paid, Nodes: p.world.Nodes(), Most: m.Most, Offered: offered,
			Dropped: dropped,
		})
	}
	p.run.Series.add(m)
	(*minutes)(&p.run.Minutes).add(m)
	if p.watch.Moment != nil {
		p.watch.Moment(m)
	}
}

func (p *player) recordPods(m *Moment) {
	used := 0.0
	for _, pod := range p.world.Pods() {
		if pod.IsPlaced {
			m.Paid++
		}
		s, runs := pod.Stats()
		if !runs {
			continue
		}
		if m.At > p.scene.ScoreFrom {
			p.tally.AddLatency(s.ServedPerSecond, s.LatencySeconds)
		}
		if pod.IsReady && !pod.Deleting {
			m.Ready++
			used += pod.UsedMilli()
		}
	}
	if m.Ready > 0 {
		m.Utilization = used / (float64(m.Ready) * p.scene.Workload.requestMilli())
	}
}
