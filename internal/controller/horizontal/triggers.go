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
	// isOn is false where decisions come by the sync period alone, as upstream's.
	isOn       bool
	syncPeriod time.Duration
	// direct may be nil.
	direct  readings.Direct
	own     readings.Sources
	queue   *schedule.Queue
	records *hpaRecords
	pods    *podindex.Index
	// reports counts those of external scalers.
	reports prometheus.Counter
	// buffers pools unused lists of the HPAs that have pods on a node.
	buffers sync.Pool
}

// sampleBuffer is the memory that new samples of a node need; it is used again.
type sampleBuffer struct {
	subscriptions []podindex.Subscription
	uses          []hpaUse
	due           []dueHPA
}

// sampled has the HPAs with pods on a node decided on its new samples.
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
	// What the buffer holds would keep removed records alive.
	clear(b.subscriptions)
	clear(b.uses)
	t.buffers.Put(b)
}

// watchOwn is called for what is new of the metrics that Plimsoll reads itself.
func (t *triggers) watchOwn() readings.OwnWatch {
	return readings.OwnWatch{PodSampled: t.podSampled, Sampled: t.answered, Pushed: t.reported}
}

// podSampled has the object decided on new samples of one of its pods.
func (t *triggers) podSampled(s readings.PodSampled) {
	if !t.isOn {
		return
	}
	if due, isDue := t.records.podSampled(&s); isDue {
		t.queue.AddEarly(s.Key, due, true)
	}
}

// answered has the object decided on a server's new answer.
func (t *triggers) answered(key observe.Key) {
	if t.isOn {
		t.queue.AddEarly(key, t.records.answered(key, time.Now()), true)
	}
}

// reported has the object decided because a server reports by itself that there is work.
func (t *triggers) reported(key observe.Key) {
	t.reports.Inc()
	if t.isOn {
		t.queue.AddEarly(key, t.records.reported(key, time.Now()), true)
	}
}

// changed has HPAs decided because of what their pods or their targets are now.
func (t *triggers) changed(keys []observe.Key) {
	now := time.Now()
	for _, key := range keys {
		begun, asked := t.records.changed(key)
		t.queue.AddEarly(key, trigger.AfterEvent(now, begun, asked), false)
	}
}

// podsChanged is called with the HPAs whose pods change; nil where that is no trigger.
func (t *triggers) podsChanged() func([]observe.Key) {
	if !t.isOn {
		return nil
	}
	return t.changed
}

// watch has HPAs decided whose target gets a replica count from another writer.
func (t *triggers) watch(all *targets.Cache) (stop func(), err error) {
	if !t.isOn {
		return func() {}, nil
	}
	return all.Watch(func(id targets.ID, replicas int32) { t.changed(t.records.replicasChanged(id, replicas)) })
}

// cacheChanged lets a decision be made that waits for the cache to show the last status write.
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

// learnPeriod is how often the load is observed at least that a forecast learns from. What lies further apart is not
// known.
const learnPeriod = 30 * time.Second

// renewalSpread is the time within which the forecasts of all objects are renewed, instead of all at once.
const renewalSpread = 8 * time.Second

// learn has an object decided when its forecast is renewed, and often enough to learn from. Most are decided more often
// anyway. One that asks for rare decisions, and whose metrics are therefore seldom asked for, must ask for a forecast
// that acts: one that is only shown changes no decision.
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

// repeat is when the HPA is decided in full again, after a decision that was not carried out. One
// on what is already known comes first, where decisions come between sync periods.
func (t *triggers) repeat(p *pass, full time.Time) time.Time {
	now := time.Now()
	if !t.isOn {
		return now
	}
	if next := p.record.readings.Asked().Add(readings.FallbackPeriod); !p.result.IsDirect && next.After(now) {
		// Each decision asks metrics.k8s.io, and nothing else has happened.
		now = next
	}
	t.queue.AddEarly(p.autoscaler.Key(), now, p.mayLower())
	return full
}

// overtaken is when the HPA is decided in full again, after a decision that a change of the HPA
// or of its target's replica count has overtaken: at once, but only once in a sync period. A
// writer that changes them all the time must not have all metrics asked for each time. Beyond
// that the HPA is decided on what is already known, as after any other change of a replica count.
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
