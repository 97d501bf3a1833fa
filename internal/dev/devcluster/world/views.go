package world

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// ServiceView is a Service that has a load.
type ServiceView struct {
	Namespace, Name string
	Stats           workloadmodel.WorkloadStats
}

// PodView is a running pod. Service is whose load it serves, empty for none.
type PodView struct {
	Namespace, Name, Service string
	Ready                    bool
	Stats                    workloadmodel.PodStats
}

// Snapshot is the state of all loads at one time.
type Snapshot struct {
	At       time.Time
	Services []ServiceView // by namespace and name
}

// Snapshot returns the present state, for a view.
func (w *World) Snapshot() Snapshot {
	w.mu.RLock()
	defer w.mu.RUnlock()
	snapshot := Snapshot{At: w.at}
	for name, ns := range w.namespaces {
		snapshot.Services = append(snapshot.Services, w.serviceViews(name, ns)...)
	}
	slices.SortFunc(snapshot.Services, func(a, b ServiceView) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return snapshot
}

// At is the time of the last step: what all views and reports are of.
func (w *World) At() time.Time {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.at
}

// Services returns a namespace's Services that have a load and have been measured, by name.
func (w *World) Services(namespace string) []ServiceView {
	w.mu.RLock()
	defer w.mu.RUnlock()
	ns := w.namespaces[namespace]
	if ns == nil {
		return nil
	}
	return w.serviceViews(namespace, ns)
}

// Service returns one Service; false if there is none, or it has no load or has not been measured yet.
func (w *World) Service(namespace, name string) (ServiceView, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	ns := w.namespaces[namespace]
	if ns == nil {
		return ServiceView{}, false
	}
	return w.view(namespace, ns.services[name])
}

// Pods returns a namespace's running pods with matching labels, by name.
func (w *World) Pods(namespace string, selector labels.Selector) []PodView {
	w.mu.RLock()
	defer w.mu.RUnlock()
	ns := w.namespaces[namespace]
	if ns == nil {
		return nil
	}
	owners := make(map[*workloadmodel.Workload]string, len(ns.services))
	for name, s := range ns.services {
		if s.workload != nil {
			owners[s.workload] = name
		}
	}
	var views []PodView
	for name, p := range ns.pods {
		if selector.Matches(labels.Set(p.object.Labels)) {
			views = append(views, PodView{
				Namespace: namespace, Name: name, Service: owners[p.sim.Workload()],
				Ready: takesTraffic(p.object), Stats: p.sim.Stats(),
			})
		}
	}
	slices.SortFunc(views, func(a, b PodView) int { return cmp.Compare(a.Name, b.Name) })
	return views
}

func (w *state) serviceViews(namespace string, ns *namespace) []ServiceView {
	var views []ServiceView
	for _, s := range ns.services {
		if view, ok := w.view(namespace, s); ok {
			views = append(views, view)
		}
	}
	slices.SortFunc(views, func(a, b ServiceView) int { return cmp.Compare(a.Name, b.Name) })
	return views
}
