package podendpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/fetch"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// Pods get the credentials of the Secret, which is read for pods as such.
func TestCredentials(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var peers atomic.Int64
		var isRefused atomic.Bool
		f := begin(t, Config{Secret: func(_ context.Context, namespace string, key sources.SecretKey, to clientauth.Peer,
		) ([]byte, error) {
			peers.Add(1)
			if isRefused.Load() || to != (clientauth.Peer{Host: clientauth.Pods}) || namespace != "team-a" || key.Name != "scrape" {
				return nil, errors.New("refused")
			}
			return []byte("abc\n"), nil
		}})
		requests := f.requests(10)
		f.page["pod-0"] = func(w net.Conn, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer abc" || r.Host != "10.1.0.0:8080" || r.URL.RequestURI() != "/m?a=b" {
				_, _ = io.WriteString(w, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
				return
			}
			requests(w, r)
		}
		q := rateQuery(pods(0, 1))
		q.Spec.Path, q.Spec.Credentials.Token = "/m?a=b", sources.SecretKey{Name: "scrape", Key: "token"}
		if got, err := f.run(q, 5*time.Second); got != "10000" || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		if n := peers.Load(); n > 7 {
			t.Errorf("the Secret was read %d times in 5 s", n)
		}
		isRefused.Store(true)
		if _, err := f.run(q, 10*time.Second); err == nil || !strings.Contains(err.Error(), "authorization.credentials: refused") {
			t.Error(err)
		}
	})
}

// TestSilentAPIServer: scrapes without credentials yet take no slots of other objects, and follow soon after the
// credentials arrive.
func TestSilentAPIServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const silent = 4 * time.Second
		began := time.Now()
		f := begin(t, Config{MaxConcurrent: 2, Secret: func(ctx context.Context, _ string, _ sources.SecretKey, _ clientauth.Peer,
		) ([]byte, error) {
			select {
			case <-time.After(time.Until(began.Add(silent))):
				return []byte("abc"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}})
		const others = 20
		for i := range others + 1 {
			f.page[fmt.Sprint("pod-", i)] = f.requests(10)
		}
		waiting := rateQuery(pods(0, others))
		waiting.Spec.Credentials.Token = sources.SecretKey{Name: "scrape", Key: "token"}
		waiting.Key.Name = "waiting"
		q := rateQuery(pods(others, 1))
		for range int(silent/time.Second) - 1 {
			var v View
			_ = f.look(waiting, &v)
			if _, err := f.run(q, time.Second); err != nil && !errors.Is(err, ErrStarting) {
				t.Error(err)
			}
		}
		if n := len(f.times(fmt.Sprint("pod-", others))); n < 3 {
			t.Errorf("%d scrapes in 3 s", n)
		}
		for i := range others {
			if n := len(f.times(fmt.Sprint("pod-", i))); n > 0 {
				t.Fatalf("pod-%d is asked without credentials", i)
			}
		}
		<-time.After(1500 * time.Millisecond)
		scraped := 0
		for i := range others {
			scraped += min(1, len(f.times(fmt.Sprint("pod-", i))))
		}
		if scraped < others {
			t.Errorf("%d of %d pods are scraped half a second after there are credentials", scraped, others)
		}
	})
}

func serveTLS(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "x 1\n")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// TestClientCertificateIsRequired: with TLS 1.3 a pod refuses a client after the handshake, and the error still has the
// reason.
func TestClientCertificateIsRequired(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: version, MaxVersion: version}
		server.StartTLS()
		client := fetch.New(fetch.Config{Timeout: 10 * time.Second, MaxBytes: 1 << 20, MaxLargeBytes: 1 << 20, MaxOpen: 10})
		var connection fetch.Connection
		_, err := client.Get(t.Context(), &connection, &fetch.Request{
			Dial: func(ctx context.Context) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
			},
			TLS:  &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
			Host: "pod", Path: "/metrics", Accept: "text/plain",
		})
		if err == nil || !strings.Contains(err.Error(), "it ended the TLS handshake: tls: ") {
			t.Errorf("%x: %v", version, err)
		}
		server.Close()
	}
}

// TestTLS uses real connections: a server's certificate must be for the pod's address, or for the name in the object.
func TestTLS(t *testing.T) {
	server := serveTLS(t)
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	address := netip.MustParseAddrPort(server.Listener.Addr().String())
	client := fetch.New(fetch.Config{Timeout: 10 * time.Second, MaxBytes: 1 << 20, MaxLargeBytes: 1 << 20, MaxOpen: 10})
	for name, c := range map[string]struct {
		tls        *tls.Config
		serverName string
		want       string
	}{
		"the pod's address": {&tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, address.Addr().String(), ""},
		"the object's name": {&tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12, ServerName: "example.com"}, "10.1.0.7", ""},
		"another's certificate": {&tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, "10.1.0.7",
			"its certificate is not for 10.1.0.7 (tlsConfig.serverName)"},
		"another authority": {&tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}, address.Addr().String(),
			"its certificate is not signed by a trusted authority"},
		"no TLS": {nil, "", "400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			var connection fetch.Connection
			request := fetch.Request{
				Dial: func(ctx context.Context) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, "tcp", address.String())
				},
				TLS: c.tls, ServerName: c.serverName, Host: address.String(), Path: "/metrics", Accept: "text/plain",
			}
			for range 2 {
				response, err := client.Get(t.Context(), &connection, &request)
				if (err == nil) != (c.want == "") || err == nil && string(response.Body) != "x 1\n" ||
					err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%q, %v", response.Body, err)
				}
			}
			if open := client.Open(); (open == 1) != (c.want == "") {
				t.Errorf("%d connections", open)
			}
			client.Close(&connection)
		})
	}
}

// TestCertificatesChange: a connection that was made with other certificates is not reused.
func TestCertificatesChange(t *testing.T) {
	server := serveTLS(t)
	config := server.Client().Transport.(*http.Transport).TLSClientConfig
	client := fetch.New(fetch.Config{Timeout: 10 * time.Second, MaxBytes: 1 << 20, MaxLargeBytes: 1 << 20, MaxOpen: 10})
	dialed := 0
	request := fetch.Request{Host: "pod", Path: "/", ServerName: "example.com",
		Dial: func(ctx context.Context) (net.Conn, error) {
			dialed++
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		}}
	var connection fetch.Connection
	for i, use := range []*tls.Config{config, config, config.Clone(), config} {
		request.TLS = use
		if _, err := client.Get(t.Context(), &connection, &request); err != nil {
			t.Fatal(i, err)
		}
	}
	if dialed != 3 {
		t.Errorf("%d connections", dialed)
	}
	client.Close(&connection)
}
