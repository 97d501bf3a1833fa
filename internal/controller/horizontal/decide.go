package horizontal

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/report"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// maxOvertaken is how often in a row a decision is given up because somebody else scaled
// meanwhile. After that it counts as a failed write, and the next one waits.
const maxOvertaken = 3

// errSuperseded says that the object changed while it was observed.
var errSuperseded = errors.New("the object changed meanwhile")

// pass is one decision on one object on its way.
type pass struct {
	hpa    *autoscalingv2.HorizontalPodAutoscaler
	track  *track
	policy horizontal.Policy
	// began is when the worker began with the object; start when it began to look at what
	// is known, which is later where the target's scale had to be asked for; decided when
	// the decision was made.
	began, start, decided time.Time
	// asks says that everything is asked anew.
	asks bool

	scratch     *scratch
	observation horizontal.Observation
	target      scale.Target
	targetErr   error
	answers     []answer
	// isDirect says that nobody was or had to be asked for any metric.
	isDirect bool
	// pods are those of the observation.
	pods []*observe.Pod
	// seen are the pods whose resource metrics are the kubelets'; nil if they are not.
	seen []*observe.Pod
	// unreadable pods count as missing because their nodes cannot be read.
	unreadable int
	// actual is what the other controller did; in shadow mode.
	actual takeover.Actual
}

// took is how long the answer to a metric took.
func (p *pass) took(metric int) time.Duration {
	if metric < len(p.answers) {
		return p.answers[metric].took
	}
	return 0
}

func (t *track) reset() { t.state, t.moved = horizontal.State{}, 0 }

// turnTime is for how long a worker goes on with what is due next, which then waits for
// no new goroutine: that one's stack would have to grow first, and where the processors
// are busy it would wait behind all scrapes that are under way. Whoever waits for a
// worker's token gets it before long.
const turnTime = 10 * time.Millisecond

// work decides objects that are due, this one first. It came with a worker's token
// and gives it back.
func (c *Controller) work(ctx context.Context, t schedule.Item) {
	defer c.workers.Release()
	for end := time.Now().Add(turnTime); ; {
		c.workOn(ctx, t)
		now := time.Now()
		if ctx.Err() != nil || now.After(end) {
			return
		}
		due := false
		if t, _, due = c.queue.Take(now); !due {
			return
		}
	}
}

// workOn decides one object.
func (c *Controller) workOn(ctx context.Context, t schedule.Item) {
	c.series.Lateness.Observe(time.Since(t.Due).Seconds())
	full := time.Now().Add(c.config.SyncPeriod)
	defer func() { c.queue.Done(t.Key, full) }()
	hpa, err := c.objects.HorizontalPodAutoscalers(t.Key.Namespace).Get(t.Key.Name)
	if apierrors.IsNotFound(err) {
		c.drop(t.Key)
		return
	}
	if err != nil {
		c.log.Error(err, "reading the cache", "object", t.Key.String())
		return
	}
	full = c.reconcile(ctx, hpa, t)
}

// reconcile decides on the object, unless it is not the time, and says when it is to be
// decided in full again.
func (c *Controller) reconcile(ctx context.Context, hpa *autoscalingv2.HorizontalPodAutoscaler, t schedule.Item) (due time.Time) {
	now := time.Now()
	p := &pass{hpa: hpa, track: c.take(hpa), began: now, start: now, asks: t.IsFull}
	p.observation.Trigger = t.Trigger()
	due = t.Full
	if t.IsFull {
		due = schedule.Following(hpa.UID, p.start, c.config.SyncPeriod)
	}
	if c.stale(p, hpa) {
		c.series.StaleSkips.WithLabelValues(autoscalingv2.GroupName, "horizontalpodautoscalers").Inc()
		if c.checkVersion(ctx, p) {
			return time.Now()
		}
		if c.unchangedInCache(hpa) {
			return due
		}
		// It came in the meantime.
		c.seen(p.track, nameOf(hpa))
		return due
	}
	if until := c.contested(p); !until.IsZero() {
		return until
	}
	defer c.survive(p)
	err := c.decide(ctx, p)
	switch {
	case err == nil && p.isDirect:
		// The sync period is the longest silence, and this was none.
		due = schedule.Following(hpa.UID, p.start, c.config.SyncPeriod)
	case err == nil:
	case errors.Is(err, errOutdated), errors.Is(err, calls.ErrNoSlot), errors.Is(err, errLimited):
		c.series.Outdated.Inc()
		c.log.V(1).Info("decided again", "object", nameOf(hpa).String(), "why", err.Error())
		due = c.again(p, due)
	case errors.Is(err, errSuperseded), errors.Is(err, scale.ErrMoved):
		c.series.Overtaken.Inc()
		c.log.V(1).Info("decided again", "object", nameOf(hpa).String(), "why", err.Error())
		due = c.overtaken(p, due)
	default:
		c.log.V(1).Info("not decided", "object", nameOf(hpa).String(), "why", err.Error())
	}
	return due
}

// decide is one pass: observe, decide, act.
func (c *Controller) decide(ctx context.Context, p *pass) error {
	c.acquireScratch(p)
	// Not after a panic: the buffers may hold anything then.
	err := c.decideAt(ctx, p)
	c.releaseScratch(p)
	return err
}

