package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// crash is the panic of a killed process.
type crash struct{}

// fake is the API server with one HPA and one WorkloadAutoscaler.
type fake struct {
	t       rapid.TB
	state   State
	version int
	// writes counts the writes. The process is killed before or after the one of this number; never if it is 0.
	writes, crashBefore, crashAfter int
	// isControllerGone is set if no controller decides on the WorkloadAutoscaler.
	isControllerGone bool
	// mayBePaused is set if neither object has to act.
	mayBePaused bool
	// onState is called before each read.
	onState func()
	// mayNotRestore is the reason why the manifest must not be restored; nil if it may.
	mayNotRestore error
	// noTarget is the result of CheckTarget.
	noTarget error
	// fails is the error of each write; nil for none.
	fails error
	log   []string
}

func testHPA(maxReplicas int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
		"metadata": map[string]any{"namespace": web.Namespace, "name": web.Name,
			"labels": map[string]any{"team": "checkout"}},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
			"minReplicas":    int64(2), "maxReplicas": maxReplicas,
		},
	}}
}

// store sets the fields that the API server sets.
func (f *fake) store(o metav1.Object) {
	f.version++
	o.SetResourceVersion(fmt.Sprint(f.version))
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprint("uid-", f.version)))
	}
}

// hpaActs and wlaActs report which of the two would scale.
func (f *fake) hpaActs() bool { return f.state.HPA != nil }
func (f *fake) wlaActs() bool {
	w := f.state.WorkloadAutoscaler
	return w != nil && w.Spec.Mode == plimsollv1alpha1.ModeActive && f.state.HPA == nil
}

// write plays one write: it fails, or changes the state, and may kill the process.
func (f *fake) write(what string, change func() error) error {
	if f.fails != nil {
		return f.fails
	}
	f.writes++
	if f.writes == f.crashBefore {
		panic(crash{})
	}
	if err := change(); err != nil {
		return err
	}
	f.log = append(f.log, what)
	if f.hpaActs() == f.wlaActs() && !f.mayBePaused {
		f.t.Fatalf("not exactly one acts after %v", f.log)
	}
	if f.writes == f.crashAfter {
		panic(crash{})
	}
	return nil
}

func (f *fake) State(context.Context, types.NamespacedName) (*State, error) {
	if f.onState != nil {
		f.onState()
	}
	s := &State{Kind: "HorizontalPodAutoscaler"}
	if f.state.HPA != nil {
		s.HPA = f.state.HPA.DeepCopy()
		s.Original = s.HPA
	}
	if w := f.state.WorkloadAutoscaler; w != nil {
		if !f.isControllerGone {
			decide(w, f.state.HPA != nil)
		}
		s.WorkloadAutoscaler = w.DeepCopy()
	}
	return s, nil
}

// decide plays a decision of Plimsoll's controller.
func decide(w *plimsollv1alpha1.WorkloadAutoscaler, hasHPA bool) {
	w.Status.ObservedGeneration = ptr.To(w.Generation)
	if w.Status.Conditions = nil; hasHPA {
		w.Status.Conditions = []metav1.Condition{
			{Type: "AbleToScale", Status: metav1.ConditionTrue, Reason: anotherAutoscaler},
		}
	}
}

func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, web.Name, errors.New("it has changed"))
}

// asRead returns a conflict if the object has changed since it was read.
func asRead(read, now metav1.Object) error {
	if read.GetUID() != now.GetUID() || read.GetResourceVersion() != now.GetResourceVersion() {
		return conflict()
	}
	return nil
}

func exists() error {
	return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "objects"}, web.Name)
}

func (f *fake) Restore(_ context.Context, _ *State, hpa *unstructured.Unstructured) error {
	return f.write("create HPA", func() error {
		if f.state.HPA != nil {
			return exists()
		}
		f.state.HPA = hpa.DeepCopy()
		f.store(f.state.HPA)
		return nil
	})
}

func (f *fake) Remove(_ context.Context, read *State) error {
	return f.write("delete HPA", func() error {
		if f.state.HPA == nil {
			return apierrors.NewNotFound(schema.GroupResource{}, web.Name)
		}
		if err := asRead(read.Original, f.state.HPA); err != nil {
			return err
		}
		f.state.HPA = nil
		return nil
	})
}

