package flags

import (
	"errors"
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
)

// Check records an error unless the value of the flag is fine; want says which values are.
type Check func(fine bool, flag string, value any, want string)

// Errors collects the errors about values of flags.
type Errors struct{ all []error }

// Check is a function of type Check.
func (e *Errors) Check(fine bool, flag string, value any, want string) {
	if !fine {
		e.all = append(e.all, &cmderror.Error{
			What: fmt.Sprintf("--%s=%v", flag, value), Why: want, Flag: flag, Value: fmt.Sprint(value),
		})
	}
}

// Add adds an error whose text names the flags; nil adds nothing.
func (e *Errors) Add(err error) { e.all = append(e.all, err) }

// Join returns all errors as one usage error; nil if there are none.
func (e *Errors) Join() error { return cmderror.Usage(errors.Join(e.all...)) }
