package objects

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// eachItem visits the items of one type of the workload's LimitRanges.
func (c *Collection) eachItem(w *Workload, of corev1.LimitType, visit func(*corev1.LimitRangeItem) (isEnough bool)) {
	for _, r := range c.indexed().ranges[w.Namespace] {
		for i := range r.Limits {
			if r.Limits[i].Type == of && visit(&r.Limits[i]) {
				return
			}
		}
	}
}

// RequestOf is what the container asks for once the API server has filled in what it fills in: a limit stands for a
// missing request, and a LimitRange for both.
func (c *Collection) RequestOf(w *Workload, container Container, name corev1.ResourceName) (resource.Quantity, bool) {
	if q, ok := container.Resources.Requests[name]; ok {
		return q, true
	}
	if q, ok := container.Resources.Limits[name]; ok {
		return q, true
	}
	var found resource.Quantity
	ok := false
	c.eachItem(w, corev1.LimitTypeContainer, func(item *corev1.LimitRangeItem) bool {
		found, ok = defaultRequestOf(item, name)
		return ok
	})
	return found, ok
}

// LimitOf is the limit that the API server will know: the container's own, or the one that a LimitRange gives it.
func (c *Collection) LimitOf(
	w *Workload, container Container, name corev1.ResourceName,
) (q resource.Quantity, own, ok bool) {
	if q, ok := container.Resources.Limits[name]; ok {
		return q, true, true
	}
	c.eachItem(w, corev1.LimitTypeContainer, func(item *corev1.LimitRangeItem) bool {
		q, ok = defaultLimitOf(item, name)
		return ok
	})
	return q, false, ok
}

// defaultLimitOf is the limit of a container without one. The API server takes the max where an item has no default
// (pkg/apis/core/v1, SetDefaults_LimitRangeItem).
func defaultLimitOf(item *corev1.LimitRangeItem, name corev1.ResourceName) (resource.Quantity, bool) {
	if q, ok := item.Default[name]; ok {
		return q, true
	}
	q, ok := item.Max[name]
	return q, ok
}

// defaultRequestOf is the request of a container without one: the default limit where an item has no default request,
// and the min where it has neither.
func defaultRequestOf(item *corev1.LimitRangeItem, name corev1.ResourceName) (resource.Quantity, bool) {
	if q, ok := item.DefaultRequest[name]; ok {
		return q, true
	}
	if q, ok := defaultLimitOf(item, name); ok {
		return q, true
	}
	q, ok := item.Min[name]
	return q, ok
}

// Bounds are the highest min and the lowest max of the workload's LimitRanges for containers, or for pods; nil where
// there is none.
func (c *Collection) Bounds(
	w *Workload, of corev1.LimitType, name corev1.ResourceName,
) (least, most *resource.Quantity) {
	c.eachItem(w, of, func(item *corev1.LimitRangeItem) bool {
		if q, ok := item.Min[name]; ok && (least == nil || q.Cmp(*least) > 0) {
			least = &q
		}
		if q, ok := item.Max[name]; ok && (most == nil || q.Cmp(*most) < 0) {
			most = &q
		}
		return false
	})
	return least, most
}
