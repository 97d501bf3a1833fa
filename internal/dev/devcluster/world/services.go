package world

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// service is a Service that exists, or that has been given a load before it exists.
type service struct {
	name     string
	object   *corev1.Service // nil until it exists
	selector labels.Selector
	loadText string                  // the annotation that was read last
	workload *workloadmodel.Workload // nil without a load
	began    uint64                  // steps of the model before the load
}

// view is false without a load, and before a load's first step: what has not been measured yet is not zero.
func (w *state) view(namespace string, s *service) (ServiceView, bool) {
	if s == nil || s.workload == nil || s.began == w.steps {
		return ServiceView{}, false
	}
	return ServiceView{Namespace: namespace, Name: s.name, Stats: s.workload.Stats()}, true
}

// SetLoad offers a Service this many requests per second from now on.
func (w *World) SetLoad(namespace, name string, requestsPerSecond float64) error {
	if !(requestsPerSecond >= 0) || math.IsInf(requestsPerSecond, 1) {
		return fmt.Errorf("load of service %s/%s: %v requests/s is not a finite number of at least 0", namespace, name,
			requestsPerSecond)
	}
	w.SetShape(namespace, name, workloadmodel.Constant(requestsPerSecond))
	return nil
}

// SetShape offers a Service a load that begins now. The Service need not exist yet; when it is deleted, its load ends.
func (w *World) SetShape(namespace, name string, shape workloadmodel.Shape) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ns := w.namespace(namespace)
	w.setShape(ns, namespace, w.service(ns, name), shape)
}

// setShape starts a load, or ends it if shape is nil.
func (w *state) setShape(ns *namespace, namespace string, s *service, shape workloadmodel.Shape) {
	switch {
	case shape == nil && s.workload == nil:
		return
	case shape == nil:
		w.model.RemoveWorkload(s.workload)
		s.workload = nil
	case s.workload == nil:
		s.workload, s.began = w.model.AddWorkload(namespace+"/"+s.name), w.steps
		w.setBacklogLimit(s)
		w.model.SetLoad(s.workload, shape)
	default:
		w.model.SetLoad(s.workload, shape)
		return // its pods stay the same
	}
	w.assignAll(ns)
}

func (w *state) service(ns *namespace, name string) *service {
	s := ns.services[name]
	if s == nil {
		s = &service{name: name, selector: labels.Nothing()}
		ns.services[name] = s
	}
	return s
}

func (w *World) setService(object *corev1.Service) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ns := w.namespace(object.Namespace)
	s := w.service(ns, object.Name)
	s.object = object
	selector := labels.Nothing() // a Service without a selector has no pods of its own
	if len(object.Spec.Selector) > 0 {
		selector = labels.SelectorFromSet(object.Spec.Selector)
	}
	moved := selector.String() != s.selector.String()
	s.selector = selector

	if text := object.Annotations[AnnotationLoad]; text != s.loadText {
		s.loadText = text
		shape, bad := loadOf(object.Annotations)
		w.complainService(object, bad)
		w.setShape(ns, object.Namespace, s, shape)
	}
	w.setBacklogLimit(s)
	if moved {
		w.assignAll(ns)
	}
}

func (w *state) setBacklogLimit(s *service) {
	if s.workload == nil || s.object == nil {
		return
	}
	limit, bad := backlogLimitOf(s.object.Annotations)
	w.complainService(s.object, bad)
	s.workload.SetBacklogLimit(limit)
}

func (w *World) deleteService(object *corev1.Service) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ns := w.namespace(object.Namespace)
	s := ns.services[object.Name]
	if s == nil {
		return
	}
	delete(ns.services, object.Name)
	w.setShape(ns, object.Namespace, s, nil)
}

func (w *state) complainService(object *corev1.Service, bad *complaint) {
	if bad != nil {
		w.warn(object, warning{namespace: object.Namespace, owner: "Service " + object.Name, message: bad.String()})
	}
}

func (w *state) assignAll(ns *namespace) {
	for _, p := range ns.pods {
		w.assign(ns, p)
	}
}

// assign gives a pod to the first Service by name that has a load and selects it.
func (w *state) assign(ns *namespace, p *pod) {
	var first *service
	for _, s := range ns.services {
		if s.workload == nil || !s.selector.Matches(labels.Set(p.object.Labels)) {
			continue
		}
		switch {
		case first == nil:
			first = s
		case s.name < first.name:
			w.complainOverlap(first, s)
			first = s
		default:
			w.complainOverlap(s, first)
		}
	}
	if first == nil {
		p.sim.SetWorkload(nil)
		return
	}
	p.sim.SetWorkload(first.workload)
}

// complainOverlap records an event about a Service whose load does not reach the pods that it shares with another.
func (w *state) complainOverlap(loser, winner *service) {
	if loser.object == nil {
		return
	}
	w.warn(loser.object, warning{
		namespace: loser.object.Namespace, owner: "Service " + loser.name,
		message: fmt.Sprintf("service %s also has a load and selects some of the same pods: these serve only %s", winner.name,
			winner.name),
	})
}