func (f *fake) CreateWorkloadAutoscaler(_ context.Context, w *plimsollv1alpha1.WorkloadAutoscaler) error {
	return f.write("create WLA", func() error {
		if f.state.WorkloadAutoscaler != nil {
			return exists()
		}
		f.state.WorkloadAutoscaler = w.DeepCopy()
		f.store(f.state.WorkloadAutoscaler)
		return nil
	})
}

func (f *fake) SetMode(
	_ context.Context, read *plimsollv1alpha1.WorkloadAutoscaler, mode plimsollv1alpha1.Mode, migrating string,
) error {
	return f.write(fmt.Sprintf("set %s %s", mode, migrating), func() error {
		w := f.state.WorkloadAutoscaler
		if err := asRead(read, w); err != nil {
			return err
		}
		if w.Spec.Mode != mode {
			w.Generation++
		}
		w.Spec.Mode = mode
		delete(w.Annotations, convert.Migrating)
		if migrating != "" {
			w.Annotations[convert.Migrating] = migrating
		}
		f.store(w)
		return nil
	})
}

func (f *fake) CheckTarget(context.Context, *unstructured.Unstructured) error { return f.noTarget }

func (f *fake) DeleteWorkloadAutoscaler(_ context.Context, read *plimsollv1alpha1.WorkloadAutoscaler) error {
	return f.write("delete WLA", func() error {
		if err := asRead(read, f.state.WorkloadAutoscaler); err != nil {
			return err
		}
		f.state.WorkloadAutoscaler = nil
		return nil
	})
}

func newFake(t rapid.TB) *fake {
	f := &fake{t: t, state: State{HPA: testHPA(10)}}
	f.store(f.state.HPA)
	return f
}

func (f *fake) runner() *Runner {
	return &Runner{
		Cluster: f, Timeout: time.Minute, Poll: time.Second,
		Report: func(types.NamespacedName, string) {}, Warn: func(types.NamespacedName, string) {},
		Backup:     func(*unstructured.Unstructured) (string, error) { return "web.hpa.yaml", nil },
		MayRestore: func(*unstructured.Unstructured) error { return f.mayNotRestore },
	}
}

func (f *fake) forward() error {
	isDone, err := f.runner().Prepare(context.Background(), web)
	if err == nil && !isDone {
		err = f.runner().Finish(context.Background(), web)
	}
	return err
}

func (f *fake) back() error { return f.runner().Back(context.Background(), web) }

// killed calls run, which may kill the process.
func killed(run func() error) (isKilled bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, isKilled = r.(crash); !isKilled {
				panic(r)
			}
		}
	}()
	return false, run()
}

// isForward and isBack report that the migration is complete.
func (f *fake) isForward() bool {
	w := f.state.WorkloadAutoscaler
	return f.state.HPA == nil && f.wlaActs() && w.Annotations[convert.Migrating] == ""
}

func (f *fake) isBack() bool {
	return f.state.HPA != nil && f.state.WorkloadAutoscaler == nil &&
		fmt.Sprint(convert.Manifest(f.state.HPA).Object) == fmt.Sprint(testHPA(10).Object)
}

// The process is killed before or after any write: the next run finishes, the two never act at the same time, and the
// remaining object is complete.
func TestKilledAtAnyWrite(t *testing.T) {
	for direction := range 2 {
		for at := range 5 {
			for _, isBefore := range []bool{true, false} {
				name := fmt.Sprintf("back=%d at=%d before=%t", direction, at, isBefore)
				t.Run(name, func(t *testing.T) { killAt(t, direction == 1, at, isBefore) })
			}
		}
	}
}

func killAt(t *testing.T, isBack bool, at int, isBefore bool) {
	f := newFake(t)
	run, isDone := f.forward, f.isForward
	if isBack {
		if err := f.forward(); err != nil {
			t.Fatal(err)
		}
		run, isDone = f.back, f.isBack
		f.writes = 0
	}
	if isBefore {
		f.crashBefore = at
	} else {
		f.crashAfter = at
	}
	isKilled, err := killed(run)
	if err != nil {
		t.Fatal(err)
	}
	writes := 4
	if isBack {
		writes = 3
	}
	if want := at >= 1 && at <= writes; isKilled != want {
		t.Fatalf("killed: %t, want %t: %v", isKilled, want, f.log)
	}
	f.crashBefore, f.crashAfter = 0, 0
	if err := run(); err != nil {
		t.Fatal(err)
	}
	if !isDone() {
		t.Errorf("after the second run: %v: %+v", f.log, f.state)
	}
	if err := run(); err != nil || len(f.log) > 7 {
		t.Errorf("a third run has nothing to do: %v, %v", err, f.log)
	}
}

