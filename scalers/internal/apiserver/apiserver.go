// Package apiserver lets the processes of triggers read from the API server without credentials of their own. The
// server of plimsoll-scalers has the token, and passes their requests on.
package apiserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

const headersWithin = 10 * time.Second

// InCluster returns the configuration of a client with the token and the authorities in a folder. rest.InClusterConfig
// takes those of the folder in which the libraries of scalers look for a token too.
func InCluster(folder string) (*rest.Config, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, rest.ErrNotInCluster
	}
	token := filepath.Join(folder, "token")
	if _, err := os.Stat(token); err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: "https://" + net.JoinHostPort(host, port),
		// The client reads it again, as it is replaced.
		BearerTokenFile: token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(folder, "ca.crt")},
	}, nil
}

// Serve passes the requests that the listener accepts on to the API server, until the context ends. A request may read
// objects and no more.
func Serve(ctx context.Context, config *rest.Config, listener net.Listener) error {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return err
	}
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(address, transport), ReadHeaderTimeout: headersWithin}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func handler(address *url.URL, transport http.RoundTripper) http.Handler {
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(address)
		// The transport has its own only where there are none.
		for header := range r.Out.Header {
			if header == "Authorization" || strings.HasPrefix(header, "Impersonate-") {
				r.Out.Header.Del(header)
			}
		}
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Error(w, "the processes of triggers only read", http.StatusMethodNotAllowed)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

// Client returns the configuration of a client of the socket.
func Client(socket string) *rest.Config {
	return &rest.Config{
		Host:  "http://apiserver",
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }, //nolint:nilnil // there is none
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}
}
