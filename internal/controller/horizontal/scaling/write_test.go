package scaling_test

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

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// brownout is an API server that accepts scale writes and does not respond while it is away; writes in progress fail
// when it is back.
type brownout struct {
	w *world
	// back is closed when it is back.
	back chan struct{}
	// load is the load of each object, in milli; 100 is the load of one replica.
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

// scaledDownAtOnce adds n objects of four replicas that are scaled down without a window, so many that their writes
// wait for each other while the API server is away.
func (w *world) scaledDownAtOnce(n int) *brownout {
	b := &brownout{w: w}
	b.load.Store(400)
	w.ExternalValue = func(context.Context) (int64, error) { return b.load.Load(), nil }
	for i := range n {
		hpa := horizontaltest.Externally(w.Web(fmt.Sprintf("web-%d", i), 4))
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
		}
		w.AddHPA(hpa)
	}
	w.Start(func(c *controllerhorizontal.Config) { c.Workers, c.Scales = 1, b })
	w.Pass(time.Minute)
	b.back = make(chan struct{})
	w.Set(func() { w.Scaled = nil })
	b.load.Store(80)
	w.Pass(16 * time.Second)
	return b
}

func (w *world) scaledDown() int {
	n := 0
	for _, s := range w.ScaleWrites() {
		if strings.HasSuffix(s, "4→1") {
			n++
		}
	}
	return n
}

// TestWaitingWriteIsDecidedAgain: a quiet moment while the API server is away, then four times the load. The decision
// from the quiet moment is outdated.
func TestWaitingWriteIsDecidedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b := w.scaledDownAtOnce(80)
		b.load.Store(1600)
		w.Pass(29 * time.Second)
		close(b.back)
		w.Pass(time.Second)
		if n := w.scaledDown(); n != 0 {
			t.Errorf("%d of 80 were scaled down to 1 at four times the target", n)
		}
		w.Pass(2 * horizontaltest.Period)
		for i := range 80 {
			w.WantReplicas(fmt.Sprintf("web-%d", i), 16, "the new load is decided on")
		}
		if w.Metric("plimsoll_outdated_decisions_total") == 0 {
			t.Error("no decision counts as outdated")
		}
	})
}

// TestWaitingWriteHeedsAnEdit: a minReplicas that is raised while writes wait takes effect.
func TestWaitingWriteHeedsAnEdit(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b := w.scaledDownAtOnce(80)
		for i := range 80 {
			w.Edit(fmt.Sprintf("web-%d", i),
				func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MinReplicas = new(int32(4)) })
		}
		w.Pass(15 * time.Second)
		close(b.back)
		w.Pass(time.Second)
		if n := w.scaledDown(); n != 0 {
			t.Errorf("%d of 80 were scaled to 1 fifteen seconds after their minReplicas was raised to 4", n)
		}
	})
}

// TestScalingInProgressIsFinished: so is the status that reports it.
func TestScalingInProgressIsFinished(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 4))
		w.Start()
		w.Pass(horizontaltest.Period)
		began := make(chan struct{})
		w.Set(func() {
			w.Usage = 200
			w.BeforeScale = func() error {
				close(began)
				time.Sleep(3 * time.Second) //nolint:forbidigo // virtual time: a slow API server
				return nil
			}
		})
		<-began
		w.Stop()
		w.Stop = nil
		w.WantReplicas("web", 8, "the write was under way")
		if w.HPA("web").Status.LastScaleTime == nil {
			t.Error("the next leader does not learn of it")
		}
	})
}

// TestConflictIsNotRepeatedForAnOldDecision: each attempt waits for the API server, so the next one may be long after
// the decision.
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
				hpa := w.Web("web", 2)
				hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
					ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
				}
				w.AddHPA(hpa)
				w.Start()
				w.Pass(horizontaltest.Period)
				tries := 0
				w.Set(func() {
					w.Usage = 200
					w.BeforeScale = func() error {
						if tries++; tries > 1 {
							return nil
						}
						time.Sleep(tt.takes) //nolint:forbidigo // virtual time: a slow API server
						w.Set(func() { w.Usage = 100 })
						return apierrors.NewConflict(horizontaltest.DeploymentResource.GroupResource(), "web", errors.New("modified"))
					}
				})
				w.Pass(2 * horizontaltest.Period)
				if tries != tt.want {
					t.Errorf("%d attempts, want %d", tries, tt.want)
				}
			})
		})
	}
}

// TestFailingWritesBackOff: failing writes back off to one in a sync period for each object, for scale and status
// separately; a success ends the backoff.
func TestFailingWritesBackOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		hpa := w.Web("web", 4)
		w.Onto("web", 4, "a")
		w.AddHPA(hpa)
		w.Start(k.Direct, func(c *controllerhorizontal.Config) {
			c.SyncPeriod, c.EventInterval, c.StatusInterval = horizontaltest.Period, 14*time.Second,
				time.Minute
		})
		w.Pass(time.Minute)
		var scales, statuses []time.Time
		refuse := func(log *[]time.Time) func() error {
			return func() error {
				*log = append(*log, time.Now())
				return errors.New("etcdserver: request timed out")
			}
		}
		w.Set(func() {
			w.BeforeScale, w.BeforeStatus, k.Milli, w.Events = refuse(&scales), refuse(&statuses), 300, nil
		})
		w.Pass(5 * time.Minute)
		if n := len(scales); n < 20 || n > 30 {
			t.Errorf("%d scale writes in five minutes that all fail, want about one in a sync period", n)
		}
		if last := scales[len(scales)-1].Sub(scales[len(scales)-2]); last < horizontaltest.Period*4/5 || last > horizontaltest.Period+time.Second {
			t.Errorf("the last two scale writes are %s apart, want a sync period less jitter, or until the next "+
				"sample", last)
		}
		// A failed scale write is followed by a status write, unless that is too early.
		if n := len(statuses); n < 10 || n > 30 {
			t.Errorf("%d status writes in five minutes that all fail, want one in a sync period at most", n)
		}
		w.Set(func() { w.BeforeScale, w.BeforeStatus = nil, nil })
		w.Pass(horizontaltest.Period + 3*time.Second)
		if got := w.ScaleWrites(); !slices.Equal(got, []string{"web 4→8", "web 8→12"}) {
			t.Errorf("scale writes %q: it is tried again within a sync period, and the first success heals", got)
		}
	})
}

// TestBackoffOfConflictingStatus: each attempt takes three requests if others write too.
func TestBackoffOfConflictingStatus(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		hpa := w.Web("web", 2)
		w.Onto("web", 2, "a")
		w.AddHPA(hpa)
		w.Start(k.Direct, func(c *controllerhorizontal.Config) {
			c.SyncPeriod, c.EventInterval, c.StatusInterval = horizontaltest.Period, 14*time.Second,
				time.Minute
		})
		w.Pass(time.Minute)
		n := 0
		w.Set(func() {
			w.BeforeStatus = func() error {
				n++
				return apierrors.NewConflict(horizontaltest.HPAResource.GroupResource(), "web", errors.New("modified"))
			}
			k.Milli = 130
		})
		w.Pass(time.Minute)
		// After 0, 1, 3, 7 s and then every 12 to 15 s, and once after each scaling.
		if n > 3*12 {
			t.Errorf("%d requests in a minute", n)
		}
	})
}