// Conflicts are retried until the timeout, and the error has the user's next step. No other error is retried.
func TestConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, f := time.Now(), newFake(t)
		f.fails = conflict()
		if err := f.forward(); !errors.Is(err, errTimeout) || !apierrors.IsConflict(err) ||
			time.Since(began) < time.Minute || time.Since(began) > 2*time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		began = time.Now()
		f.onState = func() {
			if time.Since(began) > 30*time.Second {
				f.fails = nil
			}
		}
		if err := f.forward(); err != nil || !f.isForward() {
			t.Errorf("%v: %v", err, f.log)
		}
		began, f = time.Now(), newFake(t)
		f.fails = apierrors.NewForbidden(schema.GroupResource{}, web.Name, errors.New("no"))
		if err := f.forward(); !apierrors.IsForbidden(err) || time.Since(began) > 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// In any sequence of runs in both directions, killed at any point, while others change the objects' status, the two
// never act at the same time, and a run that is not killed finishes.
func TestAnyInterruptions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFake(rt)
		f.onState = func() {
			// Some writes conflict, but not endlessly.
			if f.writes < 200 && f.state.HPA != nil && rapid.IntRange(0, 3).Draw(rt, "touch") == 0 {
				f.version++
				f.state.HPA.SetResourceVersion(fmt.Sprint(f.version))
			}
		}
		for range rapid.IntRange(1, 8).Draw(rt, "runs") {
			run := f.forward
			if rapid.Bool().Draw(rt, "back") {
				run = f.back
			}
			f.writes = 0
			f.crashBefore, f.crashAfter = rapid.IntRange(0, 4).Draw(rt, "before"), rapid.IntRange(0, 4).Draw(rt, "after")
			if _, err := killed(run); err != nil {
				rt.Fatalf("%v after %v", err, f.log)
			}
		}
		f.writes, f.crashBefore, f.crashAfter = 0, 0, 0
		if err := f.forward(); err != nil || !f.isForward() {
			rt.Fatalf("forward: %v, %v: %+v", err, f.log, f.state)
		}
		if err := f.back(); err != nil || !f.isBack() {
			rt.Fatalf("back: %v, %v: %+v", err, f.log, f.state)
		}
	})
}

// If the HPA is changed or the WorkloadAutoscaler deleted after the comparison, the HPA stays. The next run compares
// again.
func TestChangedAfterTheComparison(t *testing.T) {
	for name, change := range map[string]func(*fake){
		"the HPA is changed": func(f *fake) {
			_ = unstructured.SetNestedField(f.state.HPA.Object, int64(50), "spec", "maxReplicas")
			f.store(f.state.HPA)
		},
		"the WorkloadAutoscaler is deleted": func(f *fake) { f.state.WorkloadAutoscaler = nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			if _, err := f.runner().Prepare(t.Context(), web); err != nil {
				t.Fatal(err)
			}
			change(f)
			if err := f.runner().Finish(t.Context(), web); !errors.Is(err, errNotCompared) || !f.hpaActs() {
				t.Errorf("%v: %v", err, f.log)
			}
			if err := f.forward(); err != nil || !f.isForward() {
				t.Errorf("%v: %v", err, f.log)
			}
		})
	}
}

// If the controller ends after it has decided on the Preview, or cannot read a metric any more, the HPA stays, however
// long the user took to answer.
func TestControllerThatEndsAfterTheComparison(t *testing.T) {
	for why, end := range map[string]func(*fake){
		"does it run": func(f *fake) { f.isControllerGone = true },
		"cannot read cpu": func(f *fake) {
			f.onState = func() {
				f.state.WorkloadAutoscaler.Status.Metrics = []plimsollv1alpha1.MetricStatus{
					{Name: "cpu", Failure: &plimsollv1alpha1.MetricFailure{Message: "no metrics"}},
				}
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			if _, err := f.runner().Prepare(t.Context(), web); err != nil {
				t.Fatal(err)
			}
			f.setHPA(map[string]any{"type": ableToScale, "status": "True"})
			all, err := f.runner().Observe(t.Context(), []types.NamespacedName{web}, 0, func(time.Duration) {})
			if err != nil || all[0].Problem != "" {
				t.Fatalf("%+v, %v", all, err)
			}
			end(f)
			err = f.runner().Finish(t.Context(), web)
			if !errors.Is(err, errTimeout) || !strings.Contains(err.Error(), why) || !f.hpaActs() {
				t.Errorf("%v: %v", err, f.log)
			}
			f.isControllerGone, f.onState, f.state.WorkloadAutoscaler.Status.Metrics = false, nil, nil
			if err := f.forward(); err != nil || !f.isForward() {
				t.Errorf("%v: %v", err, f.log)
			}
		})
	}
}

