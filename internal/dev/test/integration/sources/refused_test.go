package sources

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

const (
	own = "http://prometheus:9090"
	// home is an address that pods may have here, and forbidden one that they may not have.
	home, forbidden = "127.90.0.1", "127.91.0.1"
	metadataService = "169.254.169.254"
)

// Permitted addresses work: a Service of the object's own namespace, by each of its names.
func TestOwnServiceIsAsked(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"prometheus", "prometheus.NAMESPACE", "prometheus.NAMESPACE.svc",
		"prometheus.NAMESPACE.svc.cluster.local"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			o := objectsOf(t)
			s := listen(t, home, nil)
			o.pod("prometheus", home, s.port, nil)
			o.service("prometheus", nil)
			o.prometheus("http://" + strings.ReplaceAll(host, "NAMESPACE", o.Name) + ":9090")
			o.AwaitReplicas(harness.Deployment, "web", 4)
			if s.saw("") == false || len(s.authorizations) != 1 {
				t.Error("the server got credentials")
			}
		})
	}
}

// The pods of the object's own target are scraped, with a Secret that permits it.
func TestOwnPodsAreAsked(t *testing.T) {
	t.Parallel()
	o := objectsOf(t)
	s := listen(t, home, nil)
	o.secret("token", "abc", "http://pods")
	pod := o.podEndpoint(s.port, `"authorization":{"credentials":{"name":"token","key":"token"}}`)
	o.run(pod, home)
	o.AwaitReplicas(harness.Deployment, "web", 4)
	if !s.saw("Bearer abc") {
		t.Error("the pod received no credentials")
	}
}

// No Service leads to an address that the author may not connect to.
func TestServicesThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(o *objects, s *server)
		want string
	}{
		"ExternalName": {func(o *objects, _ *server) {
			o.service("prometheus", func(s *corev1.Service) {
				s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}
			})
		}, "ExternalName"},
		"no selector": {func(o *objects, s *server) {
			o.service("prometheus", func(service *corev1.Service) { service.Spec.Selector = nil })
			o.Create(slice("10.99.0.1", s.port))
		}, "no selector"},
		"external IP": {func(o *objects, _ *server) {
			o.service("prometheus", func(service *corev1.Service) { service.Spec.ExternalIPs = []string{"10.99.0.1"} })
		}, "no ready pod"},
		"host network": {func(o *objects, s *server) {
			o.service("prometheus", nil)
			o.pod("prometheus", "10.99.0.1", s.port, func(pod *corev1.Pod) {
				pod.Spec.HostNetwork = true
				pod.Spec.Containers[0].Ports[0].HostPort = s.port
			})
		}, "in the network of its node"},
		"loopback": {func(o *objects, s *server) {
			o.service("prometheus", nil)
			o.pod("prometheus", forbidden, s.port, nil)
		}, "loopback"},
		"node": {func(o *objects, s *server) {
			o.service("prometheus", nil)
			o.node("10.99.1.1")
			o.pod("prometheus", "10.99.1.1", s.port, nil)
		}, "the address of a node"},
		"metadata": {func(o *objects, _ *server) {
			o.service("prometheus", nil)
			o.pod("prometheus", metadataService, 80, nil)
		}, "metadata"},
		"link-local": {func(o *objects, _ *server) {
			o.service("prometheus", nil)
			o.pod("prometheus", "169.254.1.1", 80, nil)
		}, "link-local"},
	} {
		for kind, ask := range map[string]func(*objects){
			"Prometheus":     func(o *objects) { o.prometheus(own) },
			"ExternalScaler": func(o *objects) { o.scaler("prometheus:9090") },
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				o := objectsOf(t)
				s := listen(t, forbidden, nil)
				c.make(o, s)
				ask(o)
				o.awaitRefusal(c.want)
				s.wantUntouched(t)
			})
		}
	}
}

// slice is an EndpointSlice of the Service, as its author may write it.
func slice(address string, port int32) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus-1", Labels: map[string]string{
			discoveryv1.LabelServiceName: "prometheus"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
		Ports: []discoveryv1.EndpointPort{{Port: ptr.To(port)}},
	}
}

// node makes a node with an address.
func (o *objects) node(address string) {
	o.t.Helper()
	_, err := o.Client.CoreV1().Nodes().Create(o.t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "other-"},
		Spec:       corev1.NodeSpec{Unschedulable: true},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}},
	}, metav1.CreateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
}

