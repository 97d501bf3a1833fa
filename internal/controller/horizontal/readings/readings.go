// Package readings reads the metrics of a decision: from the kubelets' samples, from Plimsoll's own sources, from
// responses of the metrics APIs that are recent enough, and for the rest by requests. Requests outlive the decision
// that makes them, so that a slow API does not prevent decisions on the other values.
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
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// Direct has the samples of the nodes. Reading them takes no request.
type Direct interface {
	// Run collects until ctx ends.
	Run(ctx context.Context, watch podusage.Watch)
	// Set replaces the pods that are collected for the object.
	Set(key observe.Key, pods []*observe.Pod)
	// Latest reads the latest samples of the pods; the error says why they are not enough to decide on.
	Latest(now time.Time, pods []*observe.Pod, v *podusage.View) error
	// ReportMissing reports the pods of the last Latest that their agents have no samples of.
	ReportMissing(now time.Time, pods []*observe.Pod, v *podusage.View)
	// Prefer prioritizes the scrapes of these nodes: for one scrape as soon as possible, or else for some seconds if the
	// budget is too short for all.
	Prefer(atOnce bool, nodes ...string)
}

var _ Direct = (*podusage.Subscription)(nil)

type (
	// Sources has the sources of the metrics that Plimsoll reads itself.
	Sources = own.Sources
	// Specs has the subscriptions to such metrics of an object.
	Specs = own.Specs
	// OtherPods are pods of a metric that are not the target's.
	OtherPods = own.OtherPods
	// OwnWatch has the callbacks for new values of them.
	OwnWatch = own.Watch
	// NodeSampled is a scrape of a node.
	NodeSampled = podusage.Sampled
	// PodSampled is a scrape of a pod's own endpoint.
	PodSampled = podendpoint.Sampled
)

// MetricsAPIs reads the metrics APIs.
type MetricsAPIs = query.Source

// Config configures a Reader.
type Config struct {
	// Source reads the metrics APIs.
	Source MetricsAPIs
	Direct Direct
	// Own has the sources of the metrics that Plimsoll reads itself.
	Own Sources
	// Queue schedules an HPA when a response arrives after its decision.
	Queue   *schedule.Queue
	Workers calls.Workers
	Series  *monitor.Series
	Log     logr.Logger

	SyncPeriod time.Duration
	// Triggers is set if HPAs are decided between sync periods too.
	Triggers bool
}

// Reader reads the metrics of all HPAs.
type Reader struct {
	Config

	// Early limits requests to metrics.k8s.io that need not wait for the kubelets' samples.
	Early *rate.Limiter
	// requests counts the requests to metrics APIs in progress.
	requests sync.WaitGroup
}

// Record has the state of an HPA's metrics between decisions. The HPA's worker owns it, except asked, which has its own
// lock.
type Record struct {
	cached cachedAnswers
	// fallback is why resource metrics last did not come from the kubelets.
	fallback fallbackReason
	// unreadable is the number of pods that last counted as missing because their nodes cannot be read.
	unreadable int
	// isFallbackReported and isUnreadableReported are set while the log and an event report the problem.
	isFallbackReported, isUnreadableReported bool
	// lastComplete is when a decision last had all its inputs, or when the HPA was first decided.
	lastComplete time.Time
	asked        asked
}

// asked is when metrics.k8s.io was last requested.
type asked struct {
	// mu guards the following.
	mu sync.Mutex
	at time.Time
}

// Asked returns when metrics.k8s.io was last requested for the HPA.
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

// Begin drops the state of a deleted HPA of the same name.
func (r *Record) Begin(now time.Time) {
	r.cached.end()
	r.isFallbackReported, r.isUnreadableReported, r.lastComplete = false, false, now
}

// Complete records that a decision has all its inputs.
func (r *Record) Complete(at time.Time) { r.lastComplete = at }

// fallbackReason is why resource metrics do not come from the kubelets.
type fallbackReason uint8

const (
	// fallbackUnknown: the HPA has not been decided yet.
	fallbackUnknown fallbackReason = iota
	noFallback
	// samplesAwaited: the kubelets have been scraped too few times.
	samplesAwaited
	// nodeUnreadable: a node cannot be read.
	nodeUnreadable
	// notPermitted: Plimsoll may not read kubelets at all.
	notPermitted
)

// cachedAnswers has the responses to an HPA's requests, and the requests in progress. Decisions before the HPA's next
// sync period use both.
type cachedAnswers struct {
	// of and selector are the object and the selector of the requests.
	of       observehorizontal.Autoscaler
	selector string
	// answers has the newest responses by the indices of their metrics; asked is zero for those without. unused marks the
	// responses that no decision has used.
	answers  []answer
	unused   []bool
	requests *requests
}

