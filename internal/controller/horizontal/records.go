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
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// hpaRecord is what the controller remembers of one HPA.
type hpaRecord struct {
	owned
	shared
	// isRestored says that nothing more will be found that was saved of the object before. The worker sets it, and
	// whoever exports the history reads it.
	isRestored atomic.Bool

	// Their types document which part the worker owns and which has a lock.
	scaling    scaling.Record
	readings   readings.Record
	status     status.Record
	loads      monitor.Loads
	comparison takeover.Comparison
	contest    takeover.Contest
}

// owned is the part that only the worker that has the HPA uses.
type owned struct {
	uid      types.UID
	state    horizontal.State
	followed takeover.Followed
	// overtaken is when the HPA was last decided in full at once because of a change during a
	// decision.
	overtaken time.Time
	// policy is what the object asks for, made of from's spec with these options; refusal is why a
	// WorkloadAutoscaler's spec is not acted on.
	policy  horizontal.Policy
	refusal horizontal.Refusal
	// ownSpecs are what the policy's metrics need that Plimsoll reads itself; isSubscribed says that they
	// are read.
	ownSpecs     readings.Specs
	isSubscribed bool
	from         observehorizontal.Autoscaler
	options      observehorizontal.Options
	// isReleased says that the pods and metrics of an object that is left to another controller
	// are not watched.
	isReleased bool
	// past is what was asked about the time before.
	past checkpoints.AskedPast
}

// policyOf is what the object asks for. A change of its status alone makes no new policy: cron expressions would be
// parsed and searched again with each status write.
func (o *owned) policyOf(
	autoscaler observehorizontal.Autoscaler, options observehorizontal.Options,
) (horizontal.Policy, horizontal.Refusal) {
	isMade := o.from.ObjectMeta != nil
	if !isMade || o.options != options || !observehorizontal.IsSameSpec(o.from, autoscaler) {
		o.policy, o.ownSpecs, o.refusal = observehorizontal.PolicyOf(autoscaler, options)
		o.options = options
		shareTimeZones(&o.policy)
	}
	o.from = autoscaler
	return o.policy, o.refusal
}

// shared is the part that informers and scrapes use too. The methods of hpaRecords do, under
// their lock: new samples of a node are noted for all HPAs with pods on it at a time.
type shared struct {
	// begun is when the last decision began, round the round of scrapes over the pods' nodes.
	begun time.Time
	round trigger.Round
	// own is nil until there is something new of metrics that Plimsoll reads itself.
	own *ownTriggers
}

// ownTriggers are what leads to decisions on metrics that Plimsoll reads itself.
type ownTriggers struct {
	// round is the round of scrapes over the pods.
	round trigger.Round
	// reported is when the last decision is or was due because of a server's report.
	reported time.Time
}

// ownTriggers are those of an object that has such metrics.
func (s *shared) ownTriggers() *ownTriggers {
	if s.own == nil {
		s.own = &ownTriggers{}
	}
	return s.own
}

// reset forgets the history, where what happened to the HPA is not known. What was learnt of its load stays.
func (r *hpaRecord) reset() {
	r.state = horizontal.State{Forecast: r.state.Forecast}
	r.followed, r.from = takeover.Followed{}, observehorizontal.Autoscaler{}
	r.scaling.Reset()
}

// hpaRecords are those of all HPAs.
type hpaRecords struct {
	// mu guards what follows, and the shared part of each record.
	mu      sync.Mutex
	records map[observe.Key]*hpaRecord
	// targets has what each HPA scales.
	targets *scaledTargets
	// roundLasts is how long a round of scrapes lasts at most.
	roundLasts time.Duration
}

func newHPARecords(scrapeInterval time.Duration) *hpaRecords {
	return &hpaRecords{
		records:    map[observe.Key]*hpaRecord{},
		targets:    newScaledTargets(),
		roundLasts: trigger.RoundOf(scrapeInterval),
	}
}

// of is an HPA's record, a new one if there is none.
func (s *hpaRecords) of(key observe.Key) *hpaRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.getLocked(key)
}

// find is an object's record, nil if there is none.
func (s *hpaRecords) find(key observe.Key) *hpaRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[key]
}

func (s *hpaRecords) getLocked(key observe.Key) *hpaRecord {
	r, isThere := s.records[key]
	if !isThere {
		r = &hpaRecord{}
		s.records[key] = r
	}
	return r
}

// begin is an HPA's record for a decision that begins.
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

// hpaUse is what a pod of an HPA uses by new samples.
type hpaUse struct {
	record *hpaRecord
	use    trigger.Use
}

// calm notes what a decision has left for the samples after it.
func (s *hpaRecords) calm(r *hpaRecord, c trigger.Calm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.round.Calm(c)
}

// sampled are the HPAs that are to be decided because of a node's new samples, and when.
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

// podSampled says whether the object is to be decided because of a pod's new samples, and when.
func (s *hpaRecords) podSampled(of *readings.PodSampled) (due time.Time, isDue bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, isThere := s.records[of.Key]
	if !isThere {
		return time.Time{}, false
	}
	return r.ownTriggers().round.Report(of.At, of.Before, of.Reporting, s.roundLasts)
}

// answered is when the object is decided because of a server's new answer.
func (s *hpaRecords) answered(key observe.Key, now time.Time) (due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, isThere := s.records[key]
	if !isThere {
		return now
	}
	return trigger.AfterAnswer(now, r.begun)
}

// reported is when the object is decided because of a server's report. Another decision just before
// does not delay it.
func (s *hpaRecords) reported(key observe.Key, now time.Time) (due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, isThere := s.records[key]
	if !isThere {
		return now
	}
	own := r.ownTriggers()
	if !own.reported.After(now) {
		own.reported = trigger.AfterAnswer(now, own.reported)
	}
	return own.reported
}

// dueHPA is an HPA that is to be decided then.
type dueHPA struct {
	key observe.Key
	at  time.Time
}

// changed notes that pods of the HPA's target have changed, and says when its last decision
// began and when metrics.k8s.io was last asked because of it.
func (s *hpaRecords) changed(key observe.Key) (begun, asked time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, isThere := s.records[key]
	if !isThere {
		return time.Time{}, time.Time{}
	}
	r.scaling.PodsChanged()
	return r.begun, r.readings.Asked()
}

// replicasChanged are the HPAs whose target got this replica count from another writer.
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
