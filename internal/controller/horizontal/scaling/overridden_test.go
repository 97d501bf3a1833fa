package scaling_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

const selfHeal = "argocd-controller"

// setBack sets the replica count back to what another writer applies.
func (w *world) setBack(name string, replicas int32) {
	w.T.Helper()
	d := w.Deployment(name)
	now := metav1.Now()
	fields := &metav1.FieldsV1{}
	fields.SetRawString(`{"f:spec":{"f:replicas":{},"f:template":{}}}`)
	d.Spec.Replicas = &replicas
	d.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: selfHeal, Operation: metav1.ManagedFieldsOperationApply, Time: &now, FieldsV1: fields,
	}}
	w.Store(horizontaltest.DeploymentResource, d)
}

// fight makes another writer set web's replica count back to 2 as fast as possible, until stop is called.
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
			if w.Replicas("web") != 2 {
				w.setBack("web", 2)
			}
		}
	}()
	return func() { close(ended); <-done }
}

// With a writer that sets the count back at once, such as GitOps with self-heal or an operator that owns the
// Deployment, each write would cause the next one. Plimsoll writes once in a sync period, and reports the other writer.
func TestAnotherWriterIsNotRacedAgainst(t *testing.T) {
	for _, triggers := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			w.AddHPA(w.Web("web", 2))
			w.Set(func() { w.Usage = 200 })
			w.Start(func(c *controllerhorizontal.Config) { c.Triggers = triggers })
			stop := w.fight()
			const periods = 40
			most := 0
			for range periods {
				before := len(w.ScaleWrites())
				w.Pass(horizontaltest.Period)
				most = max(most, len(w.ScaleWrites())-before)
			}
			if writes := len(w.ScaleWrites()); most > 2 || writes > periods+4 || writes < periods-4 {
				t.Errorf("triggers %t: %d scale writes in %d sync periods, at most %d in one", triggers, writes, periods, most)
			}
			if got := w.Condition("web", statusreport.ReplicasOverridden); got != "True AnotherWriter" {
				t.Errorf("triggers %t: ReplicasOverridden is %s", triggers, got)
			}
			stop()
			w.Set(func() {
				if n := horizontaltest.Count(w.Events, "web Warning ReplicasOverridden: "+selfHeal+" sets the replica count"); n != 1 {
					t.Errorf("triggers %t: %d events name the other writer: %q", triggers, n, w.Events[:min(9, len(w.Events))])
				}
			})
			w.Pass(2 * horizontaltest.Period)
			if got := w.Replicas("web"); got <= 2 {
				t.Errorf("triggers %t: the other writer is gone, and there are %d replicas", triggers, got)
			}
			w.Pass(31 * time.Minute)
			if got := w.Condition("web", statusreport.ReplicasOverridden); got != "False NoOtherWriter" {
				t.Errorf("triggers %t: half an hour later ReplicasOverridden is %s", triggers, got)
			}
		})
	}
}

// A tool that sets the count back every few minutes delays no decision, and is reported too.
func TestASlowWriterIsNamed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.Set(func() { w.Usage = 200 })
		w.Start(func(c *controllerhorizontal.Config) { c.Triggers = true })
		w.Pass(horizontaltest.Period)
		for range 3 {
			if w.HasEvent(statusreport.ReplicasOverridden) {
				t.Error("a person may scale now and then, and is named by an event")
			}
			w.Pass(3 * time.Minute)
			w.setBack("web", 2)
			w.Pass(time.Second)
			if got := w.Replicas("web"); got <= 2 {
				t.Errorf("a single change of the count is not answered at once: %d replicas", got)
			}
		}
		w.Pass(horizontaltest.Period)
		if !w.HasEvent(selfHeal + " sets the replica count of Deployment/shop/web too") {
			t.Error("no event names the other writer")
		}
	})
}

// A load that changes all the time does not reduce the writes of the count.
func TestLoadAloneIsNoOtherWriter(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.Start(func(c *controllerhorizontal.Config) { c.Triggers = true })
		for _, usage := range []int64{150, 200, 100, 250, 300, 100} {
			w.Set(func() { w.Usage = usage })
			w.Pass(horizontaltest.Period)
		}
		if w.HasEvent(statusreport.ReplicasOverridden) {
			t.Error("an event names another writer")
		}
	})
}
