package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
)

// Cluster reads and writes the objects. A write that depends on what was read fails with
// a conflict if the object has changed since.
type Cluster interface {
	// State reads both objects.
	State(ctx context.Context, name types.NamespacedName) (*State, error)
	CreateHPA(ctx context.Context, hpa *unstructured.Unstructured) error
	// DeleteHPA deletes the HPA as it was read.
	DeleteHPA(ctx context.Context, read *unstructured.Unstructured) error
	CreateWorkloadAutoscaler(ctx context.Context, w *plimsollv1alpha1.WorkloadAutoscaler) error
	// SetMode changes the WorkloadAutoscaler as it was read: its mode and the annotation
	// convert.Migrating, which is removed if it is empty.
	SetMode(
		ctx context.Context, read *plimsollv1alpha1.WorkloadAutoscaler, mode plimsollv1alpha1.Mode, migrating string,
	) error
	// DeleteWorkloadAutoscaler deletes the WorkloadAutoscaler as it was read.
	DeleteWorkloadAutoscaler(ctx context.Context, read *plimsollv1alpha1.WorkloadAutoscaler) error
}

// Runner migrates objects.
type Runner struct {
	Cluster Cluster
	// Backup keeps the manifest of an HPA before the HPA is deleted, and returns where.
	Backup func(*unstructured.Unstructured) (string, error)
	// Report takes a line about an object.
	Report func(name types.NamespacedName, message string)
	// Poll is how long to wait between two reads.
	Poll time.Duration
	// Timeout bounds the wait for a controller or a deletion.
	Timeout time.Duration
}

// Conflicts are retried this often: other writers change the status of both objects.
const maxAttempts = 20

// Prepare does what precedes the comparison: the WorkloadAutoscaler is in mode Preview
// afterwards, or active if an earlier run had deleted the HPA. It returns the next step,
// DeleteHPA or Done.
func (r *Runner) Prepare(ctx context.Context, name types.NamespacedName) (Step, error) {
	return r.run(ctx, name, (*State).Forward, DeleteHPA)
}

// Finish does the rest.
func (r *Runner) Finish(ctx context.Context, name types.NamespacedName) error {
	_, err := r.run(ctx, name, (*State).Forward, Done)
	return err
}

// Back restores the HPA.
func (r *Runner) Back(ctx context.Context, name types.NamespacedName) error {
	_, err := r.run(ctx, name, (*State).Back, Done)
	return err
}

// run takes step after step, until the one before which it stops.
func (r *Runner) run(
	ctx context.Context, name types.NamespacedName, next func(*State) (Step, error), stop Step,
) (Step, error) {
	t := turn{deadline: time.Now().Add(r.Timeout)}
	for {
		state, err := r.Cluster.State(ctx, name)
		if err != nil {
			if err := r.again(ctx, &t, err); err != nil {
				return "", err
			}
			continue
		}
		step, err := next(state)
		if err != nil || step == stop || step == Done {
			return step, err
		}
		if step == AwaitDeletion {
			if err := r.await(ctx, t.deadline); err != nil {
				return step, fmt.Errorf("waiting for the deletion: %w", err)
			}
			continue
		}
		if step == DeleteHPA || step == Deactivate {
			// Afterwards neither acts until the next step: an interrupt waits for that one, and
			// an error of the connection does not end the run.
			ctx, t.mustFinish = context.WithoutCancel(ctx), true
		}
		if err := r.take(ctx, name, step, state); err != nil {
			if err := r.again(ctx, &t, err); err != nil {
				return step, err
			}
			continue
		}
		t.conflicts = 0
	}
}

// turn is what run keeps from step to step.
type turn struct {
	deadline   time.Time
	conflicts  int
	mustFinish bool
}

// again is nil if the objects are to be read again after the error, now or after a pause.
func (r *Runner) again(ctx context.Context, t *turn, err error) error {
	switch {
	case isRetried(err) && t.conflicts < maxAttempts:
		t.conflicts++
		return nil
	case t.mustFinish && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
		if r.await(ctx, t.deadline) == nil {
			return nil
		}
	}
	return err
}

