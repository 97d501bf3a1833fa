package services

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
)

// listedWithin is the time in which Services are usually listed. Later, something prevents it.
const listedWithin = 10 * time.Second

// ErrAwaited is returned while the Services are being listed.
var ErrAwaited = errors.New("the Services are not listed yet")

// Selectors has the selectors of the cluster's Services. It follows Services from the first Of on: without objects that
// need it, it requests nothing. It is safe for concurrent use.
type Selectors struct {
	client kubernetes.Interface
	wanted chan struct{}

	// mu guards the following.
	mu sync.RWMutex
	// since is when a selector was first wanted, zero before.
	since    time.Time
	isListed bool
	services map[types.NamespacedName]selectorOf
}

// selectorOf is the selector of a Service, or why it has none that can be used.
type selectorOf struct {
	selector *podindex.Selector
	err      error
}

// NewSelectors returns Selectors that follow nothing before Run.
func NewSelectors(client kubernetes.Interface) *Selectors {
	return &Selectors{client: client, wanted: make(chan struct{}), services: map[types.NamespacedName]selectorOf{}}
}

// Run follows the Services until ctx ends. It is called once.
func (s *Selectors) Run(ctx context.Context) {
	select {
	case <-s.wanted:
	case <-ctx.Done():
		return
	}
	factory := informers.NewSharedInformerFactoryWithOptions(s.client, 0, informers.WithTransform(onlySelector))
	put := func(object any) {
		if service, ok := object.(*corev1.Service); ok {
			s.put(service)
		}
	}
	registration, err := factory.Core().V1().Services().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: s.remove,
	})
	if err != nil {
		// AddEventHandler fails only after the informer has ended.
		return
	}
	factory.Start(ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		s.mu.Lock()
		s.isListed = true
		s.mu.Unlock()
	}
	<-ctx.Done()
	factory.Shutdown()
}

// onlySelector keeps the fields of a Service that a selector needs.
func onlySelector(object any) (any, error) {
	service, ok := object.(*corev1.Service)
	if !ok {
		return object, nil
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: service.Name, ResourceVersion: service.ResourceVersion,
		},
		Spec: corev1.ServiceSpec{Type: service.Spec.Type, Selector: service.Spec.Selector},
	}, nil
}

func (s *Selectors) put(service *corev1.Service) {
	of := selectorOf{err: refusal(&service.Spec)}
	if of.err == nil {
		of.selector = podindex.SelectorOf(labels.SelectorFromSet(service.Spec.Selector))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.services[types.NamespacedName{Namespace: service.Namespace, Name: service.Name}] = of
}

func (s *Selectors) remove(object any) {
	key, err := cache.DeletionHandlingObjectToName(object)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.services, types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
}

// refusal returns why a Service does not name pods; nil if it does.
func refusal(service *corev1.ServiceSpec) error {
	switch {
	case service.Type == corev1.ServiceTypeExternalName:
		return errors.New("it is of type ExternalName, which may name any server")
	case len(service.Selector) == 0:
		return errors.New("it has no selector")
	case selectorBytes(service.Selector) > maxSelector:
		return errSelector
	}
	return nil
}

// Of returns the selector of a Service. The error is ErrAwaited if it will be known within seconds.
func (s *Selectors) Of(namespace, name string) (*podindex.Selector, error) {
	s.want()
	s.mu.RLock()
	defer s.mu.RUnlock()
	of, ok := s.services[types.NamespacedName{Namespace: namespace, Name: name}]
	switch {
	case ok && of.err != nil:
		return nil, fmt.Errorf("service: Service %s/%s: %w", namespace, name, of.err)
	case ok:
		return of.selector, nil
	case s.isListed:
		return nil, fmt.Errorf("service: Service %s/%s does not exist", namespace, name)
	case time.Since(s.since) < listedWithin:
		return nil, ErrAwaited
	}
	return nil, fmt.Errorf("service: Service %s/%s is not known: the controller must be able to list and watch Services "+
		"(kubectl apply -k config/sources)", namespace, name)
}

func (s *Selectors) want() {
	s.mu.RLock()
	isWanted := !s.since.IsZero()
	s.mu.RUnlock()
	if isWanted {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		s.since = time.Now()
		close(s.wanted)
	}
}
