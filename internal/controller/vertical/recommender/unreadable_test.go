package recommender

import (
	"testing"
	"testing/synctest"
	"time"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// store stores an object as the informer decodes it: an unreadable one has no spec.
func (w *world) store(name, why string) {
	w.do(func() {
		object := w.stored[name].DeepCopy()
		object.Generation++
		object.Unreadable = why
		if why != "" {
			object.Spec = vpav1.VerticalPodAutoscalerSpec{}
		}
		w.stored[name] = object
		w.objects.Modify(object)
	})
	synctest.Wait()
}

const why = `spec.resourcePolicy.containerPolicies[0].minAllowed[cpu]: quantity "1e-999999999"`

// An object that becomes unreadable reports that, keeps its history and its recommendation, and continues normally once
// it is readable again. Others are not affected.
func TestUnreadableObject(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.deployment("api", 1)
		w.autoscaler("web")
		w.autoscaler("api")
		w.start()
		w.pass(3 * time.Hour)
		wantCPU, wantMemory := w.target("web")
		spec := w.stored["web"].Spec
		w.store("web", why)
		w.do(func() { w.milli["api"] = 1000 })
		w.pass(2 * time.Second)
		c := w.condition("web", "ConfigUnsupported")
		if c == nil || c.Status != "True" || c.Reason != Unreadable || c.Message == "" {
			t.Fatalf("the condition is %+v", c)
		}
		written := w.statuses["web"]
		w.pass(25 * time.Minute) // two collections of checkpoints
		if n, warnings := w.statuses["web"], w.warnings("web", Unreadable); n != written || warnings != 1 {
			t.Errorf("status was written %d times more, and there are %d events", n-written, warnings)
		}
		if cpu, _ := w.target("api"); cpu <= wantCPU {
			t.Errorf("the other object's CPU is %d", cpu)
		}
		if w.checkpoints["web-app"] == nil {
			t.Error("its checkpoint was deleted")
		}
		w.do(func() { w.stored["web"].Spec = spec })
		w.store("web", "")
		w.pass(2 * time.Second)
		if c := w.condition("web", "ConfigUnsupported"); c != nil && c.Status == "True" {
			t.Errorf("healed, and the condition is %+v", c)
		}
		cpu, memory := w.target("web")
		isNear(t, "CPU", cpu, wantCPU)
		isNear(t, "memory", memory, wantMemory)
	})
}

// Its checkpoints still exist when it becomes readable, also if that is long after a restart.
func TestUnreadableObjectKeepsItsCheckpoints(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.autoscaler("web")
		w.start()
		w.pass(3 * time.Hour)
		wantCPU, wantMemory := w.target("web")
		w.stop()
		spec := w.stored["web"].Spec
		w.store("web", why)
		w.do(func() { w.milli["web"], w.bytes["web"] = 10, 10<<20 })
		w.start()
		w.pass(30 * time.Minute)
		w.do(func() { w.stored["web"].Spec = spec })
		w.store("web", "")
		w.pass(2 * time.Second)
		cpu, memory := w.target("web")
		isNear(t, "CPU", cpu, wantCPU)
		isNear(t, "memory", memory, wantMemory)
	})
}
