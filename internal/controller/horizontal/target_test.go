package horizontal

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	scaleclient "k8s.io/client-go/scale"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
)

// countedScales counts readings and writes of scales, which take so long; readings of some
// never end.
type countedScales struct {
	w               *world
	gets, puts      atomic.Int64
	takes, putTakes time.Duration
	hung            string
	// isDown has readings fail.
	isDown atomic.Bool
}

// Scales implements scale.ScalesGetter.
func (s *countedScales) Scales(namespace string) scaleclient.ScaleInterface {
	return &countedScale{ScaleInterface: s.w.Scales(namespace), s: s}
}

type countedScale struct {
	scaleclient.ScaleInterface
	s *countedScales
}

// Get implements scale.ScaleInterface.
func (s *countedScale) Get(
	ctx context.Context, r schema.GroupResource, name string, o metav1.GetOptions,
) (*autoscalingv1.Scale, error) {
	s.s.gets.Add(1)
	if s.s.hung != "" && strings.HasPrefix(name, s.s.hung) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.s.isDown.Load() {
		return nil, errServer
	}
	time.Sleep(s.s.takes) //nolint:forbidigo // virtual time: what a GET takes
	return s.ScaleInterface.Get(ctx, r, name, o)
}

// Update implements scale.ScaleInterface.
func (s *countedScale) Update(
	ctx context.Context, r schema.GroupResource, scale *autoscalingv1.Scale, o metav1.UpdateOptions,
) (*autoscalingv1.Scale, error) {
	s.s.puts.Add(1)
	time.Sleep(s.s.putTakes) //nolint:forbidigo // virtual time: what a PUT takes
	return s.ScaleInterface.Update(ctx, r, scale, o)
}

// custom gives the object a target of a kind that is in no cache.
func custom(hpa *autoscalingv2.HorizontalPodAutoscaler, version, kind string) *autoscalingv2.HorizontalPodAutoscaler {
	hpa.Spec.ScaleTargetRef.APIVersion, hpa.Spec.ScaleTargetRef.Kind = version, kind
	return hpa
}

// decisionsOn counts decisions on an object in the log.
func (w *world) decisionsOn(name string) int {
	n := 0
	w.set(func() {
		for _, line := range w.logs {
			if strings.Contains(line, `"object"="shop/`+name+`"`) && strings.Contains(line, `"msg"="decided"`) {
				n++
			}
		}
	})
	return n
}

// TestScaleIsReadOnceInASyncPeriod: a target that is in no cache costs upstream's four
// GETs a minute, not one for each decision; new pods of it lead to another.
func TestScaleIsReadOnceInASyncPeriod(t *testing.T) {
	for kind, most := range map[string]int64{"Deployment": 0, "ReplicationController": 4} {
		t.Run(kind, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := w.kubelets("a")
				hpa := w.web("web", 2)
				w.onto("web", 2, "a")
				if kind != "Deployment" {
					custom(hpa, "v1", kind)
				}
				w.addHPA(hpa)
				scales := &countedScales{w: w}
				w.start(k.direct, func(c *Config) { c.SyncPeriod, c.Scales = period, scales })
				w.pass(30 * time.Second)
				before, decided := scales.gets.Load(), w.decisionsOn("web")
				w.pass(time.Minute)
				if n := scales.gets.Load() - before; n > most || most > 0 && n < most-1 {
					t.Errorf("%d GETs of the scale in a minute, want %d", n, most)
				}
				if n := w.decisionsOn("web") - decided; n < 60 {
					t.Errorf("%d decisions in a minute, want 60", n)
				}
				before = scales.gets.Load()
				w.setReplicas("web", 3)
				w.add(podResource, pod("web-2", map[string]string{"app": "web"}))
				w.pass(scaling.ReadGap + 2*time.Second)
				if n := scales.gets.Load() - before; n < most/4 || n > most/2 {
					t.Errorf("%d GETs within seconds of a new pod", n)
				}
				if got := w.hpa("web").Status.CurrentReplicas; got != 2 && got != 3 {
					t.Errorf("%d replicas in status", got)
				}
			})
		})
	}
}

// TestScaleWriteOnKeptScale: the scale may be a sync period old when it is written; what is written
// is checked by the API server, and another writer's replica count is not overwritten.
func TestScaleWriteOnKeptScale(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		w.addHPA(custom(w.web("web", 2), "v1", "ReplicationController"))
		w.onto("web", 2, "a")
		scales := &countedScales{w: w}
		w.start(k.direct, func(c *Config) { c.SyncPeriod, c.Scales = period, scales })
		w.pass(30 * time.Second)
		for gets := scales.gets.Load(); scales.gets.Load() == gets; {
			w.pass(100 * time.Millisecond)
		}
		w.setReplicas("web", 10)
		w.set(func() { k.milli = 200 })
		w.pass(10 * time.Second)
		if got := w.scaleWrites(); len(got) != 0 || w.metric("plimsoll_overtaken_decisions_total") == 0 {
			t.Errorf("scale writes %q: what was decided on the kept count is not written over the other's", got)
		}
	})
}

