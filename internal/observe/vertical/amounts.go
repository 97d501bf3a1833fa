package vertical

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// AmountsOf converts CPU and memory, rounded up to thousandths and bytes, with the formats in which they are written;
// it omits other resources. A value that overflows 64 bits becomes the largest number, and never 0.
func AmountsOf(list corev1.ResourceList) vertical.Amounts {
	var amounts vertical.Amounts
	if q, ok := list[corev1.ResourceCPU]; ok {
		amounts = with(amounts, vertical.CPU, &q, quantity.Milli(&q), resource.Milli)
	}
	if q, ok := list[corev1.ResourceMemory]; ok {
		amounts = with(amounts, vertical.Memory, &q, quantity.Value(&q), 0)
	}
	return amounts
}

// with adds a quantity that was rounded up to this number of units.
func with(
	a vertical.Amounts, r vertical.Resource, q *resource.Quantity, units int64, of resource.Scale,
) vertical.Amounts {
	a = a.With(r, vertical.Amount(units)).In(r, formats[q.Format])
	if quantity.IsFraction(q, units, of) {
		return a.RoundedUp(r)
	}
	return a
}

// formats maps the API's formats to the core's. A quantity without one is decimal.
var formats = map[resource.Format]vertical.Format{
	resource.DecimalSI: vertical.DecimalSI, resource.BinarySI: vertical.BinarySI,
	resource.DecimalExponent: vertical.DecimalExponent,
}

// apiFormats maps the core's formats to the API's.
var apiFormats = [...]resource.Format{
	vertical.DecimalSI: resource.DecimalSI, vertical.BinarySI: resource.BinarySI,
	vertical.DecimalExponent: resource.DecimalExponent,
}

// ListOf writes amounts in their formats. Nil is for none.
func ListOf(amounts vertical.Amounts) corev1.ResourceList {
	var list corev1.ResourceList
	for r := range vertical.Resource(vertical.Resources) {
		if _, ok := amounts.Get(r); !ok {
			continue
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[NameOf(r)] = *QuantityOf(r, amounts)
	}
	return list
}

// QuantityOf returns the amount of r, in its format; 0 if there is none.
func QuantityOf(r vertical.Resource, amounts vertical.Amounts) *resource.Quantity {
	amount, _ := amounts.Get(r)
	format := apiFormats[amounts.Format(r)]
	if r == vertical.CPU {
		return resource.NewMilliQuantity(int64(amount), format)
	}
	return resource.NewQuantity(int64(amount), format)
}

// NameOf returns the API's name of a resource.
func NameOf(r vertical.Resource) corev1.ResourceName { return corev1.ResourceName(r.String()) }

// resourceNamed returns the resource of a name; false for those that are not autoscaled.
func resourceNamed(name corev1.ResourceName) (vertical.Resource, bool) {
	switch name {
	case corev1.ResourceCPU:
		return vertical.CPU, true
	case corev1.ResourceMemory:
		return vertical.Memory, true
	}
	return 0, false
}
