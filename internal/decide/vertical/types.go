// Package vertical is the vocabulary of the vertical decisions: resources,
// amounts, recommendations and what a VerticalPodAutoscaler asks for. The
// packages below decide.
package vertical

// Resource is what a container can be given more or less of.
type Resource uint8

// The resources, in the order in which upstream names them.
const (
	CPU Resource = iota
	Memory

	// Resources is how many there are.
	Resources = 2
)

// String returns the API's name of the resource.
func (r Resource) String() string {
	if r == CPU {
		return "cpu"
	}
	return "memory"
}

// Amount is how much of a resource: thousandths of a core, or bytes.
type Amount int64

// Format is how an amount is written. It does not change the amount.
type Format uint8

// The formats of the API's quantities.
const (
	// DecimalSI is 209715200 or 200M.
	DecimalSI Format = iota
	// BinarySI is 200Mi.
	BinarySI
	// DecimalExponent is 200e6.
	DecimalExponent
)

// Amounts has an amount of each resource, or none. The zero value has none.
type Amounts struct {
	amount [Resources]Amount
	set    [Resources]bool
	format [Resources]Format
	// roundedUp says that what was written is a part of a unit less, as 1.2Gi is no whole number of bytes.
	roundedUp [Resources]bool
}

// Of returns amounts of both resources.
func Of(cpuMilli, memoryBytes Amount) Amounts {
	return Amounts{}.With(CPU, cpuMilli).With(Memory, memoryBytes)
}

// Get returns the amount, and whether there is one.
func (a Amounts) Get(r Resource) (Amount, bool) { return a.amount[r], a.set[r] }

// With returns a with this amount, in the format that r has in a.
func (a Amounts) With(r Resource, amount Amount) Amounts {
	a.amount[r], a.set[r], a.roundedUp[r] = amount, true, false
	return a
}

// RoundedUp returns a, of which the amount of r was rounded up to a whole unit.
func (a Amounts) RoundedUp(r Resource) Amounts {
	a.roundedUp[r] = true
	return a
}

// Take returns a with the amount of r that other has, as it was written.
func (a Amounts) Take(r Resource, other Amounts) Amounts {
	a.amount[r], a.set[r], a.format[r] = other.amount[r], other.set[r], other.format[r]
	a.roundedUp[r] = other.roundedUp[r]
	return a
}

// AtMost returns the largest whole amount that is not above what was written, and whether there is one: what a bound
// permits.
func (a Amounts) AtMost(r Resource) (Amount, bool) {
	if a.roundedUp[r] {
		return a.amount[r] - 1, a.set[r]
	}
	return a.amount[r], a.set[r]
}

// RoundedDown returns a with the largest whole amounts that are not above what was written.
func (a Amounts) RoundedDown() Amounts {
	for r := range Resource(Resources) {
		if amount, has := a.AtMost(r); has {
			a = a.With(r, amount)
		}
	}
	return a
}

// Format returns how the amount of r is written.
func (a Amounts) Format(r Resource) Format { return a.format[r] }

// In returns a with the amount of r written in this format.
func (a Amounts) In(r Resource, f Format) Amounts {
	a.format[r] = f
	return a
}

// Without returns a without an amount of r.
func (a Amounts) Without(r Resource) Amounts {
	a.amount[r], a.set[r], a.format[r], a.roundedUp[r] = 0, false, DecimalSI, false
	return a
}

// IsEmpty reports whether there is no amount at all.
func (a Amounts) IsEmpty() bool { return a.set == [Resources]bool{} }

// Recommendation is what one container should request.
type Recommendation struct {
	Container string
	// Target is wanted; requests between Lower and Upper are good enough.
	Target, Lower, Upper Amounts
	// Uncapped is the target before the owner's minimum and maximum.
	Uncapped Amounts
}

// Resized is what a container was given before its start-up boost, or is given
// now.
type Resized struct {
	Requests, Limits Amounts
}
