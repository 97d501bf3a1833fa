package leader

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
)

// forward connects to the pod's loopback address. The connection is a stream through the API server, and not a port of
// this machine, which every local user could use with this user's permissions.
func (f *Finder) forward(ctx context.Context, pod string) (*reached, error) {
	to := f.Client.CoreV1().RESTClient().Post().Resource("pods").Namespace(f.Namespace).Name(pod).SubResource(
		"portforward").URL()
	dialer, err := dialerOf(f.Config, to)
	if err != nil {
		return nil, err
	}
	type dialed struct {
		connection httpstream.Connection
		err        error
	}
	done := make(chan dialed, 1)
	go func() {
		connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		done <- dialed{connection, err}
	}()
	closeLate := func() {
		go func() {
			if late := <-done; late.err == nil {
				_ = late.connection.Close()
			}
		}()
	}
	select {
	case d := <-done:
		if d.err != nil {
			return nil, refused(d.err, f.Namespace, pod)
		}
		return f.through(d.connection, pod), nil
	case <-ctx.Done():
		closeLate()
		return nil, ctx.Err()
	case <-time.After(forwardTimeout):
		closeLate()
		return nil, fmt.Errorf("no port of pod %s/%s was forwarded within %s", f.Namespace, pod, forwardTimeout)
	}
}

// through returns a client whose requests use a connection to a pod.
func (f *Finder) through(connection httpstream.Connection, pod string) *reached {
	return &reached{
		address: net.JoinHostPort("127.0.0.1", strconv.Itoa(f.Port)),
		through: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				return openStream(connection, f.Port, f.Namespace+"/"+pod)
			},
		},
		stop: func() { _ = connection.Close() },
	}
}

// stream is a connection to a port of a pod. It has no deadlines: the caller closes it.
type stream struct {
	httpstream.Stream
	// failure receives the reason why the pod's side has ended it.
	failure <-chan string
	pod     string
	hasRead bool
}

// openStream connects to a port. As in kubectl port-forward, the stream of errors is opened first.
func openStream(connection httpstream.Connection, port int, pod string) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	failed, err := connection.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("forwarding a port to pod %s: %w", pod, err)
	}
	_ = failed.Close() // only the pod writes to it
	failure := make(chan string, 1)
	go func() {
		const most = 1 << 10
		text, _ := io.ReadAll(io.LimitReader(failed, most)) // a part of the message is enough
		failure <- strings.TrimSpace(string(text))
	}()
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("forwarding a port to pod %s: %w", pod, err)
	}
	return &stream{Stream: data, failure: failure, pod: pod}, nil
}

// failureWait is the longest wait for the reason why a stream has ended without a byte.
const failureWait = time.Second

// Read implements net.Conn.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.Stream.Read(b)
	if s.hasRead = s.hasRead || n > 0; err == nil || s.hasRead {
		return n, err
	}
	select {
	case why := <-s.failure:
		if why != "" {
			return n, fmt.Errorf("forwarding a port to pod %s: %s", s.pod, why)
		}
	case <-time.After(failureWait):
	}
	return n, err
}

// Close implements net.Conn. It ends waiting requests.
func (s *stream) Close() error { return s.Reset() }

// LocalAddr implements net.Conn.
func (s *stream) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (s *stream) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements net.Conn.
func (s *stream) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (s *stream) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (s *stream) SetWriteDeadline(time.Time) error { return nil }

// dialerOf uses WebSocket, and SPDY with older API servers.
func dialerOf(config *rest.Config, to *url.URL) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
	newer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(to, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(newer, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

func refused(err error, namespace, pod string) error {
	switch {
	case apierrors.IsForbidden(err) || strings.Contains(err.Error(), "forbidden"):
		return apierror.Request{
			Verb: "create", Resource: "pods/portforward", Namespace: namespace, Name: pod,
		}.Sentence(apierrors.NewForbidden(
			schema.GroupResource{Resource: "pods/portforward"}, pod, err))
	case apierrors.IsNotFound(err) || strings.Contains(err.Error(), "not found"):
		return &cmderror.Error{What: "the controller runs as no pod of namespace " + namespace,
			Next: "pass its --inspection-bind-address as --controller-address", Cause: err}
	}
	return fmt.Errorf("no port of pod %s/%s can be forwarded: %w", namespace, pod, err)
}
