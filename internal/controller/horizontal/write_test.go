package horizontal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	scaleclient "k8s.io/client-go/scale"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// brownout is an API server that takes scale writes and answers none of them while it is
// away; those that are under way when it is back fail.
type brownout struct {
	w *world
	// back is closed when it is back.
	back chan struct{}
	// load is that of each object, in milli; 100 is for one replica.
	load atomic.Int64
}

// Scales implements scale.ScalesGetter.
func (b *brownout) Scales(namespace string) scaleclient.ScaleInterface {
	return &brownoutScale{ScaleInterface: b.w.Scales(namespace), b: b}
}

type brownoutScale struct {
	scaleclient.ScaleInterface
	b *brownout
}

// Update implements scale.ScaleInterface.
func (s *brownoutScale) Update(
	ctx context.Context, r schema.GroupResource, scale *autoscalingv1.Scale, o metav1.UpdateOptions,
) (*autoscalingv1.Scale, error) {
	if s.b.back == nil {
		return s.ScaleInterface.Update(ctx, r, scale, o)
	}
	select {
	case <-s.b.back:
		return s.ScaleInterface.Update(ctx, r, scale, o)
	default:
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.b.back:
		return nil, errors.New("the server was restarted")
	}
}

// scaledDownAtOnce are objects of four replicas that are scaled down without a window, so
// many that their writes wait for each other while the API server is away.
func (w *world) scaledDownAtOnce(n int) *brownout {
	b := &brownout{w: w}
	b.load.Store(400)
	w.external = func(context.Context) (int64, error) { return b.load.Load(), nil }
	for i := range n {
		hpa := externally(w.web(fmt.Sprintf("web-%d", i), 4))
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
		}
		w.addHPA(hpa)
	}
	w.start(func(c *Config) { c.Workers, c.Scales = 1, b })
	w.pass(time.Minute)
	b.back = make(chan struct{})
	w.set(func() { w.scales = nil })
	b.load.Store(80)
	w.pass(16 * time.Second)
	return b
}

func (w *world) scaledDown() int {
	n := 0
	for _, s := range w.scaleWrites() {
		if strings.HasSuffix(s, "4→1") {
			n++
		}
	}
	return n
}

// TestWaitingWriteIsDecidedAgain: a quiet moment while the API server is away, then four
// times the load. What was decided in the quiet moment is no longer true.
func TestWaitingWriteIsDecidedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b := w.scaledDownAtOnce(80)
		b.load.Store(1600)
		w.pass(29 * time.Second)
		close(b.back)
		w.pass(time.Second)
		if n := w.scaledDown(); n != 0 {
			t.Errorf("%d of 80 were scaled down to 1 at four times the target", n)
		}
		w.pass(2 * period)
		for i := range 80 {
			w.wantReplicas(fmt.Sprintf("web-%d", i), 16, "the new load is decided on")
		}
		if w.metric("plimsoll_outdated_decisions_total") == 0 {
			t.Error("no decision counts as outdated")
		}
	})
}

// TestWaitingWriteHeedsAnEdit: a minReplicas that is raised while writes wait takes effect.
func TestWaitingWriteHeedsAnEdit(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b := w.scaledDownAtOnce(80)
		for i := range 80 {
			w.edit(fmt.Sprintf("web-%d", i),
				func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MinReplicas = new(int32(4)) })
		}
		w.pass(15 * time.Second)
		close(b.back)
		w.pass(time.Second)
		if n := w.scaledDown(); n != 0 {
			t.Errorf("%d of 80 were scaled to 1 fifteen seconds after their minReplicas was raised to 4", n)
		}
	})
}

// TestWaitingWriteLooksAgain: what happens in the half second for which a write waits is
// seen before it begins.
func TestWaitingWriteLooksAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		happens func(w *world)
		want    []string
	}{
		"nothing": {func(*world) {}, []string{"web 4→8"}},
		"an edit": {func(w *world) {
			w.edit("web", func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 5 })
		}, []string{"web 4→5"}},
		"the object is deleted":            {func(w *world) { w.deleteHPA("web") }, nil},
		"another writer scales":            {func(w *world) { w.setReplicas("web", 6) }, []string{"web 6→8"}},
		"another controller writes status": {func(w *world) { w.writeStatus("web", upstream, touch) }, nil},
		"the end": {func(w *world) {
			go w.stop()
			w.stop = nil
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.addHPA(w.web("web", 4))
				kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
				var c *Controller
				w.made = func(made *Controller) { c = made }
				w.start()
				w.pass(period)
				taken := 0
				for c.reconciler.observer.scaler.Writes.TryAcquire(kind) {
					taken++
				}
				w.set(func() { w.usage = 200 })
				for began := w.decisions(); w.decisions() == began; {
					w.pass(100 * time.Millisecond)
				}
				w.pass(500 * time.Millisecond)
				tt.happens(w)
				w.pass(10 * time.Millisecond)
				for range taken {
					c.reconciler.observer.scaler.Writes.Release(kind)
				}
				w.pass(time.Second)
				if got := w.scaleWrites(); !slices.Equal(got, tt.want) {
					t.Errorf("scale writes %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestNoStatusIsWrittenAfterTheEnd: one that waits for its turn is not.
func TestNoStatusIsWrittenAfterTheEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 4))
		var c *Controller
		w.made = func(made *Controller) { c = made }
		w.start()
		w.pass(period)
		for c.reconciler.status.Writes.TryAcquire(status.KindOf(observehorizontal.Autoscaler{})) {
		}
		statuses := 0
		w.set(func() { w.usage, w.beforeStatus = 95, func() error { statuses++; return nil } })
		for began := w.decisions(); w.decisions() == began; {
			w.pass(100 * time.Millisecond)
		}
		go w.stop()
		w.stop = nil
		w.pass(10 * time.Millisecond)
		c.reconciler.status.Writes.Release(status.KindOf(observehorizontal.Autoscaler{}))
		w.pass(time.Second)
		if statuses != 0 {
			t.Errorf("%d statuses after the end", statuses)
		}
	})
}

