package flags

import (
	"errors"
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
)

// Check notes a flag whose value cannot work, with what it must be.
type Check func(fine bool, flag string, value any, want string)

// Errors are the flags whose values cannot work.
type Errors struct{ all []error }

// Check is a Check.
func (e *Errors) Check(fine bool, flag string, value any, want string) {
	if !fine {
		e.all = append(e.all, &cmderror.Error{
			What: fmt.Sprintf("--%s=%v", flag, value), Why: want, Flag: flag, Value: fmt.Sprint(value),
		})
	}
}

// Add adds an error that names its flags itself; nil is none.
func (e *Errors) Add(err error) { e.all = append(e.all, err) }

// Join is all of them as one error about the command line; nil if there are none.
func (e *Errors) Join() error { return cmderror.Usage(errors.Join(e.all...)) }