// end cancels the requests in progress.
func (k *cachedAnswers) end() {
	if k.requests != nil {
		k.requests.cancel()
	}
	*k = cachedAnswers{}
}

// requests are those of one HPA. They outlive the decision that makes them: a slow API does not prevent decisions on
// the other values.
type requests struct {
	key    observe.Key
	ctx    context.Context //nolint:containedctx // it ends when the HPA changes or is deleted
	cancel context.CancelFunc
	// arrived has an element after a response arrived that a decision waits for.
	arrived chan struct{}

	// mu guards the following.
	mu sync.Mutex
	// pending marks the metrics with a request in progress, left counts them; isAwaited is set while a decision waits.
	pending   []bool
	left      int
	isAwaited bool
	// came has the responses that have arrived since a decision last took them.
	came map[int]answer
}

// Scratch has the buffers of a decision. Decisions reuse them.
type Scratch struct {
	view     podusage.View
	own      own.Answers
	answers  observehorizontal.Answers
	readings []metric.Reading
	pods     []metric.Pod
}

// Pods converts the pods to the core's form.
func (s *Scratch) Pods(pods []*observe.Pod) []metric.Pod {
	s.pods = observe.AppendPods(s.pods[:0], pods)
	return s.pods
}

// Reset drops references, which would keep HPAs and pods in memory.
func (s *Scratch) Reset() {
	s.answers.Reset(&horizontal.Policy{}, nil)
	s.own.Reset()
}

// Decision is a decision whose metrics are to be read.
type Decision struct {
	Autoscaler observehorizontal.Autoscaler
	Policy     *horizontal.Policy
	// Own has the policy's subscriptions.
	Own Specs
	// Selector and Pods are those of the target.
	Selector string
	Pods     []*observe.Pod
	// Others has the pods of metrics that are not of the target's pods.
	Others  []OtherPods
	Record  *Record
	Scratch *Scratch
	// Start is when the decision began to observe.
	Start time.Time
	// Trigger is the cause of the decision. A periodic one requests all metrics again.
	Trigger trigger.Kind
	// AsUpstream restricts the sources to those of kube-controller-manager: the metrics APIs, and waits for all responses.
	AsUpstream bool
}

// Result has the readings of a decision, and where they come from.
type Result struct {
	Readings []metric.Reading
	// IsDirect is set if no metric needed a request.
	IsDirect bool
	// HasSamples is set if the decision uses samples that are collected without a request: resource metrics come from the
	// kubelets, or, without resource metrics, Plimsoll reads a metric itself.
	HasSamples bool
	// HasKubelets is set if resource metrics come from the kubelets' samples.
	HasKubelets bool
	// IsNewerAwaited is set if the kubelets' first samples are expected within seconds; the readings may be older than the
	// last change of the replica count.
	IsNewerAwaited bool
	// Warnings are for events of the reason FailedReadKubelet.
	Warnings []string

	answers []answer
	// unreadable pods count as missing because their nodes cannot be read.
	unreadable int
	// nodesUnread is why metrics.k8s.io replaces the samples of nodes; empty if it does not. unread are these nodes.
	nodesUnread string
	unread      *snapshothorizontal.UnreadNodes
}

// Took returns the latency of the response for a metric.
func (r *Result) Took(i int) time.Duration {
	if i < len(r.answers) {
		return r.answers[i].took
	}
	return 0
}

// answer is the value of one metric.
type answer struct {
	// usage replaces the response if no request was needed.
	usage observehorizontal.PodUsage
	observehorizontal.Response
	// asked is the time of the request; zero if none was needed.
	asked time.Time
	// took is the latency, including waiting.
	took time.Duration
}

func (d *Decision) name() string { return d.Autoscaler.Namespace + "/" + d.Autoscaler.Name }

func (r *Reader) readsKubelets(d *Decision) bool { return !d.AsUpstream && r.ReadsKubelets(d.Policy) }

// ReadsKubelets reports whether Plimsoll reads kubelets and the policy has resource metrics.
func (r *Reader) ReadsKubelets(p *horizontal.Policy) bool {
	return r.Direct != nil && hasResource(p)
}

func isResource(kind source.Type) bool {
	return kind == source.Resource || kind == source.ContainerResource
}

func hasResource(p *horizontal.Policy) bool {
	for i := range p.Metrics {
		if isResource(p.Metrics[i].Type) {
			return true
		}
	}
	return false
}
