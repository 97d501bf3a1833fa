// Package services finds the pods behind a port of a Service.
//
// It reads the Service's selector and ports, and the pods. It does not use what else leads from a
// Service to an address: EndpointSlices and Endpoints, which an author may point at another
// namespace, cluster IPs, external names, and DNS.
package services

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// timeout bounds one request to the API server.
	timeout = 5 * time.Second
	// maxAge is how long a Service, or the failure to read it, is kept.
	maxAge = 10 * time.Second
	// tidyAbove is the number of Services above which old ones are removed.
	tidyAbove = 256
)

// Pod is a pod as far as a Service needs it.
type Pod struct {
	Address       netip.Addr
	IsHostNetwork bool
	// IsReady reports that the pod is running, ready and not being deleted.
	IsReady bool
	// Port is the number of the container port with the name, for TCP.
	Port func(name string) (port uint16, has bool)
}

// Pods returns the pods of a namespace that a selector matches.
type Pods func(namespace string, selector labels.Selector) iter.Seq[Pod]

// Config is what a Resolver needs.
type Config struct {
	Client corev1client.ServicesGetter
	Pods   Pods
	// Check reports why a pod with this address may not be connected to; nil if it may.
	Check func(address netip.Addr, isHostNetwork bool) error
}

// Resolver finds the pods behind Services. It may be used by many goroutines.
type Resolver struct {
	config Config

	// mu guards the following.
	mu    sync.Mutex
	known map[key]*entry
}

type key struct{ namespace, name string }

// entry is a Service. ready is closed when service or err is set, and read is the time of that.
type entry struct {
	ready   chan struct{}
	service *corev1.ServiceSpec
	err     error
	read    time.Time
}

// New makes a Resolver. Nothing is read before the first Addresses.
func New(config Config) (*Resolver, error) {
	if config.Client == nil || config.Pods == nil || config.Check == nil {
		return nil, errors.New("services: a client, pods and a check are needed")
	}
	return &Resolver{config: config, known: map[key]*entry{}}, nil
}

// Addresses are those of the ready pods behind a port of the Service, in order. It is an error if
// there is none.
func (r *Resolver) Addresses(ctx context.Context, namespace, name string, port uint16) ([]netip.AddrPort, error) {
	service, err := r.service(ctx, key{namespace, name})
	if err != nil {
		return nil, fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	addresses, err := r.addressesOf(service, namespace, port)
	if err != nil {
		return nil, fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	return addresses, nil
}

func (r *Resolver) addressesOf(service *corev1.ServiceSpec, namespace string, port uint16) ([]netip.AddrPort, error) {
	target, err := targetOf(service, port)
	if err != nil {
		return nil, err
	}
	var found []netip.AddrPort
	var refusal error
	for pod := range r.config.Pods(namespace, labels.SelectorFromSet(service.Selector)) {
		if !pod.IsReady || !pod.Address.IsValid() {
			continue
		}
		number, has := numberOf(target, &pod)
		if !has {
			continue
		}
		if err := r.config.Check(pod.Address, pod.IsHostNetwork); err != nil {
			refusal = err
			continue
		}
		found = append(found, netip.AddrPortFrom(pod.Address, number))
	}
	switch {
	case len(found) > 0:
		slices.SortFunc(found, netip.AddrPort.Compare)
		return slices.Compact(found), nil
	case refusal != nil:
		return nil, refusal
	default:
		return nil, fmt.Errorf("no ready pod has port %s", target.String())
	}
}

// targetOf is the port of the pods.
func targetOf(service *corev1.ServiceSpec, port uint16) (intstr.IntOrString, error) {
	switch {
	case service.Type == corev1.ServiceTypeExternalName:
		return intstr.IntOrString{}, errors.New("it is of type ExternalName, which may name any server")
	case len(service.Selector) == 0:
		return intstr.IntOrString{}, errors.New("it has no selector")
	}
	for i := range service.Ports {
		p := &service.Ports[i]
		if p.Port != int32(port) || p.Protocol != "" && p.Protocol != corev1.ProtocolTCP {
			continue
		}
		if p.TargetPort == (intstr.IntOrString{}) {
			return intstr.FromInt32(p.Port), nil
		}
		return p.TargetPort, nil
	}
	return intstr.IntOrString{}, fmt.Errorf("it has no TCP port %d", port)
}

// numberOf is the number of the target port in a pod.
func numberOf(target intstr.IntOrString, pod *Pod) (port uint16, has bool) {
	if target.Type == intstr.String {
		if pod.Port == nil {
			return 0, false
		}
		return pod.Port(target.StrVal)
	}
	if target.IntVal < 1 || target.IntVal > 65535 {
		return 0, false
	}
	return uint16(target.IntVal), true
}

// service is the Service, from the API server unless it was read within maxAge. It is read once for
// all that wait for it.
func (r *Resolver) service(ctx context.Context, k key) (*corev1.ServiceSpec, error) {
	r.mu.Lock()
	e, known := r.known[k]
	if !known || e.isOld(time.Now()) {
		r.tidy()
		e = &entry{ready: make(chan struct{})}
		r.known[k] = e
		go r.read(k, e)
	}
	r.mu.Unlock()
	select {
	case <-e.ready:
		return e.service, e.err
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the API server: %w", ctx.Err())
	}
}

// isOld reports whether the entry must be read again. One that is being read need not.
func (e *entry) isOld(now time.Time) bool {
	select {
	case <-e.ready:
		return now.Sub(e.read) >= maxAge
	default:
		return false
	}
}

// tidy removes old entries if there are many. It needs the lock.
func (r *Resolver) tidy() {
	if len(r.known) < tidyAbove {
		return
	}
	now := time.Now()
	for k, e := range r.known {
		if e.isOld(now) {
			delete(r.known, k)
		}
	}
}

// read is not bound to the context of the first that waits: others wait, too.
func (r *Resolver) read(k key, e *entry) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	defer close(e.ready)
	service, err := r.config.Client.Services(k.namespace).Get(ctx, k.name, metav1.GetOptions{})
	e.read = time.Now()
	switch {
	case err == nil:
		e.service = &corev1.ServiceSpec{
			Type: service.Spec.Type, Selector: service.Spec.Selector, Ports: service.Spec.Ports,
		}
	case apierrors.IsForbidden(err):
		e.err = fmt.Errorf("the controller may not read Services (kubectl apply -k config/sources): %w", err)
	default:
		e.err = err
	}
}
