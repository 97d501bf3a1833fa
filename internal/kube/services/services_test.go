package services

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/kube/getcache"
)

// pod is a pod of a namespace.
type pod struct {
	namespace, labels string
	Pod
}

// podOf is ready, with the container port web 8080.
func podOf(namespace, labels, address string) pod {
	p := pod{namespace: namespace, labels: labels, Pod: Pod{IsReady: true}}
	if address != "" {
		p.Address = netip.MustParseAddr(address)
	}
	p.Port = func(name string) (uint16, bool) { return 8080, name == "web" }
	return p
}

func podsOf(pods ...pod) Pods {
	return func(namespace string, selector labels.Selector) iter.Seq[Pod] {
		return func(yield func(Pod) bool) {
			for _, p := range pods {
				set, err := labels.ConvertSelectorToLabelsMap(p.labels)
				if err != nil {
					panic(err)
				}
				if p.namespace == namespace && selector.Matches(set) && !yield(p.Pod) {
					return
				}
			}
		}
	}
}

// service is team-a/shop with a port 80 to the named port web.
func service(change func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "shop"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{"app": "shop"},
			ClusterIP: "10.96.0.9",
			Ports:     []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("web"), Protocol: corev1.ProtocolTCP}},
		},
	}
	if change != nil {
		change(s)
	}
	return s
}

// check refuses loopback addresses and pods in the host's network, as the real one does.
func check(address netip.Addr, isHostNetwork bool) error {
	if address.IsLoopback() || isHostNetwork {
		return fmt.Errorf("refused: %s", address)
	}
	return nil
}

func resolver(t *testing.T, pods Pods, objects ...runtime.Object) (*Resolver, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset(objects...)
	r, err := New(Config{Client: client.CoreV1(), Pods: pods, Check: check})
	if err != nil {
		t.Fatal(err)
	}
	return r, client
}

func TestAddresses(t *testing.T) {
	one, two := podOf("team-a", "app=shop", "10.1.0.1"), podOf("team-a", "app=shop", "10.1.0.2")
	unready, host, loopback := podOf("team-a", "app=shop", "10.1.0.3"), podOf("team-a", "app=shop", "10.1.0.4"),
		podOf("team-a", "app=shop", "127.0.0.1")
	unready.IsReady, host.IsHostNetwork = false, true
	unnamed := podOf("team-a", "app=shop", "10.1.0.5")
	unnamed.Port = nil
	for name, c := range map[string]struct {
		change func(*corev1.Service)
		port   uint16
		pods   []pod
		want   string
	}{
		"ready pods": {pods: []pod{two, one, unready}, want: "10.1.0.1:8080 10.1.0.2:8080"},
		"a number": {pods: []pod{one, unnamed}, want: "10.1.0.1:9102 10.1.0.5:9102",
			change: func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(9102) }},
		"no target port": {pods: []pod{one}, want: "10.1.0.1:80",
			change: func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.IntOrString{} }},
		"a headless Service": {pods: []pod{one}, want: "10.1.0.1:8080",
			change: func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }},
		"no pod has the named port": {pods: []pod{unnamed}},
		"a port beyond the last": {pods: []pod{one},
			change: func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(65536 + 22) }},
		"another port":            {port: 81, pods: []pod{one}},
		"UDP":                     {pods: []pod{one}, change: func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP }},
		"other labels":            {pods: []pod{podOf("team-a", "app=other", "10.1.0.1")}},
		"other namespace's pods":  {pods: []pod{podOf("team-b", "app=shop", "10.1.0.1")}},
		"pods without an address": {pods: []pod{podOf("team-a", "app=shop", "")}},
		"pods that are refused":   {pods: []pod{host, loopback}},
		"refused pods and others": {pods: []pod{host, one, loopback}, want: "10.1.0.1:8080"},
		"ExternalName": {pods: []pod{one}, change: func(s *corev1.Service) {
			s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "metadata.google.internal"
		}},
		"no selector":        {pods: []pod{one}, change: func(s *corev1.Service) { s.Spec.Selector = nil }},
		"external addresses": {change: func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"169.254.169.254"} }},
		"of another namespace": {pods: []pod{one, podOf("team-b", "app=shop", "10.1.0.9")},
			change: func(s *corev1.Service) { s.Namespace = "team-b" }},
	} {
		r, _ := resolver(t, podsOf(c.pods...), service(c.change))
		if c.port == 0 {
			c.port = 80
		}
		addresses, err := r.Addresses(t.Context(), "team-a", "shop", c.port)
		if got := strings.Trim(fmt.Sprint(addresses), "[]"); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
}