// A WorkloadAutoscaler that its user has paused after the HPA was deleted stays paused when the migration is completed.
func TestPausedBeforeTheLastStep(t *testing.T) {
	f := newFake(t)
	f.crashAfter = 3
	if isKilled, err := killed(f.forward); !isKilled || err != nil || f.hpaActs() {
		t.Fatal(isKilled, err, f.log)
	}
	f.crashAfter = 0
	w := f.state.WorkloadAutoscaler
	w.Spec.Mode = plimsollv1alpha1.ModePaused
	f.mayBePaused = true
	err := f.forward()
	if w = f.state.WorkloadAutoscaler; err != nil || w.Spec.Mode != plimsollv1alpha1.ModePaused ||
		w.Annotations[convert.Migrating] != "" {
		t.Errorf("%v: mode %s: %v", err, w.Spec.Mode, f.log)
	}
}

// docs/from-hpa.md documents the writes and their order.
func TestWrites(t *testing.T) {
	f := newFake(t)
	if err := errors.Join(f.forward(), f.back()); err != nil {
		t.Fatal(err)
	}
	const want = "create WLA, set Active forward, delete HPA, set Active , set Active back, create HPA, delete WLA"
	if got := strings.Join(f.log, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An HPA that was edited after the Preview was created is not replaced by its earlier spec.
func TestEditedHPA(t *testing.T) {
	f := newFake(t)
	f.crashAfter = 1
	if isKilled, err := killed(f.forward); !isKilled || err != nil {
		t.Fatal(isKilled, err)
	}
	f.crashAfter = 0
	f.state.HPA = testHPA(20)
	f.store(f.state.HPA)
	if err := f.forward(); err != nil || !f.isForward() || f.state.WorkloadAutoscaler.Spec.MaxReplicas != 20 {
		t.Errorf("%v, %v", err, f.log)
	}
}

// With these states of other users' objects, nothing is written.
func TestRefused(t *testing.T) {
	active := func(f *fake) *plimsollv1alpha1.WorkloadAutoscaler {
		r, err := convert.FromHPA(f.state.HPA)
		if err == nil {
			err = r.Preview(f.state.HPA)
		}
		if err != nil {
			t.Fatal(err)
		}
		w := r.WorkloadAutoscaler
		w.Spec.Mode = plimsollv1alpha1.ModeActive
		delete(w.Annotations, convert.Migrating)
		return w
	}
	for name, c := range map[string]struct {
		prepare func(*fake)
		want    string
	}{
		"nothing": {func(f *fake) { f.state = State{} }, "neither"},
		"a WorkloadAutoscaler of the user": {func(f *fake) {
			f.state.WorkloadAutoscaler = active(f)
			maps.DeleteFunc(f.state.WorkloadAutoscaler.Annotations, func(string, string) bool { return true })
		}, "not made by"},
		"an HPA that came back": {func(f *fake) { f.state.WorkloadAutoscaler = active(f) }, "created again"},
		"an HPA of KEDA": {func(f *fake) {
			yes := true
			f.state.HPA.SetOwnerReferences([]metav1.OwnerReference{
				{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Name: "web", Controller: &yes}})
		}, "ScaledObject web controls"},
		"an HPA with a field of the future": {func(f *fake) {
			_ = unstructured.SetNestedField(f.state.HPA.Object, int64(1), "spec", "future")
		}, "spec.future"},
		"an HPA without a target": {func(f *fake) {
			f.setHPA(map[string]any{"type": "AbleToScale", "status": "False", "reason": "FailedGetScale",
				"message": `deployments.apps "web" not found`})
		}, `deployments.apps "web" not found`},
		"an HPA whose target was never there": {func(f *fake) { f.noTarget = errors.New("does not exist") },
			"does not exist"},
		"an HPA with a metric that nobody reads": {func(f *fake) {
			f.setHPA(map[string]any{"type": "ScalingActive", "status": "False", "reason": "FailedGetExternalMetric",
				"message": "no such metric"})
		}, "FailedGetExternalMetric: no such metric"},
		"an HPA that the API server would refuse": {func(f *fake) {
			_ = unstructured.SetNestedField(f.state.HPA.Object, int64(0), "spec", "maxReplicas")
		}, "spec.maxReplicas: the API server refuses"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			c.prepare(f)
			if err := f.forward(); err == nil || !strings.Contains(err.Error(), c.want) || len(f.log) > 0 {
				t.Errorf("error %v, want %q; writes %v", err, c.want, f.log)
			}
		})
	}
}

// setHPA sets the conditions of the HPA's status.
func (f *fake) setHPA(conditions ...any) {
	_ = unstructured.SetNestedSlice(f.state.HPA.Object, conditions, "status", "conditions")
}

// A manifest that must not be restored leads to no write, not even of the mark; the WorkloadAutoscaler stays and acts.
func TestMayNotRestore(t *testing.T) {
	f := newFake(t)
	if err := f.forward(); err != nil {
		t.Fatal(err)
	}
	f.log, f.mayNotRestore = nil, errors.New("no file has it")
	if err := f.back(); !errors.Is(err, f.mayNotRestore) || len(f.log) > 0 || !f.wlaActs() {
		t.Errorf("%v, writes %v", err, f.log)
	}
	// An earlier run that was permitted has set the mark.
	f.state.WorkloadAutoscaler.Annotations[convert.Migrating] = convert.Back
	if err := f.back(); !errors.Is(err, f.mayNotRestore) || len(f.log) > 0 || !f.wlaActs() {
		t.Errorf("marked: %v, writes %v", err, f.log)
	}
}

// A restored object is like a newly applied one: it has neither owners nor finalizers.
func TestRestoresNoOwners(t *testing.T) {
	f := newFake(t)
	if err := f.forward(); err != nil {
		t.Fatal(err)
	}
	forged := testHPA(10)
	forged.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "mine", UID: "1"}})
	forged.SetFinalizers([]string{"example.com/mine"})
	text, err := json.Marshal(forged.Object)
	if err != nil {
		t.Fatal(err)
	}
	f.state.WorkloadAutoscaler.Annotations[convert.MigratedFrom] = string(text)
	if err := f.back(); err != nil || !f.isBack() || f.state.HPA.GetOwnerReferences() != nil ||
		f.state.HPA.GetFinalizers() != nil {
		t.Errorf("%v: %+v", err, f.state.HPA)
	}
}