// errChanged is returned where an object has changed since it was read.
var errChanged = errors.New("the WorkloadAutoscaler was changed meanwhile")

// isRetried reports whether another writer was faster, so that the objects must be read
// again.
func isRetried(err error) bool {
	return errors.Is(err, errChanged) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) ||
		apierrors.IsNotFound(err)
}

var errTimeout = errors.New("it takes too long; run the command again later")

func (r *Runner) await(ctx context.Context, deadline time.Time) error {
	if time.Now().After(deadline) {
		return errTimeout
	}
	select {
	case <-time.After(r.Poll):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take takes one step: at most one write.
func (r *Runner) take(ctx context.Context, name types.NamespacedName, step Step, s *State) error {
	report := func(format string, args ...any) { r.Report(name, fmt.Sprintf(format, args...)) }
	switch step {
	case CreatePreview:
		result, err := convert.Preview(s.HPA)
		if err != nil {
			return err
		}
		if n := result.Losses(); n > 0 {
			return fmt.Errorf("%d fields have no counterpart, first %s: %s",
				n, result.Findings[0].Field, result.Findings[0].Message)
		}
		return done(r.Cluster.CreateWorkloadAutoscaler(ctx, result.WorkloadAutoscaler), report,
			"WorkloadAutoscaler created in mode Preview")
	case DeletePreview:
		return done(r.Cluster.DeleteWorkloadAutoscaler(ctx, s.WorkloadAutoscaler), report,
			"the HPA has changed: WorkloadAutoscaler of mode Preview deleted")
	case DeleteHPA:
		file, err := r.Backup(convert.Manifest(s.HPA))
		if err != nil {
			return err
		}
		return done(r.Cluster.DeleteHPA(ctx, s.HPA), report, "HPA deleted; its manifest is in %s", file)
	case Activate:
		return done(r.Cluster.SetMode(ctx, s.WorkloadAutoscaler, plimsollv1alpha1.ModeActive, ""), report,
			"WorkloadAutoscaler set to mode Active")
	}
	return r.takeBack(ctx, name, step, s)
}

func (r *Runner) takeBack(ctx context.Context, name types.NamespacedName, step Step, s *State) error {
	report := func(format string, args ...any) { r.Report(name, fmt.Sprintf(format, args...)) }
	switch step {
	case Deactivate:
		return done(r.Cluster.SetMode(ctx, s.WorkloadAutoscaler, plimsollv1alpha1.ModePreview, convert.ToHPA), report,
			"WorkloadAutoscaler set to mode Preview")
	case CreateHPA:
		hpa, err := convert.ToManifest(s.WorkloadAutoscaler)
		if err != nil {
			return err
		}
		if err := r.awaitObserved(ctx, name); err != nil {
			return err
		}
		return done(r.Cluster.CreateHPA(ctx, hpa), report, "HPA created")
	case DeleteWorkloadAutoscaler:
		return done(r.Cluster.DeleteWorkloadAutoscaler(ctx, s.WorkloadAutoscaler), report, "WorkloadAutoscaler deleted")
	}
	return fmt.Errorf("step %s is not known", step)
}

func done(err error, report func(string, ...any), format string, args ...any) error {
	if err == nil {
		report(format, args...)
	}
	return err
}

// awaitObserved waits until the controller has observed that the WorkloadAutoscaler no
// longer acts. A controller that does not run does not act either, so that the wait ends.
func (r *Runner) awaitObserved(ctx context.Context, name types.NamespacedName) error {
	for deadline := time.Now().Add(r.Timeout); ; {
		s, err := r.Cluster.State(ctx, name)
		if err != nil {
			return err
		}
		w := s.WorkloadAutoscaler
		if w == nil || !s.isPreview() {
			return errChanged
		}
		if w.Status.ObservedGeneration == nil || *w.Status.ObservedGeneration >= w.Generation {
			return nil
		}
		switch err := r.await(ctx, deadline); {
		case errors.Is(err, errTimeout):
			r.Report(name, "the controller has not observed the mode Preview in time; going on")
			return nil
		case err != nil:
			return err
		}
	}
}
