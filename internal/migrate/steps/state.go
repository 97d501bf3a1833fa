// Package steps replaces HPAs and KEDA's ScaledObjects by WorkloadAutoscalers on a cluster, and back.
//
// A migration is a few writes. A WorkloadAutoscaler does not act while its target has an HPA, and starts by itself when
// that is gone, so that after each write exactly one of them acts. The objects alone determine the next step: if a run
// is killed after any write, the next run finishes it.
//
//	original    WorkloadAutoscaler           next
//	acts        none                         create it in Preview
//	acts        made of what it was before   delete it, begin again
//	acts        Preview, marked              compare, set it to Active
//	acts        Active, marked               compare, delete the HPA or pause the ScaledObject
//	is gone     marked                       remove the mark
//	is gone     not marked                   nothing: it is migrated
//
// and back:
//
//	is gone     not marked                   mark it
//	is gone     marked                       create the HPA, or resume the ScaledObject
//	acts        any                          delete it
//
// The original is the HPA or the ScaledObject. A ScaledObject is gone when it is paused and KEDA has deleted its HPA,
// and acts when it is not paused and KEDA has created its HPA.
package steps

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
)

// State is an HPA or a ScaledObject and the WorkloadAutoscaler of the same name; nil where
// there is none.
type State struct {
	// Kind is that of the original.
	Kind     string
	Original *unstructured.Unstructured
	// HPA is the one that acts: the original itself, or the one that KEDA created for it.
	HPA                *unstructured.Unstructured
	WorkloadAutoscaler *plimsollv1alpha1.WorkloadAutoscaler
	// IsNative and Authentications are options of the conversion of a ScaledObject, as in keda.Options.
	IsNative        bool
	Authentications map[keda.Reference]*unstructured.Unstructured
}

// Step is the next step.
type Step string

// The steps.
const (
	// CreatePreview creates the WorkloadAutoscaler in mode Preview.
	CreatePreview Step = "CreatePreview"
	// DeletePreview deletes a WorkloadAutoscaler that comes from another state of the original, and that does not act.
	DeletePreview Step = "DeletePreview"
	// Activate sets the WorkloadAutoscaler to Active. The HPA still prevents it from acting.
	Activate Step = "Activate"
	// Remove writes the file, and deletes the HPA or pauses the ScaledObject.
	Remove Step = "Remove"
	// Complete removes the mark.
	Complete Step = "Complete"
	// Mark marks that the migration is to be undone.
	Mark Step = "Mark"
	// Restore creates the HPA again, or resumes the ScaledObject.
	Restore Step = "Restore"
	// DeleteWorkloadAutoscaler deletes the WorkloadAutoscaler, once the original acts.
	DeleteWorkloadAutoscaler Step = "DeleteWorkloadAutoscaler"
	// AwaitDeletion waits until an object that is being deleted is gone.
	AwaitDeletion Step = "AwaitDeletion"
	// AwaitKEDA waits until KEDA has deleted or created its HPA.
	AwaitKEDA Step = "AwaitKEDA"
	// AwaitController waits until Plimsoll's controller has decided on the WorkloadAutoscaler that is Active, and can
	// replace the original.
	AwaitController Step = "AwaitController"
	// Done is the end.
	Done Step = "Done"
)

// ErrNone is returned if there is neither the original nor a WorkloadAutoscaler.
var ErrNone = errors.New("there is neither such an object nor a WorkloadAutoscaler of this name")

func (s *State) isMigrated() bool {
	_, has := s.WorkloadAutoscaler.Annotations[convert.MigratedFrom]
	return has
}

func (s *State) isMarked() bool {
	_, has := s.WorkloadAutoscaler.Annotations[convert.Migrating]
	return has
}

func (s *State) isActive() bool {
	return s.WorkloadAutoscaler.Spec.Mode == plimsollv1alpha1.ModeActive
}

func (s *State) isBeingDeleted() bool {
	return s.HPA != nil && s.HPA.GetDeletionTimestamp() != nil ||
		s.Original != nil && s.Original.GetDeletionTimestamp() != nil ||
		s.WorkloadAutoscaler != nil && s.WorkloadAutoscaler.DeletionTimestamp != nil
}

func (s *State) isOfKEDA() bool { return s.Kind == keda.Kind }

// isPaused reports whether KEDA does not scale the ScaledObject's target.
func (s *State) isPaused() bool {
	return s.isOfKEDA() && (s.Original == nil || keda.IsPaused(s.Original))
}

