package migrate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
)

// proxy is in front of the API server.
type proxy struct {
	// before is called before each write is passed on, and after with its answer before that is passed on. Either may
	// be nil. What is under way when the test ends must return by then.
	before func(*http.Request)
	after  func(*http.Response)
}

// start returns a kubeconfig that leads through the proxy. It ends with the test.
func (p *proxy) start(w *workload) (kubeconfig string) {
	w.t.Helper()
	config := w.Cluster.RESTConfig()
	transport, err := rest.TransportFor(config)
	if err != nil {
		w.t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		w.t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if p.before != nil && isWrite(r.In) {
				p.before(r.In)
			}
			r.SetURL(to)
		},
		ModifyResponse: func(r *http.Response) error {
			if p.after != nil {
				p.after(r)
			}
			return nil
		},
		Transport: transport,
	})
	w.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	kubeconfig = filepath.Join(w.t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return kubeconfig
}

// isWrite reports whether a request changes an object.
func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "selfsubjectaccessreviews")
}
