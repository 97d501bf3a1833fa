// Package vertical has the types of the vertical decisions: resources, amounts, recommendations and the settings of a
// VerticalPodAutoscaler. The packages below decide.
package vertical

// Resource is a resource that is recommended.
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

// Amount is an amount of a resource: thousandths of a core, or bytes.
type Amount int64

// Format is the notation of an amount. It does not change the amount.
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
	// roundedUp is set if the original was smaller by a fraction of a unit, as 1.2Gi is no whole number of bytes.
	roundedUp [Resources]bool
}

// Of returns amounts of both resources.
func Of(cpuMilli, memoryBytes Amount) Amounts {
	return Amounts{}.With(CPU, cpuMilli).With(Memory, memoryBytes)
}

// Get returns the amount; false if there is none.
func (a Amounts) Get(r Resource) (Amount, bool) { return a.amount[r], a.set[r] }

// With returns a with this amount, in the format that r has in a.
func (a Amounts) With(r Resource, amount Amount) Amounts {
	a.amount[r], a.set[r], a.roundedUp[r] = amount, true, false
	return a
}

// RoundedUp returns a with the mark that the amount of r was rounded up to a whole unit.
func (a Amounts) RoundedUp(r Resource) Amounts {
	a.roundedUp[r] = true
	return a
}

// Take returns a with the amount of r of other, in its notation.
func (a Amounts) Take(r Resource, other Amounts) Amounts {
	a.amount[r], a.set[r], a.format[r] = other.amount[r], other.set[r], other.format[r]
	a.roundedUp[r] = other.roundedUp[r]
	return a
}

// AtMost returns the largest whole amount that does not exceed the original, for use as a bound; false if there is
// none.
func (a Amounts) AtMost(r Resource) (Amount, bool) {
	if a.roundedUp[r] {
		return a.amount[r] - 1, a.set[r]
	}
	return a.amount[r], a.set[r]
}

// RoundedDown returns a with the largest whole amounts that do not exceed the originals.
func (a Amounts) RoundedDown() Amounts {
	for r := range Resource(Resources) {
		if amount, has := a.AtMost(r); has {
			a = a.With(r, amount)
		}
	}
	return a
}

// Format returns the notation of the amount of r.
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

// Differs reports whether a and b have other amounts of r, or only one of them has one. The notation does not count.
func (a Amounts) Differs(b Amounts, r Resource) bool {
	return a.amount[r] != b.amount[r] || a.set[r] != b.set[r]
}

// IsEmpty reports whether there are no amounts.
func (a Amounts) IsEmpty() bool { return a.set == [Resources]bool{} }

// Recommendation has the recommended requests of one container.
type Recommendation struct {
	Container string
	// Target is the goal; requests between Lower and Upper are close enough.
	Target, Lower, Upper Amounts
	// Uncapped is the target before the object's minimum and maximum.
	Uncapped Amounts
}

// Resized has the requests and limits of a container before its start-up boost, or after a change.
type Resized struct {
	Requests, Limits Amounts
}
