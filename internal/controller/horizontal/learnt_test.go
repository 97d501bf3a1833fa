package horizontal_test

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// savedCheckpoints are those of a fake API server; with an error it refuses all calls.
type savedCheckpoints struct {
	err error
	// listed is called before they are listed; it may be nil.
	listed func()

	mu      sync.Mutex
	objects map[types.NamespacedName]plimsollv1alpha1.AutoscalerCheckpoint
	version int
}

var _ checkpoints.Client = (*savedCheckpoints)(nil)

// Each implements checkpoints.Client.
func (s *savedCheckpoints) Each(_ context.Context, visit func(*plimsollv1alpha1.AutoscalerCheckpoint)) error {
	if s.listed != nil {
		s.listed()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.objects {
		visit(o.DeepCopy())
	}
	return s.err
}

// Get implements checkpoints.Client.
func (s *savedCheckpoints) Get(
	_ context.Context, name types.NamespacedName,
) (*plimsollv1alpha1.AutoscalerCheckpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[name]
	return &o, s.err
}

// Create implements checkpoints.Client.
func (s *savedCheckpoints) Create(ctx context.Context, o *plimsollv1alpha1.AutoscalerCheckpoint) (string, error) {
	if found, err := s.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}); err != nil || found.Name != "" {
		return "", apierrors.NewAlreadyExists(plimsollv1alpha1.Resource(plimsollv1alpha1.AutoscalerCheckpoints), o.Name)
	}
	return s.Replace(ctx, o)
}

// Replace implements checkpoints.Client.
func (s *savedCheckpoints) Replace(_ context.Context, o *plimsollv1alpha1.AutoscalerCheckpoint) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o = o.DeepCopy()
	o.ResourceVersion = strconv.Itoa(s.version)
	s.objects[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = *o
	return o.ResourceVersion, s.err
}

// Delete implements checkpoints.Client.
func (s *savedCheckpoints) Delete(_ context.Context, name types.NamespacedName, _ types.UID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
	return s.err
}

// of returns the checkpoint of an HPA.
func (s *savedCheckpoints) of(t *testing.T, name string) plimsollv1alpha1.AutoscalerCheckpointSpec {
	t.Helper()
	o, err := s.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "hpa-" + name})
	if err != nil {
		t.Fatal(err)
	}
	return o.Spec
}

// learning runs a controller with these checkpoints until it is stopped.
func (w *world) learning(saved checkpoints.Client) (controller *controllerhorizontal.Controller) {
	w.Made = func(c *controllerhorizontal.Controller) { controller = c }
	w.Start(func(c *controllerhorizontal.Config) {
		c.Checkpoints, c.MayWriteAtEnd, c.Options.Forecast = saved, func() bool { return true }, forecast.Preview
	})
	return controller
}

// TestForecastSurvivesRestart: the next process continues with it, and saves more than that. Another HPA of the same
// name starts over.
func TestForecastSurvivesRestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		saved := &savedCheckpoints{objects: map[types.NamespacedName]plimsollv1alpha1.AutoscalerCheckpoint{}}
		controller := w.learning(saved)
		w.AddHPA(w.Web("web", 3))
		w.Pass(3 * time.Hour)
		w.Stop()
		first, since := controller.Learnt("web").Clone(), controller.RecordedSince(t, "web")
		encoded, err := first.MarshalBinary()
		if err != nil || !bytes.Equal(saved.of(t, "web").Forecast, encoded) || !first.KnowsMore(forecast.New()) {
			t.Fatalf("%d bytes are saved, want the %d at the end: %v", len(saved.of(t, "web").Forecast), len(encoded), err)
		}
		controller = w.learning(saved)
		w.Pass(2 * time.Minute)
		if !controller.Learnt("web").KnowsMore(first) || !controller.RecordedSince(t, "web").Equal(since) {
			t.Errorf("the next process begins anew: recorded since %s, want %s", controller.RecordedSince(t, "web"), since)
		}
		w.Pass(2 * time.Hour)
		if again := forecast.New(); again.UnmarshalBinary(saved.of(t, "web").Forecast) != nil || !again.KnowsMore(first) {
			t.Error("the next process saves nothing more")
		}
		w.DeleteHPA("web")
		other := horizontaltest.Externally(w.Web("other", 3))
		other.Name, other.UID = "web", "another"
		added := time.Now()
		w.AddHPA(other)
		w.Pass(2 * time.Minute)
		w.Stop()
		controller = w.learning(saved)
		w.Pass(2 * time.Minute)
		third, since := controller.Learnt("web"), controller.RecordedSince(t, "web")
		if third == nil || !first.KnowsMore(third) || since.Before(added.Truncate(5*time.Minute)) {
			t.Errorf("another HPA goes on with what the first has learnt, since %s", since)
		}
	})
}

