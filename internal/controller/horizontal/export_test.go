package horizontal

import (
	"context"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// The tests of the whole controller use horizontaltest, which imports this package. Therefore they are in another
// package, and use these exports of unexported identifiers.
const (
	StallTimeout   = stallTimeout
	CallsPerWorker = callsPerWorker
)

// Policies computes policies like the record of one object.
type Policies struct{ owned owned }

func (p *Policies) Of(of observehorizontal.Autoscaler, options observehorizontal.Options) horizontal.Policy {
	policy, _ := p.owned.policyOf(of, options)
	return policy
}

// NewIdle returns a controller that decides nothing.
func NewIdle() *Controller { return &Controller{queue: schedule.New()} }

func (c *Controller) Queue() *schedule.Queue { return c.queue }

func (c *Controller) SetFilling(is bool) { c.filling.Store(is) }

func (c *Controller) Handler() cache.ResourceEventHandler { return c.handler }

func (c *Controller) Reader() *readings.Reader { return c.reconciler.observer.reader }

func (c *Controller) Scaler() *scaling.Scaler { return c.reconciler.observer.scaler }

func (c *Controller) Status() *status.Writer { return c.reconciler.status }

func (c *Controller) WorkloadAutoscalers() *workloads.Cache { return c.config.WorkloadAutoscalers }

// Inspectors counts them, and the objects that have some.
func (c *Controller) Inspectors() (inspectors int32, objects int) {
	return c.inspectors.count.Load(), len(c.inspectors.byHPA)
}

// Get reads an object from the cache.
func (c *Controller) Get(key observe.Key) (observehorizontal.Autoscaler, error) {
	return c.reconciler.observer.get(key)
}

// HPAs returns those of the cache.
func (c *Controller) HPAs() []any { return c.hpaInformer.GetStore().List() }

// IsRead reports whether an object has so many pods, whose kubelets have been read.
func (c *Controller) IsRead(key observe.Key, pods int) bool {
	found := c.pods.Pods(key)
	return c.config.Direct.Latest(time.Now(), found, &podusage.View{}) == nil && len(found) == pods
}

// Turn decides an object.
func (c *Controller) Turn(ctx context.Context, of observehorizontal.Autoscaler, item schedule.Item) {
	c.workers.Acquire(ctx)
	c.reconciler.reconcile(ctx, of, item)
	c.workers.Release()
}

// Work decides an object that is due.
func (c *Controller) Work(ctx context.Context, item schedule.Item) {
	c.workers.Acquire(ctx)
	c.reconciler.work(ctx, item)
}

// Records counts the objects with a record.
func (c *Controller) Records() int { return c.records.count() }

// Written records a status write, after which the object has this version.
func (c *Controller) Written(hpa *autoscalingv2.HorizontalPodAutoscaler, version string) {
	c.reconciler.begin(observehorizontal.HPA(hpa)).status.Written(version)
}

// IsBehind reports whether the cache lacks a status that was written.
func (c *Controller) IsBehind(object *autoscalingv2.HorizontalPodAutoscaler) bool {
	hpa := observehorizontal.HPA(object)
	return c.reconciler.status.IsBehind(&c.reconciler.begin(hpa).status, hpa, time.Now(), trigger.Event)
}

// Learnt returns the forecast of an HPA.
func (c *Controller) Learnt(name string) *forecast.State {
	if record := c.records.find(observe.HPA("shop", name)); record != nil {
		return record.state.Forecast
	}
	return nil
}

// RecordedSince returns when the oldest point of the load of an HPA begins.
func (c *Controller) RecordedSince(t *testing.T, name string) time.Time {
	t.Helper()
	encoded, _, err := c.EncodedHistory(observe.HPA("shop", name))
	if err != nil {
		t.Fatal(err)
	}
	var history loadhistory.History
	if err := history.UnmarshalBinary(encoded); err != nil {
		t.Fatal(err)
	}
	since, _ := history.First()
	return since
}
