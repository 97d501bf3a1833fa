package leader

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// forwarding returns an API server that forwards ports of a pod to an address, or responds with a failure.
func forwarding(t *testing.T, to, failure string) *Finder {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/leases/plimsoll-controller") {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":{"holderIdentity":"controller-0_1a"}}`)
			return
		}
		if r.URL.Path != "/api/v1/namespaces/plimsoll-system/pods/controller-0/portforward" {
			http.NotFound(w, r)
			return
		}
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			return // After a refused WebSocket, the client tries SPDY.
		}
		streams := make(chan httpstream.Stream, 2)
		connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
			streams <- s
			return nil
		})
		if connection == nil {
			return
		}
		defer func() { _ = connection.Close() }()
		failed, data := <-streams, <-streams
		if failed.Headers().Get(corev1.StreamType) != corev1.StreamTypeError || data.Headers().Get(corev1.PortHeader) != "8082" {
			t.Errorf("streams with %v and %v", failed.Headers(), data.Headers())
		}
		if failure != "" {
			fmt.Fprint(failed, failure)
			_, _ = failed.Close(), data.Close()
			<-connection.CloseChan()
			return
		}
		backend, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		go func() { _, _ = io.Copy(backend, data) }()
		_, _ = io.Copy(data, backend)
		_, _ = data.Close(), failed.Close()
		<-connection.CloseChan()
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &Finder{Client: client, Config: config, Namespace: "plimsoll-system", Lease: "plimsoll-controller", Port: DefaultPort}
}

// TestForward: the request to the controller's pod goes through the API server, and opens no port of this machine.
func TestForward(t *testing.T) {
	controller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/horizontalpodautoscalers/shop/web/history" || r.Host != "127.0.0.1:8082" {
			t.Errorf("%s of %s", r.URL.Path, r.Host)
		}
		_, _ = w.Write([]byte(strings.Repeat("history", 5000)))
	}))
	defer controller.Close()
	finder := forwarding(t, strings.TrimPrefix(controller.URL, "http://"), "")
	for range 3 {
		encoded, isWhole, err := finder.History(t.Context(), observe.HPA("shop", "web"))
		if err != nil || !isWhole || len(encoded) != 35000 {
			t.Fatalf("%d bytes, %v", len(encoded), err)
		}
	}
}

// TestForwardFails: the error has the reason why the pod does not respond.
func TestForwardFails(t *testing.T) {
	finder := forwarding(t, "", "connect: connection refused inside namespace")
	_, _, err := finder.History(t.Context(), observe.HPA("shop", "web"))
	if err == nil || !strings.Contains(err.Error(), "connection refused inside namespace") {
		t.Errorf("%v", err)
	}
}

// TestForwardToAHangingPod: a canceled request ends without a response.
func TestForwardToAHangingPod(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	finder := forwarding(t, listener.Addr().String(), "")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, _, err := finder.History(ctx, observe.HPA("shop", "web")); err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}
