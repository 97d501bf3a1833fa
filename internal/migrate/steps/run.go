package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
)

// Cluster reads and writes the objects. A write that depends on a read object fails with a conflict if that has changed
// since.
type Cluster interface {
	// State reads the objects.
	State(ctx context.Context, name types.NamespacedName) (*State, error)
	// Remove deletes the HPA as it was read, or pauses the ScaledObject.
	Remove(ctx context.Context, read *State) error
	// Restore creates the object of the manifest, or resumes the ScaledObject as it was read.
	Restore(ctx context.Context, read *State, manifest *unstructured.Unstructured) error
	CreateWorkloadAutoscaler(ctx context.Context, w *plimsollv1alpha1.WorkloadAutoscaler) error
	// SetMode changes the WorkloadAutoscaler as it was read: its mode and the annotation
	// convert.Migrating, which is removed if it is empty.
	SetMode(
		ctx context.Context, read *plimsollv1alpha1.WorkloadAutoscaler, mode plimsollv1alpha1.Mode, migrating string,
	) error
	// CheckTarget returns an error if the target of the HPA is known to be missing, or to have no scale.
	CheckTarget(ctx context.Context, hpa *unstructured.Unstructured) error
	// DeleteWorkloadAutoscaler deletes the WorkloadAutoscaler as it was read.
	DeleteWorkloadAutoscaler(ctx context.Context, read *plimsollv1alpha1.WorkloadAutoscaler) error
}

// Runner migrates objects.
type Runner struct {
	Cluster Cluster
	// Backup saves the manifest of the original before it is deleted or paused, and returns the file.
	Backup func(*unstructured.Unstructured) (string, error)
	// MayRestore returns an error if the manifest must not be restored: it comes from an annotation, which every user
	// who may change the WorkloadAutoscaler can write, and is restored with the permissions of the command's user.
	MayRestore func(manifest *unstructured.Unstructured) error
	// Report receives a line about an object, Warn one that the user must not miss.
	Report, Warn func(name types.NamespacedName, message string)
	// Poll is the time between two reads.
	Poll time.Duration
	// Timeout bounds the wait for a controller or a deletion.
	Timeout time.Duration
	// AcceptsDifferences also replaces objects that never wanted the same count as their WorkloadAutoscalers, and objects
	// with a metric that kube-controller-manager cannot read.
	AcceptsDifferences bool
}

// Conflicts are retried this often at once, and then until the timeout: other writers change the status of the objects.
const maxAttempts = 20

// Prepare does the steps before the comparison: afterwards the original acts and the WorkloadAutoscaler shows its
// decisions, or isDone is set because the original is gone.
func (r *Runner) Prepare(ctx context.Context, name types.NamespacedName) (isDone bool, err error) {
	return r.forward(ctx, name, Activate, Remove)
}

// errNotCompared is returned if the conversion now gives another WorkloadAutoscaler than the compared one.
var errNotCompared = errors.New("it was changed after the comparison, so it stays; run the command again")

// Finish does the remaining steps. It never starts over: it only activates the compared WorkloadAutoscaler.
func (r *Runner) Finish(ctx context.Context, name types.NamespacedName) error {
	isDone, err := r.forward(ctx, name, CreatePreview, DeletePreview)
	if err == nil && !isDone {
		return errNotCompared
	}
	return err
}

// errUnread is returned if KEDA does not serve the metrics of a paused ScaledObject.
var errUnread = errors.New("its metrics cannot be read any more")

func (r *Runner) forward(ctx context.Context, name types.NamespacedName, stops ...Step) (isDone bool, err error) {
	step, err := r.run(ctx, name, (*State).Forward, stops...)
	if errors.Is(err, errUnread) {
		if undone := r.Back(ctx, name); undone != nil {
			return false, fmt.Errorf("%w; undoing that: %w", err, undone)
		}
		err = fmt.Errorf("%w; the ScaledObject is resumed, the WorkloadAutoscaler deleted", err)
	}
	return step == Done, err
}

// Back restores the original.
func (r *Runner) Back(ctx context.Context, name types.NamespacedName) error {
	_, err := r.run(ctx, name, (*State).Back)
	return err
}

