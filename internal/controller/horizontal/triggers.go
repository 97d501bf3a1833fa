package horizontal

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// triggers schedules decisions between sync periods.
type triggers struct {
	// isOn is false if only the sync period triggers decisions, as upstream.
	isOn       bool
	syncPeriod time.Duration
	// direct may be nil.
	direct  readings.Direct
	own     readings.Sources
	queue   *schedule.Queue
	records *hpaRecords
	pods    *podindex.Index
	// reports counts the reports of external scalers.
	reports prometheus.Counter
	buffers sync.Pool
}

// sampleBuffer has the lists for new samples of a node. Triggers reuses them.
type sampleBuffer struct {
	subscriptions []podindex.Subscription
	uses          []hpaUse
	due           []dueHPA
}

// sampled schedules the HPAs with pods on a node after its new samples.
func (t *triggers) sampled(of readings.NodeSampled) {
	if !t.isOn {
		return
	}
	b, isUsed := t.buffers.Get().(*sampleBuffer)
	if !isUsed {
		b = &sampleBuffer{}
	}
	b.subscriptions, b.uses = t.pods.On(of.Node, b.subscriptions[:0]), b.uses[:0]
	podindex.Followers(t.pods, of.Node, len(of.Use),
		func(i int) (namespace, pod string) { return of.Use[i].Namespace, of.Use[i].Pod },
		func(i int, follower any) {
			if r, isRecord := follower.(*hpaRecord); isRecord {
				use := trigger.Use{CPUMilli: of.Use[i].CPUMilli, MemoryMilli: of.Use[i].MemoryMilli}
				b.uses = append(b.uses, hpaUse{r, use})
			}
		})
	b.due = t.records.sampled(of.At, of.Before, b)
	for i := range b.due {
		t.queue.AddEarly(b.due[i].key, b.due[i].at, true)
	}
	// Pointers in the buffer would keep removed records alive.
	clear(b.subscriptions)
	clear(b.uses)
	t.buffers.Put(b)
}

// ownWatch returns the callbacks for new values of the metrics that Plimsoll reads itself.
func (t *triggers) ownWatch() readings.OwnWatch {
	return readings.OwnWatch{PodSampled: t.podSampled, Sampled: t.answered, Pushed: t.reported}
}

func (t *triggers) podSampled(s readings.PodSampled) {
	if !t.isOn {
		return
	}
	if due, isDue := t.records.podSampled(&s); isDue {
		t.queue.AddEarly(s.Key, due, true)
	}
}

func (t *triggers) answered(key observe.Key) {
	if t.isOn {
		t.queue.AddEarly(key, t.records.answered(key, time.Now()), true)
	}
}

// reported schedules the object after an unrequested report of an external scaler.
func (t *triggers) reported(key observe.Key) {
	t.reports.Inc()
	if t.isOn {
		t.queue.AddEarly(key, t.records.reported(key, time.Now()), true)
	}
}

// changed schedules HPAs whose pods or targets have changed.
func (t *triggers) changed(keys []observe.Key) {
	now := time.Now()
	for _, key := range keys {
		begun, asked := t.records.changed(key)
		t.queue.AddEarly(key, trigger.AfterEvent(now, begun, asked), false)
	}
}

// podsChanged returns the callback for HPAs whose pods change; nil if such changes trigger nothing.
func (t *triggers) podsChanged() func([]observe.Key) {
	if !t.isOn {
		return nil
	}
	return t.changed
}

// watch schedules HPAs whose target gets a replica count from another writer.
func (t *triggers) watch(all *targets.Cache) (stop func(), err error) {
	if !t.isOn {
		return func() {}, nil
	}
	return all.Watch(func(id targets.ID, replicas int32) { t.changed(t.records.replicasChanged(id, replicas)) })
}

// cacheChanged schedules the decision that waits for the cache to contain the last status write.
func (t *triggers) cacheChanged(key observe.Key, r *hpaRecord) {
	switch why, isAwaited := r.status.Awaited(); {
	case !isAwaited:
	case why == trigger.Periodic:
		t.queue.AddFull(key, time.Now())
	default:
		t.queue.AddEarly(key, time.Now(), why == trigger.Samples)
	}
}