// An HPA that was created for another target meanwhile does not replace the WorkloadAutoscaler.
func TestBackBesideAnotherTarget(t *testing.T) {
	f := newFake(t)
	if err := f.forward(); err != nil {
		t.Fatal(err)
	}
	other := testHPA(10)
	_ = unstructured.SetNestedField(other.Object, "other", "spec", "scaleTargetRef", "name")
	f.store(other)
	f.state.HPA, f.log = other, nil
	err := f.runner().Back(t.Context(), web)
	if err == nil || !strings.Contains(err.Error(), "another target") || len(f.log) > 0 {
		t.Errorf("%v, writes %v", err, f.log)
	}
}

// The deletion of an HPA with a finalizer takes time: the WorkloadAutoscaler waits for it.
func TestAwaitsDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		if _, err := f.runner().Prepare(t.Context(), web); err != nil {
			t.Fatal(err)
		}
		now := metav1.Now()
		f.state.HPA.SetDeletionTimestamp(&now)
		reads := 0
		f.onState = func() {
			if reads++; reads == 5 {
				f.state.HPA = nil
			}
		}
		if err := f.runner().Finish(t.Context(), web); err != nil || !f.isForward() || reads < 5 {
			t.Errorf("%v, %v, %d reads", err, f.log, reads)
		}
	})
}

