// Package steps replaces HPAs by WorkloadAutoscalers on a cluster, and back.
//
// A migration is a few writes. What is next follows from the two objects alone, so that a
// run that was killed after any write is finished by the next one:
//
//	HPA   WorkloadAutoscaler                      next
//	yes   no                                      create the WorkloadAutoscaler in Preview
//	yes   Preview, of another state of the HPA    delete the WorkloadAutoscaler, begin again
//	yes   Preview                                 compare, write the file, delete the HPA
//	no    Preview, marked as migrating            activate the WorkloadAutoscaler
//	no    not marked                              nothing: it is migrated
//
// and back:
//
//	any   not marked                              Preview, marked
//	no    Preview, marked                         create the HPA
//	yes   Preview, marked                         delete the WorkloadAutoscaler
//
// At no time do both act. None acts between two writes, at most.
package steps

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
)

// State is an HPA and the WorkloadAutoscaler of the same name; nil where there is none.
type State struct {
	HPA                *unstructured.Unstructured
	WorkloadAutoscaler *plimsollv1alpha1.WorkloadAutoscaler
}

// Step is what is next.
type Step string

// The steps.
const (
	// CreatePreview creates the WorkloadAutoscaler in mode Preview.
	CreatePreview Step = "CreatePreview"
	// DeletePreview deletes a Preview that was made of another state of the HPA.
	DeletePreview Step = "DeletePreview"
	// DeleteHPA compares, writes the file and deletes the HPA.
	DeleteHPA Step = "DeleteHPA"
	// AwaitDeletion waits until an object that is being deleted is gone.
	AwaitDeletion Step = "AwaitDeletion"
	// Activate sets the WorkloadAutoscaler to Active.
	Activate Step = "Activate"
	// Deactivate sets the WorkloadAutoscaler to Preview.
	Deactivate Step = "Deactivate"
	// CreateHPA creates the HPA again.
	CreateHPA Step = "CreateHPA"
	// DeleteWorkloadAutoscaler deletes the WorkloadAutoscaler, once the HPA is back.
	DeleteWorkloadAutoscaler Step = "DeleteWorkloadAutoscaler"
	// Done is the end.
	Done Step = "Done"
)

// ErrNone is returned where there is neither an HPA nor a WorkloadAutoscaler.
var ErrNone = errors.New("there is neither a HorizontalPodAutoscaler nor a WorkloadAutoscaler of this name")

func (s *State) isMigrated() bool {
	_, has := s.WorkloadAutoscaler.Annotations[convert.MigratedFrom]
	return has
}

func (s *State) isMigrating() bool {
	_, has := s.WorkloadAutoscaler.Annotations[convert.Migrating]
	return has
}

func (s *State) isPreview() bool {
	return s.WorkloadAutoscaler.Spec.Mode == plimsollv1alpha1.ModePreview
}

func (s *State) isBeingDeleted() bool {
	return s.HPA != nil && s.HPA.GetDeletionTimestamp() != nil ||
		s.WorkloadAutoscaler != nil && s.WorkloadAutoscaler.DeletionTimestamp != nil
}

// Forward is the next step towards the WorkloadAutoscaler.
func (s *State) Forward() (Step, error) {
	w := s.WorkloadAutoscaler
	switch {
	case s.HPA == nil && w == nil:
		return "", ErrNone
	case s.isBeingDeleted():
		return AwaitDeletion, nil
	case w == nil:
		return CreatePreview, checkOwner(s.HPA)
	case !s.isMigrated():
		return "", errors.New("the WorkloadAutoscaler of this name was not made by plimsoll migrate: delete or rename it")
	case s.HPA == nil && s.isMigrating() && s.isPreview():
		return Activate, nil
	case s.HPA == nil:
		return Done, nil
	case !s.isMigrating() || !s.isPreview():
		return "", fmt.Errorf("the HorizontalPodAutoscaler exists beside a WorkloadAutoscaler of mode %s that replaced it: "+
			"whatever created it again must stop, then delete it", w.Spec.Mode)
	}
	from, err := convert.ToManifest(w)
	if err != nil {
		return "", err
	}
	if !equality.Semantic.DeepEqual(from.Object, convert.Manifest(s.HPA).Object) {
		return DeletePreview, nil
	}
	return DeleteHPA, checkOwner(s.HPA)
}

// Back is the next step towards the HPA.
func (s *State) Back() (Step, error) {
	switch {
	case s.HPA == nil && s.WorkloadAutoscaler == nil:
		return "", ErrNone
	case s.isBeingDeleted():
		return AwaitDeletion, nil
	case s.WorkloadAutoscaler == nil:
		return Done, nil
	case !s.isMigrated():
		return "", errors.New("the WorkloadAutoscaler was not made by plimsoll migrate: there is no HPA to restore")
	case !s.isPreview() || s.WorkloadAutoscaler.Annotations[convert.Migrating] != convert.ToHPA:
		return Deactivate, nil
	case s.HPA == nil:
		return CreateHPA, nil
	}
	return DeleteWorkloadAutoscaler, nil
}

// checkOwner refuses an HPA that a controller would make again.
func checkOwner(hpa *unstructured.Unstructured) error {
	if owner := metav1.GetControllerOf(hpa); owner != nil {
		return fmt.Errorf("%s %s controls the HorizontalPodAutoscaler and would create it again", owner.Kind, owner.Name)
	}
	return nil
}