// followUp prioritizes the scrapes that the next decision needs, and schedules that decision.
func (t *triggers) followUp(p *pass, d *horizontal.Decision) {
	next := d.FollowUp(&p.record.state, &p.observation, nil)
	t.records.calm(p.record, next.Calm)
	t.learn(p, &next)
	if !p.result.HasSamples && !p.autoscaler.IsWorkload() {
		return
	}
	p.update.Next = next
	switch {
	case next.DecideAt.IsZero():
	case !p.result.HasSamples:
		// Only time changes the decision: no sample is awaited.
		t.queue.AddFull(p.autoscaler.Key(), next.DecideAt)
	case t.isOn:
		t.queue.AddEarly(p.autoscaler.Key(), next.DecideAt, true)
	}
	t.prefer(p, &next)
}

// learnPeriod is the longest time between two observations that a forecast learns from. It treats a longer gap as
// unknown load.
const learnPeriod = 30 * time.Second

// renewalSpread is the time over which the renewals of all objects' forecasts are spread.
const renewalSpread = 8 * time.Second

// learn schedules the renewal of an object's forecast, and decisions often enough to learn from. Most objects are
// decided more often anyway. An object with a long sync period, whose metrics are therefore seldom requested, gets more
// decisions only if its spec asks for a forecast that acts: one that is only shown changes no decision.
func (t *triggers) learn(p *pass, next *horizontal.FollowUp) {
	if !t.isOn || !p.policy.Forecast.Learns() {
		return
	}
	if !next.Forecast.IsZero() {
		t.queue.AddEarly(p.autoscaler.Key(), schedule.Following(p.autoscaler.UID, next.Forecast, renewalSpread), true)
	}
	if p.autoscaler.SyncPeriod(t.syncPeriod) > learnPeriod && p.autoscaler.AsksForForecast() && p.policy.Forecast.Acts() {
		t.queue.AddEarly(p.autoscaler.Key(), p.start.Add(learnPeriod), true)
	}
}

// prefer prioritizes the scrapes that the next decision needs.
func (t *triggers) prefer(p *pass, next *horizontal.FollowUp) {
	if len(next.Suspects) > 0 && p.record.ownSpecs.HasPods() {
		suspects := make([]*observe.Pod, len(next.Suspects))
		for i, pod := range next.Suspects {
			suspects[i] = p.pods[pod]
		}
		t.own.Urgent(suspects)
	}
	if !p.result.HasKubelets {
		return
	}
	var nodes []string
	for _, pod := range next.Suspects {
		if node := p.pods[pod].Node(); !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) > 0 {
		t.direct.Prefer(true, nodes...)
	}
	if next.NearThreshold {
		t.direct.Prefer(false, t.pods.NodesOf(p.autoscaler.Key(), nil)...)
	}
}

// repeat returns when the next full decision is due, after a decision that was not carried out. With triggers, a
// decision on the known values comes first.
func (t *triggers) repeat(p *pass, full time.Time) time.Time {
	now := time.Now()
	if !t.isOn {
		return now
	}
	if next := p.record.readings.Asked().Add(readings.FallbackPeriod); !p.result.IsDirect && next.After(now) {
		// Each decision requests metrics.k8s.io, and nothing else has happened.
		now = next
	}
	t.queue.AddEarly(p.autoscaler.Key(), now, p.mayLower())
	return full
}

// overtaken returns when the next full decision is due, after a change of the HPA or of its target's replica count
// during a decision: at once, but only once in a sync period, so that a writer that changes them all the time does not
// cause requests for all metrics each time. Further changes lead to decisions on the known values, as any other change
// of a replica count does.
func (t *triggers) overtaken(p *pass, full time.Time) time.Time {
	now := time.Now()
	if now.Sub(p.record.overtaken) >= t.syncPeriod {
		p.record.overtaken = now
		return now
	}
	if t.isOn {
		t.changed([]observe.Key{p.autoscaler.Key()})
	}
	return full
}
