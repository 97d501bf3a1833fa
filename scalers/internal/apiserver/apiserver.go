// Package apiserver lets the processes of triggers read from the API server without credentials for it. The server of
// plimsoll-scalers has the token of the service account, and passes their requests on.
package apiserver

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	headersWithin = 10 * time.Second
	authorization = "Authorization"
	// requestsPerSecond and burst are those of a process. A metric whose scaler cannot be made is tried at most once a
	// second, and there may be many.
	requestsPerSecond, burst = 50, 100
)

// TokenVariable is the environment variable with the token of the processes for the socket.
const TokenVariable = "PLIMSOLL_SOCKET_TOKEN"

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

// Serve passes the requests that the listener accepts on to the API server, until the context ends. A request must have
// the token, and may read what scalers need and no more.
func Serve(ctx context.Context, config *rest.Config, listener net.Listener, token string) error {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return err
	}
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(address, transport, token), ReadHeaderTimeout: headersWithin}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func handler(address *url.URL, transport http.RoundTripper, token string) http.Handler {
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(address)
		// The transport has its own only where there are none.
		for header := range r.Out.Header {
			if header == authorization || strings.HasPrefix(header, "Impersonate-") {
				r.Out.Header.Del(header)
			}
		}
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, reason := refuse(r, token); reason != "" {
			http.Error(w, reason, status)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

// refuse returns why a request is not passed on; empty if it is.
func refuse(r *http.Request, token string) (status int, reason string) {
	given := r.Header.Get(authorization)
	switch {
	case subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+token)) != 1:
		return http.StatusUnauthorized, "the request has not the token of the processes of triggers"
	case r.Method != http.MethodGet || len(r.Header["Upgrade"]) > 0 || r.URL.Query().Has("watch"):
		return http.StatusMethodNotAllowed, "the processes of triggers only get and list"
	case !needed.MatchString(r.URL.EscapedPath()):
		return http.StatusForbidden, "the processes of triggers do not need this"
	}
	return 0, ""
}

// needed matches the paths of discovery, and of the objects that scalers read by the rights of plimsoll-scalers. The
// server alone reads WorkloadAutoscalers.
var needed = func() *regexp.Regexp {
	const name = `[a-z0-9][-a-z0-9.:]*`
	return regexp.MustCompile(`^(?:` + strings.Join([]string{
		"/api", "/api/v1", "/apis", "/apis/" + name, "/apis/" + name + "/" + name,
		"/apis/keda.sh/v1alpha1/clustertriggerauthentications/" + name,
		"/apis/keda.sh/v1alpha1/namespaces/" + name + "/triggerauthentications/" + name,
		"/api/v1/namespaces/" + name + "/(?:secrets|configmaps|serviceaccounts)/" + name,
		"/apis/apps/v1/namespaces/" + name + "/(?:deployments|statefulsets)/" + name,
		"/api/v1/namespaces/" + name + "/pods",
		"/apis/discovery.k8s.io/v1/namespaces/" + name + "/endpointslices",
	}, "|") + `)$`)
}()

// Client returns the configuration of a client of the socket.
func Client(socket, token string) *rest.Config {
	return &rest.Config{
		Host:        "http://apiserver",
		BearerToken: token,
		// All clients of the process share it.
		RateLimiter: flowcontrol.NewTokenBucketRateLimiter(requestsPerSecond, burst),
		Proxy:       func(*http.Request) (*url.URL, error) { return nil, nil }, //nolint:nilnil // there is none
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}
}
