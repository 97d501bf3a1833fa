// Package snapshot reads and writes streams of snapshots: YAML or JSON documents, each a v1 List with all inputs of one
// decision, as the API's own objects and one object of Plimsoll's. A [Format] defines the contents of a document: the
// packages horizontal and vertical have one each.
package snapshot

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API version of Plimsoll's own objects in a snapshot.
var GroupVersion = schema.GroupVersion{Group: "plimsoll.dev", Version: "v1alpha1"}

// DivergencesAnnotation on Plimsoll's own object names the divergences that were in force when Plimsoll saved it. It is
// informational: an evaluation has its own.
const DivergencesAnnotation = "plimsoll.dev/divergences"

// Step is one document of a stream: the inputs of one decision.
type Step interface {
	// Add takes an item of the document.
	Add(item runtime.Object) error
	// Complete checks that the step can be decided, and sets the API's defaults.
	Complete() error
}

// Format is a kind of document.
type Format struct {
	// Marks are kinds of items that no document of another format has.
	Marks []string
	// Scheme has the kinds of items that the documents may contain.
	Scheme *runtime.Scheme
	// New is a step without items.
	New func() Step
}

// The errors of Add for items that it cannot take.
var (
	ErrSecond     = errors.New("second of its kind, a step has one")
	ErrListInList = errors.New("a list within the list")
)

// SetOnce sets an item of which a step has one.
func SetOnce[T any](field **T, item *T) error {
	if *field != nil {
		return ErrSecond
	}
	*field = item
	return nil
}

// Invalid returns the error of a field of the step's object of that kind.
func Invalid(kind, format string, args ...any) error {
	return fmt.Errorf("%s: %s", kind, fmt.Sprintf(format, args...))
}
