// Package readings finds out what a decision's metrics read: from the kubelets' samples, from the
// sources of metrics that Plimsoll reads itself, from answers of the metrics APIs that are still
// good, and for the rest by asking. Requests outlive the decision that makes them, so that an API
// that is slow keeps no HPA from being decided on what else is known.
package readings

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/collect/query"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings/own"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Direct has what pods use without a request.
type Direct interface {
	// Run collects until ctx ends.
	Run(ctx context.Context, watch podusage.Watch)
	// Set collects these pods of the object from now on, and no others of it.
	Set(key observe.Key, pods []*observe.Pod)
	// Latest reads what is known of the pods now; an error says why that is not enough
	// to decide on.
	Latest(now time.Time, pods []*observe.Pod, v *podusage.View) error
	// ReportMissing tells which of the pods of the last Latest their agents do not know.
	ReportMissing(now time.Time, pods []*observe.Pod, v *podusage.View)
	// Prefer puts these nodes before others: for one scrape as soon as may be, or else
	// for some seconds where the budget is too short for all.
	Prefer(atOnce bool, nodes ...string)
}

var _ Direct = (*podusage.Subscription)(nil)

type (
	// Sources are those of the metrics that Plimsoll reads itself.
	Sources = own.Sources
	// Specs are what such metrics of an object need.
	Specs = own.Specs
	// OwnWatch is called for what is new of them.
	OwnWatch = own.Watch
	// NodeSampled is a scrape of a node.
	NodeSampled = podusage.Sampled
	// PodSampled is a scrape of a pod's own endpoint.
	PodSampled = podendpoint.Sampled
)

// MetricsAPIs answer for the metrics APIs.
type MetricsAPIs = query.Source

// Config is what a Reader needs.
type Config struct {
	// Source answers for the metrics APIs.
	Source MetricsAPIs
	// Direct has the kubelets' samples; it may be nil.
	Direct Direct
	// Own are the sources of metrics that Plimsoll reads itself.
	Own Sources
	// Queue has an HPA decided again when an answer comes late.
	Queue   *schedule.Queue
	Workers calls.Workers
	Series  *monitor.Series
	Log     logr.Logger

	SyncPeriod time.Duration
	// Triggers says that HPAs are decided between sync periods too.
	Triggers bool
}

// Reader reads the metrics of all HPAs.
type Reader struct {
	Config

	// Early limits requests to metrics.k8s.io that need not wait for the kubelets' samples.
	Early *rate.Limiter
	// requests are those to metrics APIs that are under way.
	requests sync.WaitGroup
}

// Record is what is known of an HPA's metrics from one decision to the next. The worker that has
// the HPA owns it, apart from asked, which has a lock of its own.
type Record struct {
	cached cachedAnswers
	// fallback is why resource metrics last did not come from the kubelets.
	fallback fallbackReason
	// unreadable is how many pods last counted as missing because their nodes cannot be read.
	unreadable int
	// isFallbackReported and isUnreadableReported say that an event and the log have it.
	isFallbackReported, isUnreadableReported bool
	// lastComplete is when all that a decision needs was last there, or when the HPA was
	// first decided.
	lastComplete time.Time
	asked        asked
}

// asked is when metrics.k8s.io was last asked.
type asked struct {
	// mu guards what follows.
	mu sync.Mutex
	at time.Time
}

// Asked is when metrics.k8s.io was last asked because of the HPA.
func (r *Record) Asked() time.Time {
	r.asked.mu.Lock()
	defer r.asked.mu.Unlock()
	return r.asked.at
}

func (r *Record) setAsked(at time.Time) {
	r.asked.mu.Lock()
	defer r.asked.mu.Unlock()
	r.asked.at = at
}

// Begin forgets what is known of another HPA of the same name.
func (r *Record) Begin(now time.Time) {
	r.cached.end()
	r.isFallbackReported, r.isUnreadableReported, r.lastComplete = false, false, now
}

// Complete notes that all that a decision needs is there.
func (r *Record) Complete(at time.Time) { r.lastComplete = at }

// fallbackReason is why resource metrics do not come from the kubelets.
type fallbackReason uint8

const (
	// fallbackUnknown: the HPA has not been decided yet.
	fallbackUnknown fallbackReason = iota
	noFallback
	// samplesAwaited: too little is known yet.
	samplesAwaited
	// nodeUnreadable: a node cannot be read.
	nodeUnreadable
	// notPermitted: kubelets may not be asked at all.
	notPermitted
)