// TestEndpointsDoNotCount: an author may point them at another namespace.
func TestEndpointsDoNotCount(t *testing.T) {
	r, client := resolver(t, podsOf(podOf("team-a", "app=shop", "10.1.0.1")), service(nil))
	if _, err := r.Addresses(t.Context(), "team-a", "shop", 80); err != nil {
		t.Error(err)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() != "get" || action.GetResource().Resource != "services" {
			t.Errorf("%s %s", action.GetVerb(), action.GetResource().Resource)
		}
	}
}

// TestOneRequest: many concurrent calls, and later ones, cost one request, also if the Service does not exist.
func TestOneRequest(t *testing.T) {
	for _, name := range []string{"shop", "absent"} {
		synctest.Test(t, func(t *testing.T) {
			r, client := resolver(t, podsOf(podOf("team-a", "app=shop", "10.1.0.1")), service(nil))
			for range 20 {
				go func() { _, _ = r.Addresses(t.Context(), "team-a", name, 80) }()
			}
			synctest.Wait()
			for requests := 1; requests < 4; requests++ {
				<-time.After(age - 1)
				_, _ = r.Addresses(t.Context(), "team-a", name, 80)
				if n := len(client.Actions()); n != requests {
					t.Errorf("%s: %d requests", name, n)
				}
				<-time.After(1)
				_, _ = r.Addresses(t.Context(), "team-a", name, 80)
				synctest.Wait()
			}
		})
	}
}

// TestUnavailable: a Service stays in use while the API server does not answer, and its pods are as they are.
func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := []pod{podOf("team-a", "app=shop", "10.1.0.1")}
		r, client := resolver(t, func(namespace string, selector labels.Selector) iter.Seq[Pod] {
			return podsOf(pods...)(namespace, selector)
		}, service(nil))
		for i := range 300 {
			addresses, err := r.Addresses(t.Context(), "team-a", "shop", 80)
			if err != nil || len(addresses) != 1 || addresses[0].Addr() != pods[0].Address {
				t.Fatalf("after %d s: %v, %v", i, addresses, err)
			}
			if i == 0 {
				client.PrependReactor("get", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewServiceUnavailable("away")
				})
				pods = []pod{podOf("team-a", "app=shop", "10.1.0.2")}
			}
			<-time.After(time.Second)
		}
	})
}

func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, client := resolver(t, podsOf(), service(nil))
		client.PrependReactor("get", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
			<-time.After(5 * time.Second)
			return true, nil, context.DeadlineExceeded
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Addresses(ctx, "team-a", "shop", 80); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		synctest.Wait()
		<-time.After(5 * time.Second)
	})
}

func TestForbidden(t *testing.T) {
	r, client := resolver(t, podsOf(), service(nil))
	client.PrependReactor("get", "services", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "shop", nil)
	})
	_, err := r.Addresses(t.Context(), "team-a", "shop", 80)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "config/sources") {
		t.Error(err)
	}
}

// TestLargeServices: the memory for the Services of a namespace, and the CPU of one for each connection, are bounded.
func TestLargeServices(t *testing.T) {
	large := map[string]string{}
	for i := range 1000 {
		large[fmt.Sprint("label-", i)] = strings.Repeat("x", 63)
	}
	objects := []runtime.Object{service(func(s *corev1.Service) { s.Name, s.Spec.Selector = "selector", large })}
	const services = 20
	for i := range services {
		objects = append(objects, service(func(s *corev1.Service) {
			s.Name = fmt.Sprint("ports-", i)
			for len(s.Spec.Ports) < 10_000 {
				s.Spec.Ports = append(s.Spec.Ports, s.Spec.Ports[0])
			}
		}))
	}
	r, err := New(Config{
		Client: fake.NewClientset(objects...).CoreV1(), Pods: podsOf(podOf("team-a", "app=shop", "10.1.0.7")), Check: check,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Addresses(t.Context(), "team-a", "selector", 80); !errors.Is(err, getcache.ErrUnusable) {
		t.Errorf("a large selector: %v", err)
	}
	usable := 0
	for i := range services {
		switch _, err := r.Addresses(t.Context(), "team-a", fmt.Sprint("ports-", i), 80); {
		case err == nil:
			usable++
		case !errors.Is(err, getcache.ErrUnusable):
			t.Error(err)
		}
	}
	if usable < 5 || usable > 7 {
		t.Errorf("%d of %d large Services are kept", usable, services)
	}
}