// run does step after step, until the end or a step before which it stops.
func (r *Runner) run(
	ctx context.Context, name types.NamespacedName, next func(*State) (Step, error), stops ...Step,
) (Step, error) {
	conflicts, deadline := 0, time.Now().Add(r.Timeout)
	for {
		state, err := r.Cluster.State(ctx, name)
		if err != nil {
			return "", err
		}
		step, err := next(state)
		if err != nil || step == Done || slices.Contains(stops, step) {
			return step, err
		}
		if step, awaited := state.awaits(step); awaited != "" {
			if err := r.await(ctx, step, deadline); err != nil {
				return step, fmt.Errorf("waiting for %s: %w", awaited, err)
			}
			continue
		}
		switch err := r.runStep(ctx, name, step, state); {
		case err == nil:
			conflicts = 0
		case !isRetried(err):
			return step, err
		default:
			if conflicts++; conflicts < maxAttempts {
				continue
			}
			if waited := r.await(ctx, step, deadline); waited != nil {
				return step, fmt.Errorf("%w: %w", waited, err)
			}
		}
	}
}

// awaits returns what to wait for instead of the step; empty if nothing. When the user has answered, the comparison may
// be long over, and the controller may have ended since. A decision on the Active object shows that it runs.
func (s *State) awaits(step Step) (instead Step, what string) {
	switch step {
	case AwaitDeletion:
		return step, "a deletion"
	case AwaitKEDA:
		return step, "KEDA"
	case Remove:
		if why := problem(s.HPA, s.WorkloadAutoscaler); why != "" {
			return AwaitController, "Plimsoll's controller, so the " + s.Kind + " stays: " + why
		}
	}
	return step, ""
}

