package updater

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
)

// slow is an API server that takes a second for each status write, or never finishes it if it is stuck.
type slow struct {
	mu      sync.Mutex
	busy    map[string]int      // guarded by mu
	most    int                 // guarded by mu; of one object at a time
	reasons map[string][]string // guarded by mu
	stuck   bool
}

func newSlow() *slow { return &slow{busy: map[string]int{}, reasons: map[string][]string{}} }

func (s *slow) UpdateStatus(
	ctx context.Context, object *vpav1.VerticalPodAutoscaler, change func(*vpav1.VerticalPodAutoscalerStatus) bool,
) (*vpav1.VerticalPodAutoscaler, error) {
	status := object.Status.DeepCopy()
	if !change(status) {
		return nil, nil
	}
	s.count(object.Name, 1)
	defer s.count(object.Name, -1)
	after := time.After(time.Second)
	if s.stuck {
		after = nil
	}
	select {
	case <-after:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range status.Conditions {
		s.reasons[object.Name] = append(s.reasons[object.Name], c.Reason)
	}
	return object, nil
}

func (s *slow) count(name string, change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[name] += change
	s.most = max(s.most, s.busy[name])
}

// of returns how many of the object's statuses are being written.
func (s *slow) of(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy[name]
}

// withConditions returns a conditionWriter whose objects have no conditions yet.
func withConditions(t *testing.T, statuses StatusClient, names ...string) *rig {
	t.Helper()
	r := newRig(t, func(c *Config) { c.Statuses = statuses }, names...)
	for _, object := range r.cfg.Autoscalers.GetStore().List() {
		object.(*vpav1.VerticalPodAutoscaler).Status.Conditions = nil
	}
	return r
}

func (r *rig) object(name string) *vpav1.VerticalPodAutoscaler {
	r.t.Helper()
	object, _, err := r.cfg.Autoscalers.GetStore().GetByKey(namespace + "/" + name)
	if err != nil {
		r.t.Fatal(err)
	}
	return object.(*vpav1.VerticalPodAutoscaler)
}

// Updates during the write of an object's condition wait, and only the last of them is written.
func TestTheLatestConditionIsWritten(t *testing.T) {
	statuses := newSlow()
	r := withConditions(t, statuses, "web", "api")
	web, api := r.object("web"), r.object("api")
	synctest.Test(t, func(t *testing.T) {
		r.conditions = newConditionWriter(statuses, r.cfg.Autoscalers.GetStore(), r.passes.metrics.conditions(), r.cfg.Log)
		end := r.conditions.Run(t.Context())
		set := func(vpa *vpav1.VerticalPodAutoscaler, reason string) {
			r.conditions.Set(vpa, condition.Condition{Type: report.Type, Reason: reason}, nil)
		}
		set(web, "first")
		synctest.Wait()
		set(web, "second")
		set(web, "third")
		set(api, "another")
		synctest.Wait()
		if web, api := statuses.of("web"), statuses.of("api"); web != 1 || api != 1 {
			t.Errorf("at a time: %d of web, %d of api", web, api)
		}
		if got := testutil.ToFloat64(r.passes.metrics.waiting); got != 3 {
			t.Errorf("%g writes are not over, want two of web", got)
		}
		end()
	})
	if got := testutil.ToFloat64(r.passes.metrics.waiting); got != 0 {
		t.Errorf("%g writes are not over in the end", got)
	}
	if want := []string{"first", "third"}; !slices.Equal(statuses.reasons["web"], want) || statuses.most != 1 {
		t.Errorf("web: %v, want %v, %d at a time", statuses.reasons["web"], want, statuses.most)
	}
	if want := []string{"another"}; !slices.Equal(statuses.reasons["api"], want) {
		t.Errorf("api: %v, want %v", statuses.reasons["api"], want)
	}
}

// The process ends although the API server does not respond, but not before DrainTimeout.
func TestConditionsDoNotKeepTheProcess(t *testing.T) {
	statuses := newSlow()
	statuses.stuck = true
	r := withConditions(t, statuses, "web")
	synctest.Test(t, func(t *testing.T) {
		writer := newConditionWriter(statuses, r.cfg.Autoscalers.GetStore(), r.passes.metrics.conditions(), r.cfg.Log)
		end := writer.Run(t.Context())
		writer.Set(r.object("web"), condition.Condition{Type: report.Type}, nil)
		began := time.Now()
		end()
		if took := time.Since(began); took != DrainTimeout {
			t.Errorf("the end took %s", took)
		}
	})
}

// Conditions of two types are written together, written is called for the changed ones, and not for an object that was
// replaced meanwhile.
func TestConditionsOfOneObjectAreWrittenTogether(t *testing.T) {
	r := newRig(t, nil, "web", "gone")
	told := map[string]int{}
	set := func(vpa *vpav1.VerticalPodAutoscaler, kind, counted string) {
		want := condition.Condition{Type: kind, Status: condition.True}
		r.conditions.Set(vpa, want, func() { told[counted]++ })
	}
	web, gone := r.object("web"), r.object("gone").DeepCopy()
	gone.UID = types.UID("before")
	for range 2 {
		set(web, "A", "A")
		set(web, "B", "B")
		set(gone, "A", "C")
		for r.conditions.Waiting() > 0 {
			r.conditions.WriteNext(t.Context())
		}
	}
	if told["A"] != 1 || told["B"] != 1 || told["C"] != 0 {
		t.Errorf("told: %v", told)
	}
	if got := len(r.written["web"]); got != 3 {
		t.Errorf("%d conditions are written, want A, B and the one that was there, once", got)
	}
}
