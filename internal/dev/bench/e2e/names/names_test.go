package names

import (
	"net"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestServe(t *testing.T) {
	service := func(name, address string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: name},
			Spec: corev1.ServiceSpec{ClusterIP: address}}
	}
	client := fake.NewClientset(service("web", "10.96.3.4"), service("headless", corev1.ClusterIPNone),
		service("six", "fd00::1"))
	server, err := Serve(t.Context(), "127.0.0.1:0", client)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, c := range map[string]struct {
		question string
		kind     dnsmessage.Type
		want     string // empty: no address
		code     dnsmessage.RCode
	}{
		"a Service":                           {"web.test.svc.cluster.local.", dnsmessage.TypeA, "10.96.3.4", 0},
		"in other letters":                    {"Web.Test.SVC.cluster.local.", dnsmessage.TypeA, "10.96.3.4", 0},
		"its IPv6 address, which it has not":  {"web.test.svc.cluster.local.", dnsmessage.TypeAAAA, "", 0},
		"one that is not there":               {"db.test.svc.cluster.local.", dnsmessage.TypeA, "", dnsmessage.RCodeNameError},
		"one of another namespace":            {"web.prod.svc.cluster.local.", dnsmessage.TypeA, "", dnsmessage.RCodeNameError},
		"one without an address":              {"headless.test.svc.cluster.local.", dnsmessage.TypeA, "", dnsmessage.RCodeNameError},
		"one with IPv6 alone":                 {"six.test.svc.cluster.local.", dnsmessage.TypeA, "", dnsmessage.RCodeNameError},
		"as the search list makes them":       {"web.test.svc.cluster.local.test.svc.cluster.local.", dnsmessage.TypeA, "", dnsmessage.RCodeNameError},
		"the world":                           {"kubernetes.io.", dnsmessage.TypeA, "", dnsmessage.RCodeNameError},
		"nothing but the name of a namespace": {"test.svc.cluster.local.", dnsmessage.TypeA, "", dnsmessage.RCodeNameError},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, server.connection.LocalAddr().String(), c.question, c.kind)
			if got.ID != 7 || !got.Response || got.RCode != c.code {
				t.Errorf("got %+v", got.Header)
			}
			var addresses []string
			for _, answer := range got.Answers {
				a := answer.Body.(*dnsmessage.AResource).A
				addresses = append(addresses, net.IP(a[:]).String())
			}
			if c.want == "" && len(addresses) > 0 || c.want != "" && (len(addresses) != 1 || addresses[0] != c.want) {
				t.Errorf("got %v, want %q", addresses, c.want)
			}
		})
	}
}

func ask(t *testing.T, server, name string, kind dnsmessage.Type) dnsmessage.Message {
	t.Helper()
	question := dnsmessage.Message{
		Header: dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{
			Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET,
		}},
	}
	packed, err := question.Pack()
	if err != nil {
		t.Fatal(err)
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(t.Context(), "udp4", server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	}()
	// An invalid query gets no response, and does not end the server.
	for _, message := range [][]byte{[]byte("no question"), packed} {
		if _, err := connection.Write(message); err != nil {
			t.Fatal(err)
		}
	}
	buffer := make([]byte, questionBytes)
	n, err := connection.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	var answer dnsmessage.Message
	if err := answer.Unpack(buffer[:n]); err != nil {
		t.Fatal(err)
	}
	return answer
}
