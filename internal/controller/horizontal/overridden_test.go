package horizontal

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

const selfHeal = "argocd-controller"

// setBack sets the replica count back to what another writer applies.
func (w *world) setBack(name string, replicas int32) {
	w.t.Helper()
	d := w.deployment(name)
	now := metav1.Now()
	fields := &metav1.FieldsV1{}
	fields.SetRawString(`{"f:spec":{"f:replicas":{},"f:template":{}}}`)
	d.Spec.Replicas = &replicas
	d.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: selfHeal, Operation: metav1.ManagedFieldsOperationApply, Time: &now, FieldsV1: fields,
	}}
	w.store(deploymentResource, d)
}

// fight has another writer set web's replica count back to 2 as fast as it can, until stop is called.
func (w *world) fight() (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
			if w.replicas("web") != 2 {
				w.setBack("web", 2)
			}
		}
	}()
	return func() { close(ended); <-done }
}

// A writer that sets the count back as fast as it is written, such as GitOps with self-heal or an operator that owns
// the Deployment, would have each write cause the next one. Writes come by the sync period, and the other writer is
// named.
func TestAnotherWriterIsNotRacedAgainst(t *testing.T) {
	for _, triggers := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			w.addHPA(w.web("web", 2))
			w.set(func() { w.usage = 200 })
			w.start(func(c *Config) { c.Triggers = triggers })
			stop := w.fight()
			const periods = 40
			most := 0
			for range periods {
				before := len(w.scaleWrites())
				w.pass(period)
				most = max(most, len(w.scaleWrites())-before)
			}
			if writes := len(w.scaleWrites()); most > 2 || writes > periods+4 || writes < periods-4 {
				t.Errorf("triggers %t: %d scale writes in %d sync periods, at most %d in one", triggers, writes, periods, most)
			}
			if got := w.condition("web", statusreport.ReplicasOverridden); got != "True AnotherWriter" {
				t.Errorf("triggers %t: ReplicasOverridden is %s", triggers, got)
			}
			stop()
			w.set(func() {
				if n := count(w.events, "web Warning ReplicasOverridden: "+selfHeal+" sets the replica count"); n != 1 {
					t.Errorf("triggers %t: %d events name the other writer: %q", triggers, n, w.events[:min(9, len(w.events))])
				}
			})
			w.pass(2 * period)
			if got := w.replicas("web"); got <= 2 {
				t.Errorf("triggers %t: the other writer is gone, and there are %d replicas", triggers, got)
			}
			w.pass(31 * time.Minute)
			if got := w.condition("web", statusreport.ReplicasOverridden); got != "False NoOtherWriter" {
				t.Errorf("triggers %t: half an hour later ReplicasOverridden is %s", triggers, got)
			}
		})
	}
}

// A tool that sets the count back every few minutes is never in the way of a decision, and is named too.
func TestASlowWriterIsNamed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.set(func() { w.usage = 200 })
		w.start(func(c *Config) { c.Triggers = true })
		w.pass(period)
		for range 3 {
			if w.hasEvent(statusreport.ReplicasOverridden) {
				t.Error("a person may scale now and then, and is named by an event")
			}
			w.pass(3 * time.Minute)
			w.setBack("web", 2)
			w.pass(time.Second)
			if got := w.replicas("web"); got <= 2 {
				t.Errorf("a single change of the count is not answered at once: %d replicas", got)
			}
		}
		w.pass(period)
		if !w.hasEvent(selfHeal + " sets the replica count of Deployment/shop/web too") {
			t.Error("no event names the other writer")
		}
	})
}

// Load that changes all the time has the count written as often as before.
func TestLoadAloneIsNoOtherWriter(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.start(func(c *Config) { c.Triggers = true })
		for _, usage := range []int64{150, 200, 100, 250, 300, 100} {
			w.set(func() { w.usage = usage })
			w.pass(period)
		}
		if w.hasEvent(statusreport.ReplicasOverridden) {
			t.Error("an event names another writer")
		}
	})
}