// TestScalingUnderWayIsFinished: with the status that reports it.
func TestScalingUnderWayIsFinished(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 4))
		w.start()
		w.pass(period)
		began := make(chan struct{})
		w.set(func() {
			w.usage = 200
			w.beforeScale = func() error {
				close(began)
				time.Sleep(3 * time.Second) //nolint:forbidigo // virtual time: a slow API server
				return nil
			}
		})
		<-began
		w.stop()
		w.stop = nil
		w.wantReplicas("web", 8, "the write was under way")
		if w.hpa("web").Status.LastScaleTime == nil {
			t.Error("the next leader does not learn of it")
		}
	})
}

// TestConflictIsNotRepeatedForAnOldDecision: as each attempt waits for the API server, the
// next one may come long after the decision.
func TestConflictIsNotRepeatedForAnOldDecision(t *testing.T) {
	for name, tt := range map[string]struct {
		takes time.Duration
		want  int
	}{
		"at once":            {takes: 0, want: 2},
		"after a long while": {takes: 2 * time.Second, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				hpa := w.web("web", 2)
				hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
					ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
				}
				w.addHPA(hpa)
				w.start()
				w.pass(period)
				tries := 0
				w.set(func() {
					w.usage = 200
					w.beforeScale = func() error {
						if tries++; tries > 1 {
							return nil
						}
						time.Sleep(tt.takes) //nolint:forbidigo // virtual time: a slow API server
						w.set(func() { w.usage = 100 })
						return apierrors.NewConflict(deploymentResource.GroupResource(), "web", errors.New("modified"))
					}
				})
				w.pass(2 * period)
				if tries != tt.want {
					t.Errorf("%d attempts, want %d", tries, tt.want)
				}
			})
		})
	}
}

// TestFailingWritesBackOff: to one in a sync period for each object, scale and status each;
// the next one that succeeds ends that.
func TestFailingWritesBackOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		hpa := w.web("web", 4)
		w.onto("web", 4, "a")
		w.addHPA(hpa)
		w.start(k.direct, func(c *Config) {
			c.SyncPeriod, c.EventInterval, c.StatusInterval = period, 14*time.Second,
				time.Minute
		})
		w.pass(time.Minute)
		var scales, statuses []time.Time
		refuse := func(log *[]time.Time) func() error {
			return func() error {
				*log = append(*log, time.Now())
				return errors.New("etcdserver: request timed out")
			}
		}
		w.set(func() {
			w.beforeScale, w.beforeStatus, k.milli, w.events = refuse(&scales), refuse(&statuses), 300, nil
		})
		w.pass(5 * time.Minute)
		if n := len(scales); n < 20 || n > 30 {
			t.Errorf("%d scale writes in five minutes that all fail, want about one in a sync period", n)
		}
		if last := scales[len(scales)-1].Sub(scales[len(scales)-2]); last < period*4/5 || last > period+time.Second {
			t.Errorf("the last two scale writes are %s apart, want a sync period less jitter, or until the next "+
				"sample", last)
		}
		// Status is written with a scale write that fails, unless it is too early.
		if n := len(statuses); n < 10 || n > 30 {
			t.Errorf("%d status writes in five minutes that all fail, want one in a sync period at most", n)
		}
		w.set(func() { w.beforeScale, w.beforeStatus = nil, nil })
		w.pass(period + 3*time.Second)
		if got := w.scaleWrites(); !slices.Equal(got, []string{"web 4→8", "web 8→12"}) {
			t.Errorf("scale writes %q: it is tried again within a sync period, and the first success heals", got)
		}
	})
}

// TestBackoffOfConflictingStatus: each attempt is three requests where others write too.
func TestBackoffOfConflictingStatus(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		hpa := w.web("web", 2)
		w.onto("web", 2, "a")
		w.addHPA(hpa)
		w.start(k.direct, func(c *Config) {
			c.SyncPeriod, c.EventInterval, c.StatusInterval = period, 14*time.Second,
				time.Minute
		})
		w.pass(time.Minute)
		n := 0
		w.set(func() {
			w.beforeStatus = func() error {
				n++
				return apierrors.NewConflict(hpaResource.GroupResource(), "web", errors.New("modified"))
			}
			k.milli = 130
		})
		w.pass(time.Minute)
		// After 0, 1, 3, 7 s and then each 12 to 15 s, and once after each scaling.
		if n > 3*12 {
			t.Errorf("%d requests in a minute", n)
		}
	})
}