// TestDamagedForecastIsNotUsed: it is replaced by the forecast learnt since.
func TestDamagedForecastIsNotUsed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.Web("web", 3)
		saved := damagedOf(t, hpa)
		controller := w.learning(saved)
		w.AddHPA(hpa)
		w.Pass(90 * time.Minute)
		if got := w.Metric("plimsoll_autoscaler_checkpoint_reads_total", "unreadable"); got != 1 {
			t.Errorf("%v are unreadable, want 1", got)
		}
		if again := forecast.New(); controller.Learnt("web") == nil || again.UnmarshalBinary(saved.of(t, "web").Forecast) != nil {
			t.Error("it is not replaced")
		}
	})
}

// damagedOf returns the checkpoints of an API server that has one of this HPA, which cannot be decoded.
func damagedOf(t *testing.T, hpa *autoscalingv2.HorizontalPodAutoscaler) *savedCheckpoints {
	t.Helper()
	saved := &savedCheckpoints{objects: map[types.NamespacedName]plimsollv1alpha1.AutoscalerCheckpoint{}}
	damaged := plimsollv1alpha1.AutoscalerCheckpoint{}
	damaged.Namespace, damaged.Name = "shop", "hpa-"+hpa.Name
	damaged.Spec.Autoscaler = plimsollv1alpha1.CheckpointedAutoscaler{
		Kind: "HorizontalPodAutoscaler", Name: hpa.Name, UID: hpa.UID,
	}
	damaged.Spec.Forecast = []byte("damaged")
	if _, err := saved.Replace(t.Context(), &damaged); err != nil {
		t.Fatal(err)
	}
	return saved
}

// TestPanicOverACheckpoint: users who may write checkpoints control the decoder's input. A panic over one must not end
// the process at each start.
func TestPanicOverACheckpoint(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.Web("web", 3)
		w.AddHPA(hpa)
		w.Set(func() { w.Usage = 400 })
		w.Start(func(c *controllerhorizontal.Config) {
			c.Checkpoints, c.MayWriteAtEnd = damagedOf(t, hpa), func() bool { return true }
			c.Log = funcr.New(func(_, args string) {
				if strings.Contains(args, "cannot be decoded") {
					panic("a defect")
				}
			}, funcr.Options{})
		})
		w.Pass(5 * time.Minute)
		if got := w.Metric("plimsoll_horizontal_panics_total"); got != 1 {
			t.Errorf("%v panics are counted, want 1", got)
		}
		if got := w.Replicas("web"); got <= 3 {
			t.Errorf("%d replicas: it is not decided any more", got)
		}
	})
}

// TestDecisionsDoNotNeedCheckpoints: decisions continue if the definition of checkpoints is missing, or if they are
// unreadable.
func TestDecisionsDoNotNeedCheckpoints(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		resource := plimsollv1alpha1.Resource(plimsollv1alpha1.AutoscalerCheckpoints)
		controller := w.learning(&savedCheckpoints{err: apierrors.NewNotFound(resource, "")})
		w.AddHPA(w.Web("web", 3))
		w.Set(func() { w.Usage = 400 })
		w.Pass(5 * time.Minute)
		if got := w.Replicas("web"); got <= 3 || controller.Learnt("web") == nil {
			t.Errorf("%d replicas, %v learnt", got, controller.Learnt("web") != nil)
		}
		if failed := w.Metric("plimsoll_autoscaler_checkpoint_reads_total", "list_failed"); failed < 5 {
			t.Errorf("%v lists failed", failed)
		}
	})
}

// TestShadowSavesNothing: the controller that acts may be another Plimsoll, which saves what it learns.
func TestShadowSavesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		saved := &savedCheckpoints{objects: map[types.NamespacedName]plimsollv1alpha1.AutoscalerCheckpoint{}}
		w.Start(func(c *controllerhorizontal.Config) {
			c.Checkpoints, c.MayWriteAtEnd, c.Options.Forecast = saved, func() bool { return true }, forecast.Preview
			c.HPAs = takeover.Shadow
		})
		w.AddHPA(w.Web("web", 3))
		w.Pass(2 * time.Hour)
		if len(saved.objects) != 0 {
			t.Errorf("%d are saved", len(saved.objects))
		}
	})
}