// TestSlowConflictIsNotRepeated: where the API server is slow, a conflict takes longer than
// a decision is good for. The next one is written on what the conflict has shown.
func TestSlowConflictIsNotRepeated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		w.addHPA(custom(w.web("web", 2), "v1", "ReplicationController"))
		w.onto("web", 2, "a")
		const takes = 600 * time.Millisecond
		scales := &countedScales{w: w, takes: takes, putTakes: takes}
		w.start(k.direct, func(c *Config) { c.SyncPeriod, c.Scales = period, scales })
		w.pass(30 * time.Second)
		for gets := scales.gets.Load(); scales.gets.Load() == gets; {
			w.pass(100 * time.Millisecond)
		}
		w.pass(takes)
		// Its status changes, as that of a Rollout does each few seconds.
		w.store(deploymentResource, w.deployment("web"))
		w.set(func() { k.milli = 200 })
		w.pass(5 * time.Second)
		if got := w.scaleWrites(); len(got) != 1 {
			t.Errorf("scale writes %q after 5 s", got)
		}
		if got := scales.puts.Load(); got != 2 || w.metric("plimsoll_outdated_decisions_total") != 1 {
			t.Errorf("%d PUTs, want one in conflict and one that succeeds", got)
		}
	})
}

// TestHungScalesHoldNoOther: neither objects of other kinds nor a kind whose scales answer; the
// object's condition says why it is not scaled.
func TestHungScalesHoldNoOther(t *testing.T) {
	for _, n := range []int{5, 20, 60} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := w.kubelets("a")
				for i := range n {
					w.addHPA(custom(w.web(fmt.Sprintf("hung-%d", i), 1), "v1", "ReplicationController"))
				}
				for _, name := range []string{"web", "set"} {
					hpa := w.web(name, 2)
					w.onto(name, 2, "a")
					if name == "set" {
						// There is none of this name in the cache.
						custom(hpa, "apps/v1", "StatefulSet")
					}
					w.addHPA(hpa)
				}
				w.start(k.direct, func(c *Config) {
					c.SyncPeriod, c.Workers, c.Scales = period, 5, &countedScales{w: w, hung: "hung"}
				})
				w.pass(3 * time.Minute)
				for _, name := range []string{"web", "set"} {
					if got := w.decisionsOn(name); got < 178 {
						t.Errorf("%d decisions on %s in 180 s", got, name)
					}
				}
				if got := w.condition("hung-0", autoscalingv2.AbleToScale); got != "False FailedGetScale" ||
					!w.hasEvent("hung-0 Warning FailedGetScale") {
					t.Errorf("AbleToScale of one that hangs is %s", got)
				}
				if got := w.scaleWrites(); len(got) != 0 {
					t.Errorf("scaled %q", got)
				}
			})
		})
	}
}

// slowMapper takes long to find out that a kind does not exist.
type slowMapper struct{ meta.RESTMapper }

// RESTMappings implements meta.RESTMapper.
func (m slowMapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	if kind.Group == "example.com" {
		time.Sleep(15 * time.Second) //nolint:forbidigo // virtual time: discovery that hangs
		return nil, &meta.NoKindMatchError{GroupKind: kind}
	}
	return m.RESTMapper.RESTMappings(kind, versions...)
}

// TestSlowDiscoveryHoldsNoOther: an HPA that names a kind that does not exist delays no other.
func TestSlowDiscoveryHoldsNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		for i := range 20 {
			w.addHPA(custom(w.web(fmt.Sprintf("none-%d", i), 1), "example.com/v1", fmt.Sprintf("Kind%d", i)))
		}
		w.addHPA(w.web("web", 2))
		w.onto("web", 2, "a")
		w.start(k.direct, func(c *Config) { c.SyncPeriod, c.Workers, c.Mapper = period, 5, slowMapper{c.Mapper} })
		w.pass(time.Minute)
		if got := w.decisionsOn("web"); got < 58 {
			t.Errorf("%d decisions in a minute", got)
		}
		if got := w.condition("none-0", autoscalingv2.AbleToScale); got != "False FailedGetScale" {
			t.Errorf("AbleToScale of a kind that does not exist is %s", got)
		}
	})
}

// TestDiscoveryHoldsNoSlot: those of a kind are for calls about its objects.
func TestDiscoveryHoldsNoSlot(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(custom(w.web("none", 1), "example.com/v1", "Kind"))
		var c *Controller
		w.made = func(made *Controller) { c = made }
		w.start(func(c *Config) { c.Mapper = slowMapper{c.Mapper} })
		w.pass(5 * time.Second)
		for free := range 2 * callsPerWorker {
			if !c.reconciler.observer.scaler.Reads.TryAcquire(schema.GroupKind{Group: "example.com", Kind: "Kind"}) {
				t.Fatalf("only %d slots are free while a kind is being discovered", free)
			}
		}
	})
}

// TestManyCustomTargets: whose scales take 20 ms each to read.
func TestManyCustomTargets(t *testing.T) {
	const n = 300
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		for i := range n {
			name := fmt.Sprintf("rollout-%d", i)
			w.addHPA(custom(w.web(name, 1), "v1", "ReplicationController"))
			w.onto(name, 1, "a")
		}
		w.addHPA(w.web("web", 2))
		w.onto("web", 2, "a")
		scales := &countedScales{w: w, takes: 20 * time.Millisecond}
		w.start(k.direct, func(c *Config) { c.SyncPeriod, c.Workers, c.Scales = period, 5, scales })
		w.pass(30 * time.Second)
		gets, decided := scales.gets.Load(), w.decisionsOn("web")
		w.pass(time.Minute)
		if got := scales.gets.Load() - gets; got > 4*n {
			t.Errorf("%d GETs a minute, want upstream's %d at most", got, 4*n)
		}
		if got := w.decisionsOn("web") - decided; got < 60 {
			t.Errorf("a Deployment's object is decided %d times a minute", got)
		}
	})
}