// A comparison counts how often both want the same, and names the reasons against replacing the HPA.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.isControllerGone = true
		if _, err := f.runner().Prepare(t.Context(), web); err != nil {
			t.Fatal(err)
		}
		all, err := f.runner().Observe(t.Context(), []types.NamespacedName{web}, 3*time.Second, func(time.Duration) {})
		if err != nil || all[0].Problem != notDecided || all[0].Samples != 0 {
			t.Errorf("without a controller: %+v, %v", all, err)
		}
		generation := int64(0)
		status := &f.state.WorkloadAutoscaler.Status
		status.ObservedGeneration, status.DesiredReplicas, status.CurrentReplicas = &generation, 4, 3
		status.Summary = &plimsollv1alpha1.Summary{Reason: "cpu"}
		all, err = f.runner().Observe(t.Context(), []types.NamespacedName{web}, 0, func(time.Duration) {})
		if err != nil || all[0].Problem != notSeen {
			t.Errorf("the controller does not know the HPA: %+v, %v", all, err)
		}
		status.Conditions = []metav1.Condition{{Type: "AbleToScale", Status: metav1.ConditionFalse, Reason: "FailedGetScale",
			Message: "deployments web not found"}}
		all, err = f.runner().Observe(t.Context(), []types.NamespacedName{web}, 0, func(time.Duration) {})
		if err != nil || !strings.Contains(all[0].Problem, "cannot scale (FailedGetScale): deployments web not found") {
			t.Errorf("the controller cannot read the target: %+v, %v", all, err)
		}
		yields := metav1.Condition{Type: "AbleToScale", Status: metav1.ConditionTrue, Reason: anotherAutoscaler}
		status.Conditions = []metav1.Condition{yields}
		_ = unstructured.SetNestedField(f.state.HPA.Object, int64(4), "status", "desiredReplicas")
		began := time.Now()
		f.onState = func() {
			if time.Since(began) >= 3*time.Second {
				status.DesiredReplicas = 6
			}
		}
		all, err = f.runner().Observe(t.Context(), []types.NamespacedName{web}, 4*time.Second, func(time.Duration) {})
		if err != nil {
			t.Fatal(err)
		}
		want := Comparison{Name: web, Samples: 5, Equal: 3, HPA: 4, WorkloadAutoscaler: 6, Replicas: 3,
			LargestDifference: 2, Reason: "cpu"}
		if all[0] != want {
			t.Errorf("got %+v, want %+v", all[0], want)
		}
		status.Conditions = []metav1.Condition{yields, {Type: scalingActive, Status: metav1.ConditionFalse,
			Reason: "FailedGetResourceMetric", Message: "no metrics"}}
		all, _ = f.runner().Observe(t.Context(), []types.NamespacedName{web}, 0, func(time.Duration) {})
		var table strings.Builder
		err = WriteTable(&table, all)
		if err != nil || !strings.Contains(table.String(), "not replaced") ||
			!strings.Contains(all[0].Problem, "FailedGetResourceMetric") {
			t.Errorf("%s, %+v, %v", table.String(), all, err)
		}
	})
}

// TestTableFits: a row that is wider than the terminal goes on in a line of its own.
func TestTableFits(t *testing.T) {
	const width = 80
	var table strings.Builder
	name := types.NamespacedName{Namespace: strings.Repeat("n", 30), Name: strings.Repeat("w", 30)}
	err := WriteTable(output.NewWrapped(&table, width), []Comparison{{Name: name, Samples: 5, Equal: 3, HPA: 4, Reason: "preview: cpu"}})
	if err != nil || !strings.Contains(table.String(), "cpu") {
		t.Fatalf("%v\n%s", err, &table)
	}
	for line := range strings.Lines(table.String()) {
		if len(strings.TrimSuffix(line, "\n")) > width {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}

// If the two never want the same count, or no controller decides on the HPA, it is not replaced.
func TestRefusesByTheComparison(t *testing.T) {
	able := map[string]any{"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"}
	unread := map[string]any{"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric"}
	for name, c := range map[string]struct {
		conditions []any
		desired    int64
		accepts    bool
		want       string
	}{
		"the same":                        {[]any{able}, 1, false, ""},
		"another count":                   {[]any{able}, 2, false, "never wanted the same count (at the end the HPA 2"},
		"another count, accepted":         {[]any{able}, 2, true, ""},
		"an HPA without a first decision": {[]any{able, unread}, 0, false, "the HPA 0, the WorkloadAutoscaler 1"},
		"an HPA that nobody decides on":   {nil, 0, false, hpaNotDecided},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				if _, err := f.runner().Prepare(t.Context(), web); err != nil {
					t.Fatal(err)
				}
				f.state.WorkloadAutoscaler.Status.DesiredReplicas = 1
				if c.conditions != nil {
					f.setHPA(c.conditions...)
				}
				_ = unstructured.SetNestedField(f.state.HPA.Object, c.desired, "status", "desiredReplicas")
				r := f.runner()
				r.AcceptsDifferences = c.accepts
				all, err := r.Observe(t.Context(), []types.NamespacedName{web}, 4*time.Second, func(time.Duration) {})
				if err != nil || (all[0].Problem == "") != (c.want == "") || !strings.Contains(all[0].Problem, c.want) {
					t.Errorf("%+v, %v", all, err)
				}
			})
		})
	}
}