// isGone reports whether the original has stopped acting for good.
func (s *State) isGone() bool {
	if s.isOfKEDA() {
		return s.isPaused() && s.HPA == nil
	}
	return s.HPA == nil
}

// isChanging reports whether KEDA has yet to delete or create its HPA.
func (s *State) isChanging() bool { return s.isOfKEDA() && s.isPaused() != (s.HPA == nil) }

// Forward returns the next step towards the WorkloadAutoscaler.
func (s *State) Forward() (Step, error) {
	w := s.WorkloadAutoscaler
	switch {
	case s.Original == nil && w == nil:
		return "", ErrNone
	case s.isBeingDeleted():
		return AwaitDeletion, nil
	case w == nil:
		return CreatePreview, s.check()
	case !s.isMigrated():
		return "", errors.New("the WorkloadAutoscaler of this name was not made by plimsoll migrate: delete or rename it")
	}
	from, err := s.manifest()
	if err != nil {
		return "", err
	}
	return s.continued(from)
}

// continued returns the next step towards a WorkloadAutoscaler that exists already.
func (s *State) continued(from *unstructured.Unstructured) (Step, error) {
	switch {
	case s.isGone() && s.isMarked():
		return Complete, nil
	case s.isGone():
		return Done, nil
	case !s.isMarked() && s.isOfKEDA():
		return "", errors.New("the ScaledObject was resumed beside the WorkloadAutoscaler that replaced it: pause it again")
	case !s.isMarked():
		return "", errors.New("the HorizontalPodAutoscaler was created again beside the WorkloadAutoscaler that " +
			"replaced it: whatever did that must stop, then delete it")
	case s.isChanging():
		return AwaitKEDA, nil
	case !equality.Semantic.DeepEqual(from.Object, convert.Manifest(s.Original).Object):
		return DeletePreview, nil
	case !s.isActive():
		return Activate, s.check()
	}
	return Remove, s.check()
}

// Back returns the next step towards the original.
func (s *State) Back() (Step, error) {
	w := s.WorkloadAutoscaler
	switch {
	case s.Original == nil && w == nil:
		return "", ErrNone
	case s.isBeingDeleted():
		return AwaitDeletion, nil
	case w == nil:
		return Done, nil
	case !s.isMigrated():
		return "", errors.New("the WorkloadAutoscaler was not made by plimsoll migrate: there is nothing to restore")
	}
	switch from, err := s.manifest(); {
	case err != nil:
		return "", err
	case s.isGone() && w.Annotations[convert.Migrating] != convert.Back:
		return Mark, nil
	case s.isGone(), s.isChanging() && s.isPaused():
		return Restore, nil
	case s.isChanging():
		return AwaitKEDA, nil
	case !s.isOfKEDA() && targetOf(s.HPA) != targetOf(from):
		return "", errors.New("the HorizontalPodAutoscaler of this name has another target than the one that was " +
			"replaced: give that one another name first, so that it can be restored")
	}
	return DeleteWorkloadAutoscaler, nil
}

// Restorable returns the manifest that Back would restore; nil if it restores nothing.
func (s *State) Restorable() *unstructured.Unstructured {
	if step, err := s.Back(); err != nil || step != Mark && step != Restore {
		return nil
	}
	manifest, err := s.manifest()
	if err != nil {
		return nil
	}
	return manifest
}

// targetOf returns the kind and the name of the HPA's target.
func targetOf(hpa *unstructured.Unstructured) (target [2]string) {
	for i, field := range []string{"kind", "name"} {
		target[i], _, _ = unstructured.NestedString(hpa.Object, "spec", "scaleTargetRef", field)
	}
	return target
}

func (s *State) manifest() (*unstructured.Unstructured, error) {
	from, err := convert.ToManifest(s.WorkloadAutoscaler)
	if err == nil && from.GetKind() != s.Kind {
		err = fmt.Errorf("the WorkloadAutoscaler of this name replaced a %s", from.GetKind())
	}
	return from, err
}

// check refuses an original that cannot be replaced.
func (s *State) check() error {
	if s.isOfKEDA() {
		switch {
		case s.isPaused():
			return errors.New("the ScaledObject is paused: resume it first")
		case s.HPA == nil:
			return errors.New("KEDA has created no HPA for the ScaledObject: does KEDA run?")
		}
		return checkTarget(s.HPA)
	}
	if owner := metav1.GetControllerOf(s.Original); owner != nil {
		return fmt.Errorf("%s %s controls the HorizontalPodAutoscaler and would create it again", owner.Kind, owner.Name)
	}
	return checkTarget(s.HPA)
}
