// Package services finds the pods behind a port of a Service, and the selectors of Services.
//
// It reads the Service's selector and ports, and the pods. It ignores all other ways from a Service to an address:
// EndpointSlices and Endpoints, which an author may point at another namespace, cluster IPs, external names, and DNS.
package services

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/kube/getcache"
)

// age is the age at which a Service, and one that could not be read, is read again.
const age = 10 * time.Second

// Pod has the fields of a pod that a Service needs.
type Pod struct {
	Address       netip.Addr
	IsHostNetwork bool
	// IsReady reports that the pod is running, ready and not being deleted.
	IsReady bool
	// Port returns the number of the container port with the name, for TCP.
	Port func(name string) (port uint16, has bool)
}

// Pods returns the pods of a namespace that a selector matches.
type Pods func(namespace string, selector labels.Selector) iter.Seq[Pod]

// Config configures a Resolver.
type Config struct {
	Client corev1client.ServicesGetter
	Pods   Pods
	// Check reports why a pod with this address may not be connected to; nil if it may.
	Check func(address netip.Addr, isHostNetwork bool) error
}

// Resolver finds the pods behind Services. It is safe for concurrent use.
type Resolver struct {
	config   Config
	services *getcache.Cache[*corev1.ServiceSpec]
}

// New makes a Resolver. It reads nothing before the first Addresses.
func New(config Config) (*Resolver, error) {
	if config.Client == nil || config.Pods == nil || config.Check == nil {
		return nil, errors.New("services: a client, pods and a check are needed")
	}
	services, err := getcache.New(getcache.Config[*corev1.ServiceSpec]{
		Get: func(ctx context.Context, key getcache.Key) (*corev1.ServiceSpec, error) {
			return read(ctx, config.Client, key)
		},
		Bytes: bytes, Age: age, FailureAge: age,
	})
	if err != nil {
		return nil, err
	}
	return &Resolver{config: config, services: services}, nil
}

// Addresses returns those of the ready pods behind a port of the Service, in order. It is an error if there is none.
func (r *Resolver) Addresses(ctx context.Context, namespace, name string, port uint16) ([]netip.AddrPort, error) {
	service, err := r.services.Get(ctx, getcache.Key{Namespace: namespace, Name: name})
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

func targetOf(service *corev1.ServiceSpec, port uint16) (intstr.IntOrString, error) {
	if err := refusal(service); err != nil {
		return intstr.IntOrString{}, err
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

// numberOf returns the number of the target port in a pod.
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

// maxSelector bounds selectors: each connection selects pods, and no pod has so many labels.
const maxSelector = 16 << 10

var errSelector = fmt.Errorf("its selector has more than %d bytes: %w", maxSelector, getcache.ErrUnusable)

func selectorBytes(selector map[string]string) int {
	n := 0
	for name, value := range selector {
		n += len(name) + len(value)
	}
	return n
}

// portBytes is the memory that a port needs, without its texts.
const portBytes = 128

// bytes is the memory that the kept part of the Service needs.
func bytes(service *corev1.ServiceSpec) int {
	n := selectorBytes(service.Selector)
	for i := range service.Ports {
		n += portBytes + len(service.Ports[i].Name) + len(service.Ports[i].TargetPort.StrVal)
	}
	return n
}

func read(ctx context.Context, client corev1client.ServicesGetter, key getcache.Key) (*corev1.ServiceSpec, error) {
	service, err := client.Services(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("the controller may not read Services (kubectl apply -k config/sources): %w", err)
	case err != nil:
		return nil, err
	case selectorBytes(service.Spec.Selector) > maxSelector:
		return nil, errSelector
	}
	return &corev1.ServiceSpec{
		Type: service.Spec.Type, Selector: service.Spec.Selector, Ports: service.Spec.Ports,
	}, nil
}