func (c *Controller) decideAt(ctx context.Context, p *pass) error {
	p.policy = c.policyOf(p)
	if err := c.observe(ctx, p); err != nil {
		return err
	}
	p.track.lastComplete = p.start
	if c.config.Shadow {
		c.compare(p)
		return nil
	}
	step := c.prepare(p)
	p.decided = time.Now()
	decision, state := horizontal.Decide(p.decided, &p.policy, p.track.state, &p.observation)
	// The state that went in is used up, whatever happens next.
	p.track.state = state
	if decision.Branch == horizontal.BranchAwaiting {
		c.log.V(1).Info("left to newer samples", "object", nameOf(p.hpa).String(), "trigger", decision.Trigger.String(),
			"current", decision.Current, "wish", decision.Proposed.Replicas, "pending", decision.Pending, "outdated", decision.Outdated)
		return nil
	}
	c.inspect(p, step, &decision)
	c.followUp(p, &decision)
	return c.act(ctx, p, &decision)
}

// mayLower reports whether a decision on what is known may lower the count.
func (p *pass) mayLower() bool {
	return p.observation.Trigger != trigger.Event && !p.observation.NewerAwaited
}

// observe looks at the target, its pods and the metrics.
func (c *Controller) observe(ctx context.Context, p *pass) error {
	p.observation.ScaledToZero = observehorizontal.ScaledToZero(p.hpa)
	if c.config.Conflict != nil {
		p.observation.Conflict = report.Conflict{Message: c.config.Conflict(p.hpa), Shown: observehorizontal.InConflict(p.hpa)}
	}
	if err := c.observeScale(ctx, p); err != nil {
		return err
	}
	if p.observation.Target.Error = textOf(p.targetErr); p.observation.Target.Error != "" {
		// Without a target it has no pods; whatever takes them over may be scaled. Upstream
		// keeps what was once claimed.
		if apierrors.IsNotFound(p.targetErr) && p.policy.Divergences.Has(divergence.OutOfRange) {
			c.pods.Delete(nameOf(p.hpa))
		}
		return nil
	}
	return c.observeMetrics(ctx, p)
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// observeMetrics looks at the pods and the metrics where the decision needs
// them.
func (c *Controller) observeMetrics(ctx context.Context, p *pass) error {
	c.observeTarget(p)
	if c.config.Shadow {
		p.actual = p.track.comparison.Follow(p.hpa, p.targetErr == nil, &p.observation)
	}
	fine := p.observation.Target.Selector.Problem == horizontal.SelectorFine
	if !fine || !horizontal.NeedsReadings(&p.policy, &p.observation) {
		p.observation.Readings = make([]metric.Reading, len(p.policy.Metrics))
		return nil
	}
	p.scratch.pods = c.pods.AppendPods(p.scratch.pods[:0], nameOf(p.hpa))
	pods := p.actual.Pods(p.hpa, p.scratch.pods)
	p.scratch.observed = observe.AppendPods(p.scratch.observed[:0], pods)
	p.observation.Pods = p.scratch.observed
	p.pods = pods
	if err := c.read(ctx, p, pods); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.unchanged(p.hpa)
}

func (c *Controller) observeTarget(p *pass) {
	target, selector := targetOf(p)
	p.observation.Target = target
	if !horizontal.NeedsReadings(&p.policy, &p.observation) {
		// Whoever else selects the pods of an object that is switched off, or whose
		// selector cannot be used, may scale them. Upstream keeps what was once claimed.
		if p.policy.Divergences.Has(divergence.OutOfRange) {
			c.pods.Delete(nameOf(p.hpa))
		}
		return
	}
	var follower any
	if c.readsKubelets(p) {
		follower = p.track
	}
	if both := c.pods.Claim(nameOf(p.hpa), selector, follower); both != "" {
		p.observation.Target.Selector = horizontal.Selector{
			Problem: horizontal.SelectorAmbiguous,
			Message: fmt.Sprintf("pods by selector %s are controlled by more than one HPA (e.g. %s)", p.target.Scale.Status.Selector, both),
		}
	}
}

// unchanged reports whether the object is still the one that was observed: the
// metrics APIs may have taken seconds to answer.
func (c *Controller) unchanged(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
	now, err := c.objects.HorizontalPodAutoscalers(hpa.Namespace).Get(hpa.Name)
	if err != nil || now.UID != hpa.UID || specChanged(hpa, now) {
		return errSuperseded
	}
	return nil
}

func (c *Controller) unchangedInCache(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	now, err := c.objects.HorizontalPodAutoscalers(hpa.Namespace).Get(hpa.Name)
	return err == nil && now == hpa
}

// contested is until when the HPA is left to another controller; zero if it is not.
func (c *Controller) contested(p *pass) time.Time {
	until, isOver := c.contests.Until(&p.track.contest, p.hpa)
	if isOver {
		p.track.reset()
	}
	return until
}

// survive keeps a panic over one object from ending the others.
func (c *Controller) survive(p *pass) {
	r := recover()
	if r == nil {
		return
	}
	p.track.reset()
	c.series.Panics.Inc()
	c.log.Error(fmt.Errorf("panic: %v", r), "deciding failed", "object", nameOf(p.hpa).String(), "stack", string(debug.Stack()))
	if !c.config.Shadow {
		c.config.Events.Event(p.hpa, corev1.EventTypeWarning, "InternalError",
			"plimsoll failed on this object and left it as it is; its log says where")
	}
}
