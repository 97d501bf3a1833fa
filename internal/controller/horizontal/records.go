package horizontal

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// hpaRecord has the state of one HPA between decisions.
type hpaRecord struct {
	owned
	shared
	// isRestored is set once the object's checkpoint has been merged or does not exist. The worker sets it, and requests
	// for the history read it.
	isRestored atomic.Bool

	// Their types document which part the worker owns and which has a lock.
	scaling    scaling.Record
	readings   readings.Record
	status     status.Record
	loads      monitor.Loads
	comparison takeover.Comparison
	contest    takeover.Contest
}

// owned is the part that only the HPA's worker uses.
type owned struct {
	uid      types.UID
	state    horizontal.State
	followed takeover.Followed
	// overtaken is when a change during a decision last caused a full decision at once.
	overtaken time.Time
	// policy is the translation of from's spec with options; refusal is why the controller does not act on a
	// WorkloadAutoscaler's spec.
	policy  horizontal.Policy
	refusal horizontal.Refusal
	// ownSpecs has the subscriptions for the policy's metrics that Plimsoll reads itself; isSubscribed is set while they
	// are active.
	ownSpecs     readings.Specs
	isSubscribed bool
	// others has the selectors of pods that are not the target's, by the metrics of ownSpecs; nil for other metrics. Those
	// of Services change with the Services.
	others  []*podindex.Selector
	from    observehorizontal.Autoscaler
	options observehorizontal.Options
	// isReleased is set once the pods and metrics of an object that another controller acts on are no longer watched.
	isReleased bool
	// past is the state of the backfill.
	past checkpoints.AskedPast
}

// policyOf returns the object's policy. A change of its status alone makes no new policy: each status write would parse
// and search cron expressions again.
func (o *owned) policyOf(
	autoscaler observehorizontal.Autoscaler, options observehorizontal.Options,
) (horizontal.Policy, horizontal.Refusal) {
	isMade := o.from.ObjectMeta != nil
	if !isMade || o.options != options || !observehorizontal.IsSameSpec(o.from, autoscaler) {
		o.policy, o.ownSpecs, o.refusal = observehorizontal.PolicyOf(autoscaler, options)
		o.options, o.others = options, nil
		shareTimeZones(&o.policy)
	}
	o.from = autoscaler
	return o.policy, o.refusal
}

// shared is the part that informers and scrapes use too, by methods of hpaRecords and under its lock: a node's new
// samples update all HPAs with pods on it under one lock.
type shared struct {
	// begun is when the last decision began; round is the round of scrapes over the pods' nodes.
	begun time.Time
	round trigger.Round
	// own is nil until a source of Plimsoll's own reports something new.
	own *ownTriggers
}

// ownTriggers trigger decisions on metrics that Plimsoll reads itself.
type ownTriggers struct {
	// round is the round of scrapes over the pods.
	round trigger.Round
	// reported is when the last decision because of a server's report is or was due.
	reported time.Time
}

func (s *shared) ownTriggers() *ownTriggers {
	if s.own == nil {
		s.own = &ownTriggers{}
	}
	return s.own
}

// reset drops the history after something unknown has happened to the HPA, such as a panic or another controller's
// decisions. It keeps the forecast.
func (r *hpaRecord) reset() {
	r.state = horizontal.State{Forecast: r.state.Forecast}
	r.followed, r.from = takeover.Followed{}, observehorizontal.Autoscaler{}
	r.scaling.Reset()
}

// hpaRecords has the records of all HPAs.
type hpaRecords struct {
	// mu guards the following, and the shared part of each record.
	mu      sync.Mutex
	records map[observe.Key]*hpaRecord
	// targets maps autoscalers to the targets that they scale.
	targets *scaledTargets
	// roundLasts is the longest duration of a round of scrapes.
	roundLasts time.Duration
}

func newHPARecords(scrapeInterval time.Duration) *hpaRecords {
	return &hpaRecords{
		records:    map[observe.Key]*hpaRecord{},
		targets:    newScaledTargets(),
		roundLasts: trigger.RoundOf(scrapeInterval),
	}
}

// of returns an HPA's record, a new one if there is none.
func (s *hpaRecords) of(key observe.Key) *hpaRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.getLocked(key)
}

func (s *hpaRecords) find(key observe.Key) *hpaRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[key]
}

func (s *hpaRecords) getLocked(key observe.Key) *hpaRecord {
	r, ok := s.records[key]
	if !ok {
		r = &hpaRecord{}
		s.records[key] = r
	}
	return r
}

// begin returns an HPA's record and records the start of a decision.
func (s *hpaRecords) begin(key observe.Key, now time.Time) *hpaRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.getLocked(key)
	r.begun = now
	r.round.Decided(now, s.roundLasts)
	if r.own != nil {
		r.own.round.Decided(now, s.roundLasts)
	}
	return r
}

func (s *hpaRecords) forget(key observe.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, key)
}

func (s *hpaRecords) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records)
}

// hpaUse is the use of an HPA's pod in new samples.
type hpaUse struct {
	record *hpaRecord
	use    trigger.Use
}

// calm sets the use below which new samples of a round trigger no early decision.
func (s *hpaRecords) calm(r *hpaRecord, c trigger.Calm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.round.Calm(c)
}

// sampled returns the HPAs that a node's new samples make due, and when.
func (s *hpaRecords) sampled(at, before time.Time, of *sampleBuffer) []dueHPA {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range of.uses {
		of.uses[i].record.round.Compare(of.uses[i].use)
	}
	subscriptions, due := of.subscriptions, of.due[:0]
	for i := range subscriptions {
		// Looking up a record for each HPA on each node was a tenth of all CPU.
		if r, isRecord := subscriptions[i].Follower.(*hpaRecord); isRecord {
			if then, isDue := r.round.Report(at, before, subscriptions[i].Nodes, s.roundLasts); isDue {
				due = append(due, dueHPA{subscriptions[i].Object, then})
			}
		}
	}
	return due
}

// podSampled returns when a pod's new samples make the object due; isDue is false if they do not.
func (s *hpaRecords) podSampled(of *readings.PodSampled) (due time.Time, isDue bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[of.Key]
	if !ok {
		return time.Time{}, false
	}
	return r.ownTriggers().round.Report(of.At, of.Before, of.Reporting, s.roundLasts)
}

// answered returns when a server's new response makes the object due.
func (s *hpaRecords) answered(key observe.Key, now time.Time) (due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[key]
	if !ok {
		return now
	}
	return trigger.AfterAnswer(now, r.begun)
}

// reported returns when a server's report makes the object due. Another decision just before does not delay it.
func (s *hpaRecords) reported(key observe.Key, now time.Time) (due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[key]
	if !ok {
		return now
	}
	own := r.ownTriggers()
	if !own.reported.After(now) {
		own.reported = trigger.AfterAnswer(now, own.reported)
	}
	return own.reported
}

type dueHPA struct {
	key observe.Key
	at  time.Time
}

// changed records that pods of the HPA's target have changed. It returns when the last decision began and when
// metrics.k8s.io was last requested for it.
func (s *hpaRecords) changed(key observe.Key) (begun, asked time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[key]
	if !ok {
		return time.Time{}, time.Time{}
	}
	r.scaling.PodsChanged()
	return r.begun, r.readings.Asked()
}

// replicasChanged returns the HPAs whose target got this replica count from another writer.
func (s *hpaRecords) replicasChanged(id targets.ID, replicas int32) []observe.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []observe.Key
	for _, key := range s.targets.of(id) {
		if s.getLocked(key).scaling.ReplicasChanged(replicas) {
			keys = append(keys, key)
		}
	}
	return keys
}