// TestOtherControllersObjectIsNotSaved: the controller that acts may be another Plimsoll, which saves what it learns.
func TestOtherControllersObjectIsNotSaved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		saved := &savedCheckpoints{objects: map[types.NamespacedName]plimsollv1alpha1.AutoscalerCheckpoint{}}
		w.learning(saved)
		w.AddHPA(w.Web("web", 3))
		w.Pass(2 * time.Hour)
		name := types.NamespacedName{Namespace: "shop", Name: "hpa-web"}
		others, err := saved.Get(t.Context(), name)
		if err != nil || len(others.Spec.History) == 0 {
			t.Fatalf("nothing is saved: %v", err)
		}
		w.WriteStatus("web", horizontaltest.Upstream, horizontaltest.Touch)
		w.Pass(time.Second)
		others.Spec.History = []byte("another controller's")
		if _, err := saved.Replace(t.Context(), others); err != nil {
			t.Fatal(err)
		}
		for range 120 {
			w.WriteStatus("web", horizontaltest.Upstream, horizontaltest.Touch)
			w.Pass(time.Minute)
		}
		w.Stop()
		w.Stop = nil
		if got := string(saved.of(t, "web").History); got != "another controller's" {
			t.Errorf("it is overwritten with %d bytes", len(got))
		}
	})
}

// TestNothingNewIsNotSaved: a restored checkpoint is not written again, with a new time, before there is more.
func TestNothingNewIsNotSaved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		saved := &savedCheckpoints{objects: map[types.NamespacedName]plimsollv1alpha1.AutoscalerCheckpoint{}}
		w.learning(saved)
		w.AddHPA(w.Web("web", 3))
		w.Pass(2 * time.Hour)
		w.Stop()
		at := saved.of(t, "web").LastUpdateTime
		w.Edit("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.ScaleTargetRef.Name = "gone" })
		controller := w.learning(saved)
		w.Pass(2 * time.Hour)
		if controller.RecordedSince(t, "web").IsZero() {
			t.Error("nothing is restored")
		}
		w.Stop()
		w.Stop = nil
		if again := saved.of(t, "web").LastUpdateTime; !again.Equal(&at) {
			t.Errorf("saved at %s again, at %s before", again, at)
		}
	})
}

// TestWorkloadAutoscalersAreKnownFirst: checkpoints are read once the cache of WorkloadAutoscalers is filled, or at
// once if there are none.
func TestWorkloadAutoscalersAreKnownFirst(t *testing.T) {
	for why, isNotServed := range map[string]bool{"served": false, "not served": true} {
		t.Run(why, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api := w.Workloads()
				api.IsNotServed, api.Lists = isNotServed, 20*time.Second
				api.Put(horizontaltest.WorkloadOf(w.Web("web", 3)))
				var controller *controllerhorizontal.Controller
				begun, lists, known := time.Now(), 0, false
				saved := &savedCheckpoints{objects: map[types.NamespacedName]plimsollv1alpha1.AutoscalerCheckpoint{}}
				saved.listed = func() {
					_, err := controller.WorkloadAutoscalers().Get(observe.WLA("shop", "web"))
					lists, known = lists+1, err == nil
					if isNotServed && time.Since(begun) > time.Second {
						t.Errorf("they are listed after %v", time.Since(begun))
					}
				}
				w.Made = func(c *controllerhorizontal.Controller) { controller = c }
				w.Start(api.Serve, func(c *controllerhorizontal.Config) {
					c.Checkpoints, c.MayWriteAtEnd = saved, func() bool { return true }
				})
				w.Pass(time.Minute - time.Second)
				if lists != 1 || known == isNotServed {
					t.Errorf("%d lists, the WorkloadAutoscaler is known: %v", lists, known)
				}
			})
		})
	}
}

// TestIncompleteHistoryIsReported: while checkpoints cannot be read, a history covers only the time since the start.
func TestIncompleteHistoryIsReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		saved := &savedCheckpoints{
			objects: map[types.NamespacedName]plimsollv1alpha1.AutoscalerCheckpoint{},
			err:     apierrors.NewForbidden(plimsollv1alpha1.Resource(plimsollv1alpha1.AutoscalerCheckpoints), "", nil),
		}
		controller := w.learning(saved)
		w.AddHPA(w.Web("web", 3))
		for _, isReadable := range []bool{false, true} {
			w.Set(func() {
				saved.mu.Lock()
				defer saved.mu.Unlock()
				if isReadable {
					saved.err = nil
				}
			})
			w.Pass(11 * time.Minute)
			encoded, isWhole, err := controller.EncodedHistory(observe.HPA("shop", "web"))
			if err != nil || len(encoded) == 0 || isWhole != isReadable {
				t.Errorf("readable %v, whole %v: %d bytes, %v", isReadable, isWhole, len(encoded), err)
			}
		}
	})
}