// A ScaledObject exists before and after the migration; this checks each next step.
func TestScaledObject(t *testing.T) {
	object := func(paused bool) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "keda.sh/v1alpha1", "kind": keda.Kind}}
		o.SetNamespace(web.Namespace)
		o.SetName(web.Name)
		if paused {
			o.SetAnnotations(map[string]string{keda.AnnotationPaused: "true"})
		}
		return o
	}
	of := func(mode plimsollv1alpha1.Mode, mark string) *plimsollv1alpha1.WorkloadAutoscaler {
		r := convert.Result{WorkloadAutoscaler: convert.New(object(false))}
		if err := r.Preview(object(false)); err != nil {
			t.Fatal(err)
		}
		w := r.WorkloadAutoscaler
		w.Spec.Mode = mode
		if w.Annotations[convert.Migrating] = mark; mark == "" {
			delete(w.Annotations, convert.Migrating)
		}
		return w
	}
	const active, preview = plimsollv1alpha1.ModeActive, plimsollv1alpha1.ModePreview
	hpa := testHPA(10)
	state := func(o, hpa *unstructured.Unstructured, w *plimsollv1alpha1.WorkloadAutoscaler) State {
		return State{Original: o, HPA: hpa, WorkloadAutoscaler: w}
	}
	for name, c := range map[string]struct {
		state         State
		forward, back Step
	}{
		"as KEDA has it":         {state(object(false), hpa, nil), CreatePreview, Done},
		"in Preview":             {state(object(false), hpa, of(preview, "forward")), Activate, DeleteWorkloadAutoscaler},
		"about to be paused":     {state(object(false), hpa, of(active, "forward")), Remove, DeleteWorkloadAutoscaler},
		"KEDA deletes its HPA":   {state(object(true), hpa, of(active, "forward")), AwaitKEDA, Restore},
		"KEDA has deleted it":    {state(object(true), nil, of(active, "forward")), Complete, Mark},
		"migrated":               {state(object(true), nil, of(active, "")), Done, Mark},
		"about to be resumed":    {state(object(true), nil, of(active, "back")), Complete, Restore},
		"KEDA has to make it":    {state(object(false), nil, of(active, "back")), AwaitKEDA, AwaitKEDA},
		"KEDA has made it again": {state(object(false), hpa, of(active, "back")), Remove, DeleteWorkloadAutoscaler},
		"paused by its user":     {state(object(true), nil, nil), "resume it first", Done},
		"KEDA does not run":      {state(object(false), nil, nil), "does KEDA run", Done},
		"resumed by its user":    {state(object(false), hpa, of(active, "")), "pause it again", DeleteWorkloadAutoscaler},
	} {
		c.state.Kind = keda.Kind
		if step, err := c.state.Forward(); step != c.forward &&
			(err == nil || !strings.Contains(err.Error(), string(c.forward))) {
			t.Errorf("%s: next is %s, %v, want %s", name, step, err, c.forward)
		}
		if step, err := c.state.Back(); step != c.back || err != nil {
			t.Errorf("%s: back, next is %s, %v, want %s", name, step, err, c.back)
		}
	}
}

// The annotation is the manifest that was applied.
func TestAnnotation(t *testing.T) {
	f := newFake(t)
	if _, err := f.runner().Prepare(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	var manifest map[string]any
	err := json.Unmarshal([]byte(f.state.WorkloadAutoscaler.Annotations[convert.MigratedFrom]), &manifest)
	metadata, _ := manifest["metadata"].(map[string]any)
	if err != nil || metadata["uid"] != nil || metadata["resourceVersion"] != nil || metadata["name"] != "web" {
		t.Errorf("%v, %v", manifest, err)
	}
}
