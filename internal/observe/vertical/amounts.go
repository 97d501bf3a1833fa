package vertical

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	core "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// AmountsOf reads CPU and memory, rounded up to thousandths and bytes, with the
// formats in which they are written; other resources are left out. What does not fit
// into 64 bits is the largest number that does, and never 0.
func AmountsOf(list corev1.ResourceList) core.Amounts {
	var amounts core.Amounts
	if q, ok := list[corev1.ResourceCPU]; ok {
		amounts = amounts.With(core.CPU, core.Amount(quantity.Milli(&q))).In(core.CPU, formats[q.Format])
	}
	if q, ok := list[corev1.ResourceMemory]; ok {
		amounts = amounts.With(core.Memory, core.Amount(quantity.Value(&q))).In(core.Memory, formats[q.Format])
	}
	return amounts
}

// formats are the core's for the API's. A quantity without one is decimal.
var formats = map[resource.Format]core.Format{
	resource.DecimalSI: core.DecimalSI, resource.BinarySI: core.BinarySI, resource.DecimalExponent: core.DecimalExponent,
}

// apiFormats are the API's for the core's.
var apiFormats = [...]resource.Format{
	core.DecimalSI: resource.DecimalSI, core.BinarySI: resource.BinarySI, core.DecimalExponent: resource.DecimalExponent,
}

// ListOf writes amounts in their formats. Nil is for none.
func ListOf(amounts core.Amounts) corev1.ResourceList {
	var list corev1.ResourceList
	for r := range core.Resource(core.Resources) {
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

// QuantityOf is the amount of r, in its format; 0 if there is none.
func QuantityOf(r core.Resource, amounts core.Amounts) *resource.Quantity {
	amount, _ := amounts.Get(r)
	format := apiFormats[amounts.Format(r)]
	if r == core.CPU {
		return resource.NewMilliQuantity(int64(amount), format)
	}
	return resource.NewQuantity(int64(amount), format)
}

// NameOf is the API's name of a resource.
func NameOf(r core.Resource) corev1.ResourceName { return corev1.ResourceName(r.String()) }

// resourceNamed is the resource of a name; false for those that nobody controls.
func resourceNamed(name corev1.ResourceName) (core.Resource, bool) {
	switch name {
	case corev1.ResourceCPU:
		return core.CPU, true
	case corev1.ResourceMemory:
		return core.Memory, true
	}
	return 0, false
}