// Only names and addresses of the own namespace's Services are connected to, and none of the others is resolved by DNS.
func TestServersThatAreNotPermitted(t *testing.T) {
	t.Parallel()
	other := objectsOf(t)
	s := listen(t, forbidden, nil)
	other.pod("prometheus", forbidden, s.port, nil)
	other.service("prometheus", nil)
	for name, address := range map[string]string{
		"other namespace":         "prometheus." + other.Name + ".svc:9090",
		"other namespace, short":  "prometheus." + other.Name + ":9090",
		"loopback":                fmt.Sprintf("%s:%d", forbidden, s.port),
		"loopback by name":        fmt.Sprintf("localhost.localdomain:%d", s.port),
		"metadata":                metadataService + ":80",
		"metadata by name":        "metadata.google.internal:80",
		"the API server":          "kubernetes.default.svc:443",
		"a name of the attacker":  "rebind.attacker.example:80",
		"IPv6 with IPv4 in it":    fmt.Sprintf("[::ffff:%s]:%d", forbidden, s.port),
		"metadata in IPv6":        "[::ffff:169.254.169.254]:80",
		"the node of the cluster": "127.0.0.1:10250",
	} {
		for kind, ask := range map[string]func(*objects){
			"Prometheus":     func(o *objects) { o.prometheus("http://" + address) },
			"ExternalScaler": func(o *objects) { o.scaler(address) },
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				o := objectsOf(t)
				ask(o)
				o.awaitRefusal("refused")
				s.wantUntouched(t)
			})
		}
	}
}

// A pod's address is the one that the kubelet reports. It must not lead to any address.
func TestPodsThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ address, want string }{
		"loopback":   {forbidden, "loopback"},
		"metadata":   {metadataService, "metadata"},
		"link-local": {"169.254.1.1", "link-local"},
		"node":       {"10.99.2.1", "the address of a node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := objectsOf(t)
			s := listen(t, forbidden, nil)
			if name == "node" {
				o.node(c.address)
			}
			o.run(o.podEndpoint(s.port), c.address)
			o.awaitRefusal(c.want)
			s.wantUntouched(t)
		})
	}
}

// A redirect is not followed, to a metadata address or any other.
func TestRedirects(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"302": http.StatusFound, "307": http.StatusTemporaryRedirect} {
		for _, kind := range []string{"Prometheus", "PodEndpoint"} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				o := objectsOf(t)
				victim := listen(t, forbidden, nil)
				s := listen(t, home, func(w http.ResponseWriter, r *http.Request) {
					location := fmt.Sprintf("http://%s:%d/latest/meta-data", victim.address, victim.port)
					if r.URL.Query().Get("n") == "1" {
						location = "http://" + metadataService + "/latest/meta-data"
					}
					http.Redirect(w, r, location, status)
				})
				if kind == "Prometheus" {
					o.pod("prometheus", home, s.port, nil)
					o.service("prometheus", nil)
					o.prometheus(own)
				} else {
					o.run(o.podEndpoint(s.port), home)
				}
				o.awaitRefusal(name)
				victim.wantUntouched(t)
				if s.connections.Load() == 0 {
					t.Error("nothing was asked")
				}
			})
		}
	}
}

// A Secret is used only for the servers that it names, and none of another namespace.
func TestSecretsThatAreNotPermitted(t *testing.T) {
	t.Parallel()
	other := objectsOf(t)
	other.secret("elsewhere", "hush", "http://prometheus:9090,prometheus:9090")
	for name, c := range map[string]struct{ secret, hosts, want string }{
		"no annotation":     {"token", "", "does not name prometheus:9090"},
		"another server":    {"token", "http://mimir.example.com:443", "does not name prometheus:9090"},
		"another port":      {"token", "http://prometheus:9091", "does not name prometheus:9090"},
		"only with TLS":     {"token", "prometheus:9090", "must have http://prometheus:9090"},
		"only for pods":     {"token", "http://pods", "does not name prometheus:9090"},
		"another namespace": {"elsewhere", "", `secrets "elsewhere" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := objectsOf(t)
			s := listen(t, home, nil)
			o.pod("prometheus", home, s.port, nil)
			o.service("prometheus", nil)
			o.secret("token", "hush", c.hosts)
			o.prometheus(own, fmt.Sprintf(`"authorization":{"credentials":{"name":%q,"key":"token"}}`, c.secret))
			o.awaitRefusal(c.want)
			s.wantUntouched(t)
		})
	}
}

// Once the Secret names the server, it gets the token. It is in no status, event or log.
func TestSecretIsUsed(t *testing.T) {
	t.Parallel()
	o := objectsOf(t)
	s := listen(t, home, nil)
	o.pod("prometheus", home, s.port, nil)
	o.service("prometheus", nil)
	o.secret("token", "hush-hush", "http://prometheus:9090")
	o.prometheus(own, `"authorization":{"credentials":{"name":"token","key":"token"}}`)
	o.AwaitReplicas(harness.Deployment, "web", 4)
	if !s.saw("Bearer hush-hush") || s.saw("") {
		t.Error("the server got other credentials")
	}
	lines, err := o.LogLines("hush-hush")
	if err != nil || len(lines) > 0 {
		t.Errorf("%q, %v", lines, err)
	}
	for _, kind := range []string{"wla", "events"} {
		if text := o.Kubectl("get", kind, "-o", "yaml"); strings.Contains(text, "hush-hush") {
			t.Error(text)
		}
	}
}
