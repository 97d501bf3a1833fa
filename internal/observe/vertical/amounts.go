package vertical

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	core "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// AmountsOf reads CPU and memory, rounded up to thousandths and bytes; other
// resources are left out.
func AmountsOf(list corev1.ResourceList) core.Amounts {
	var amounts core.Amounts
	if q, ok := list[corev1.ResourceCPU]; ok {
		amounts = amounts.With(core.CPU, core.Amount(q.MilliValue()))
	}
	if q, ok := list[corev1.ResourceMemory]; ok {
		amounts = amounts.With(core.Memory, core.Amount(q.Value()))
	}
	return amounts
}

// ListOf writes amounts as upstream does: memory in bytes without a suffix,
// whatever its size. Nil is for none.
func ListOf(amounts core.Amounts) corev1.ResourceList {
	var list corev1.ResourceList
	for r := range core.Resource(core.Resources) {
		amount, ok := amounts.Get(r)
		if !ok {
			continue
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[NameOf(r)] = *QuantityOf(r, amount)
	}
	return list
}

// QuantityOf is one amount, in upstream's format.
func QuantityOf(r core.Resource, amount core.Amount) *resource.Quantity {
	if r == core.CPU {
		return resource.NewMilliQuantity(int64(amount), resource.DecimalSI)
	}
	return resource.NewQuantity(int64(amount), resource.DecimalSI)
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