// isRetried reports whether another writer was faster, so that the objects must be read
// again.
func isRetried(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

var errTimeout = errors.New("it takes too long; run the command again later")

// controllerPoll is the time between two reads while waiting for Plimsoll's controller, which decides on a change at
// once.
const controllerPoll = 200 * time.Millisecond

func (r *Runner) await(ctx context.Context, step Step, deadline time.Time) error {
	if time.Now().After(deadline) {
		return errTimeout
	}
	pause := r.Poll
	if step == AwaitController {
		pause = min(pause, controllerPoll)
	}
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// runStep makes at most one write.
func (r *Runner) runStep(ctx context.Context, name types.NamespacedName, step Step, s *State) error {
	w, report := s.WorkloadAutoscaler, ""
	var err error
	switch step {
	case CreatePreview:
		report, err = "WorkloadAutoscaler created in mode Preview", r.createPreview(ctx, name, s)
	case DeletePreview:
		report = "the " + s.Kind + " has changed: WorkloadAutoscaler deleted"
		err = r.Cluster.DeleteWorkloadAutoscaler(ctx, w)
	case Activate:
		report = "WorkloadAutoscaler set to mode Active; it waits for the HPA to be gone"
		err = r.Cluster.SetMode(ctx, w, plimsollv1alpha1.ModeActive, convert.Forward)
	case Remove:
		report, err = r.remove(ctx, s)
	case Complete:
		report, err = "the WorkloadAutoscaler scales", r.complete(ctx, name, s)
	case Mark:
		report, err = "marked", r.mark(ctx, name, s)
	case Restore:
		report, err = r.restore(ctx, s)
	case DeleteWorkloadAutoscaler:
		report, err = "WorkloadAutoscaler deleted", r.Cluster.DeleteWorkloadAutoscaler(ctx, w)
	default:
		err = fmt.Errorf("step %s is not known", step)
	}
	if err == nil {
		r.Report(name, report)
	}
	return err
}

// checkReadable refuses objects that cannot be compared: an HPA without a target, or with a metric that
// kube-controller-manager cannot read.
func (r *Runner) checkReadable(ctx context.Context, hpa *unstructured.Unstructured) error {
	if c := conditionOf(hpa, scalingActive); isUnscalable(hpa) && !r.AcceptsDifferences {
		return fmt.Errorf("kube-controller-manager cannot read a metric of the HPA (%v: %v): correct that first; "+
			"--accept-differences replaces the HPA all the same", c["reason"], c["message"])
	}
	return r.Cluster.CheckTarget(ctx, hpa)
}

// createPreview creates the WorkloadAutoscaler, unless something would be lost, or cannot be compared.
func (r *Runner) createPreview(ctx context.Context, name types.NamespacedName, s *State) error {
	err := r.checkReadable(ctx, s.HPA)
	var result *convert.Result
	if err == nil {
		result, err = s.convert()
	}
	if err == nil {
		_, err = CheckResult(ctx, result)
	}
	if err != nil {
		return err
	}
	if n := result.Losses(); n > 0 {
		f := result.FirstLoss()
		return fmt.Errorf("%d fields are not migrated, first %s: %s", n, f.Field, f.Message)
	}
	for _, f := range result.Findings {
		r.Warn(name, fmt.Sprintf("%s: note: %s", f.Field, f.Message))
	}
	return r.Cluster.CreateWorkloadAutoscaler(ctx, result.WorkloadAutoscaler)
}

// convert returns the WorkloadAutoscaler in mode Preview.
func (s *State) convert() (*convert.Result, error) {
	var result *convert.Result
	var err error
	if s.isOfKEDA() {
		result, err = keda.FromScaledObject(s.Original, keda.Options{
			HPA: keda.DecodeHPA(s.HPA), IsNative: s.IsNative, Authentications: s.Authentications,
		})
	} else {
		result, err = convert.FromHPA(s.Original)
	}
	if err == nil {
		err = result.Preview(s.Original)
	}
	return result, err
}

func (r *Runner) remove(ctx context.Context, s *State) (report string, err error) {
	file, err := r.Backup(convert.Manifest(s.Original))
	if err != nil {
		return "", err
	}
	done := "HPA deleted"
	if s.isOfKEDA() {
		done = "ScaledObject paused"
	}
	return done + "; its manifest is in " + file, r.Cluster.Remove(ctx, s)
}

// complete removes the mark. KEDA's documentation does not promise to serve the external metrics of a paused
// ScaledObject, so complete first checks for a while that they can be read.
func (r *Runner) complete(ctx context.Context, name types.NamespacedName, s *State) error {
	isServed := func(m plimsollv1alpha1.MetricSpec) bool { return m.External != nil }
	if s.isOfKEDA() && slices.ContainsFunc(s.WorkloadAutoscaler.Spec.Metrics, isServed) {
		r.Report(name, fmt.Sprintf("checking for %s that the metrics can still be read", r.Timeout))
		for deadline := time.Now().Add(r.Timeout); r.await(ctx, Complete, deadline) == nil; {
			continue
		}
		var err error
		if s, err = r.Cluster.State(ctx, name); err != nil {
			return err
		}
		if s.WorkloadAutoscaler == nil || !s.isGone() {
			return nil // The objects determine the next step.
		}
		if why := unread(s.WorkloadAutoscaler); why != "" {
			return fmt.Errorf("%w: %s", errUnread, why)
		}
	}
	mode := s.WorkloadAutoscaler.Spec.Mode
	if mode != plimsollv1alpha1.ModePaused {
		// In Preview the target would have no autoscaler, because the user has paused the other one.
		mode = plimsollv1alpha1.ModeActive
	}
	return r.Cluster.SetMode(ctx, s.WorkloadAutoscaler, mode, "")
}

// mark marks that the migration is undone, and warns of what is lost.
func (r *Runner) mark(ctx context.Context, name types.NamespacedName, s *State) error {
	manifest, err := s.manifest()
	if err == nil {
		err = r.MayRestore(manifest)
	}
	if err != nil {
		return err
	}
	for _, f := range Lost(s.WorkloadAutoscaler, manifest) {
		r.Warn(name, fmt.Sprintf("%s: not migrated: %s", f.Field, f.Message))
	}
	return r.Cluster.SetMode(ctx, s.WorkloadAutoscaler, s.WorkloadAutoscaler.Spec.Mode, convert.Back)
}

func (r *Runner) restore(ctx context.Context, s *State) (report string, err error) {
	manifest, err := s.manifest()
	if err == nil {
		err = r.MayRestore(manifest)
	}
	if err != nil {
		return "", err
	}
	return s.Kind + " restored", r.Cluster.Restore(ctx, s, manifest)
}