// cachedAnswers is what was answered to an HPA's requests, and those that are under way. Both
// serve decisions that come before its next sync period is over.
type cachedAnswers struct {
	// of and selector are what was asked for.
	of       observehorizontal.Autoscaler
	selector string
	// answers are the newest ones, at their metrics' places; asked is zero where there
	// is none. unused are those that no decision has been made on.
	answers  []answer
	unused   []bool
	requests *requests
}

// end cancels what is under way.
func (k *cachedAnswers) end() {
	if k.requests != nil {
		k.requests.cancel()
	}
	*k = cachedAnswers{}
}

// requests are those of one HPA. They outlive the decision that makes them: an API
// that is slow keeps no HPA from being decided on what else is known.
type requests struct {
	key    observe.Key
	ctx    context.Context //nolint:containedctx // it ends when the HPA is another or goes
	cancel context.CancelFunc
	// arrived holds a token when an answer came that a decision waits for.
	arrived chan struct{}

	// mu guards what follows.
	mu sync.Mutex
	// pending are the metrics that are asked for, left how many; isAwaited says that a
	// decision waits.
	pending   []bool
	left      int
	isAwaited bool
	// came holds the answers that have come since they were last taken.
	came map[int]answer
}

// Scratch is the memory that a decision needs while it is made.
type Scratch struct {
	view     podusage.View
	own      own.Answers
	answers  observehorizontal.Answers
	readings []metric.Reading
	pods     []metric.Pod
}

// Pods are the pods as the core sees them.
func (s *Scratch) Pods(pods []*observe.Pod) []metric.Pod {
	s.pods = observe.AppendPods(s.pods[:0], pods)
	return s.pods
}

// Reset drops references to HPAs and pods, which would be kept alive.
func (s *Scratch) Reset() {
	s.answers.Reset(&horizontal.Policy{}, nil)
	s.own.Reset()
}

// Decision is a decision whose metrics are read.
type Decision struct {
	Autoscaler observehorizontal.Autoscaler
	Policy     *horizontal.Policy
	// Own belongs to the policy.
	Own Specs
	// Selector is the target's, Pods are those of the target.
	Selector string
	Pods     []*observe.Pod
	Record   *Record
	Scratch  *Scratch
	// Start is when the decision began to observe.
	Start time.Time
	// Trigger is why the HPA is decided. A periodic decision asks everything anew.
	Trigger trigger.Kind
	// AsUpstream reads what kube-controller-manager does: the metrics APIs alone, and all answers.
	AsUpstream bool
}

// Result is what the metrics read.
type Result struct {
	Readings []metric.Reading
	// IsDirect says that no request was made or needed for any metric.
	IsDirect bool
	// HasSamples says that there are samples that are renewed without a request: resource metrics, if
	// there are any, are from the kubelets, or else there is a metric that Plimsoll reads itself.
	HasSamples bool
	// HasKubelets says that resource metrics are from the kubelets' samples.
	HasKubelets bool
	// IsNewerAwaited says that the kubelets' first samples come within seconds; what was read
	// may be of the time before what the replica count was last decided on.
	IsNewerAwaited bool
	// Warnings are for events of the reason FailedReadKubelet.
	Warnings []string

	answers []answer
	// unreadable pods count as missing because their nodes cannot be read.
	unreadable int
}

// Took is how long the answer to a metric took.
func (r *Result) Took(i int) time.Duration {
	if i < len(r.answers) {
		return r.answers[i].took
	}
	return 0
}

// answer is what is known to one metric.
type answer struct {
	// usage stands for an answer where no request was needed.
	usage observehorizontal.PodUsage
	observehorizontal.Response
	// asked is when it was asked for; zero where no request was needed.
	asked time.Time
	// took is how long it took, with any waiting.
	took time.Duration
}

func (d *Decision) name() string { return d.Autoscaler.Namespace + "/" + d.Autoscaler.Name }

// readsKubelets reports whether kubelets are read for the decision.
func (r *Reader) readsKubelets(d *Decision) bool { return !d.AsUpstream && r.ReadsKubelets(d.Policy) }

// ReadsKubelets reports whether kubelets can be read, and know any of the metrics.
func (r *Reader) ReadsKubelets(p *horizontal.Policy) bool {
	return r.Direct != nil && hasResource(p)
}

func isResource(kind source.Type) bool {
	return kind == source.Resource || kind == source.ContainerResource
}

// hasResource reports whether there is a metric that kubelets know.
func hasResource(p *horizontal.Policy) bool {
	for i := range p.Metrics {
		if isResource(p.Metrics[i].Type) {
			return true
		}
	}
	return false
}
