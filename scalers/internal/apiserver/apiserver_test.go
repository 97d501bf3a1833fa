package apiserver

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
)

const secret = `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "redis", "namespace": "shop"}}`

// inCluster runs an API server, and returns the folder with a token for it.
func inCluster(t *testing.T) string {
	t.Helper()
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer of-the-pod" || r.Header.Get("Impersonate-User") != "":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path != "/api/v1/namespaces/shop/secrets/redis":
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(secret))
		}
	}))
	t.Cleanup(api.Close)
	folder := t.TempDir()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	for name, data := range map[string][]byte{"token": []byte("of-the-pod"), "ca.crt": authority} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, port, err := net.SplitHostPort(api.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", host)
	t.Setenv("KUBERNETES_SERVICE_PORT", port)
	return folder
}

// A process reads without the token of the pod, and cannot write or take another identity.
func TestReadsWithoutAToken(t *testing.T) {
	config, err := InCluster(inCluster(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	socket := filepath.Join(t.TempDir(), "api.sock")
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- Serve(ctx, config, listener, "of-the-processes") }()
	for _, token := range []string{"", "of-the-processe", "of-the-pod"} {
		c := clientOf{token: token}
		_, err := c.clientset(t, socket).CoreV1().Secrets("shop").Get(t.Context(), "redis", metav1.GetOptions{})
		if !errors.IsUnauthorized(err) {
			t.Errorf("with the token %q: %v", token, err)
		}
	}
	for name, c := range map[string]clientOf{
		"as it is":         {token: "of-the-processes"},
		"as somebody else": {token: "of-the-processes", user: "system:admin"},
	} {
		secrets := c.clientset(t, socket).CoreV1().Secrets("shop")
		if got, err := secrets.Get(t.Context(), "redis", metav1.GetOptions{}); err != nil || got.Name != "redis" {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		err := secrets.Delete(t.Context(), "redis", metav1.DeleteOptions{})
		if !errors.IsMethodNotSupported(err) {
			t.Errorf("%s: deleting: %v", name, err)
		}
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

type clientOf struct{ token, user string }

func (c *clientOf) clientset(t *testing.T, socket string) *kubernetes.Clientset {
	t.Helper()
	config := Client(socket, c.token)
	config.Impersonate.UserName = c.user
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A process sends no more requests than a client of Kubernetes by its own limits.
func TestRequestsPerSecond(t *testing.T) {
	limiter := Client("a", "b").RateLimiter
	n := 0
	for limiter.TryAccept() {
		n++
	}
	if got := limiter.QPS(); got != 50 || n < 100 || n > 110 {
		t.Errorf("%v a second, %d at once", got, n)
	}
}

// requestOf returns a request with the token.
func requestOf(t *testing.T, target string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	r.Header.Set("Authorization", "Bearer a")
	return r
}

func TestRefuses(t *testing.T) {
	for target, want := range map[string]int{
		"/api": 0, "/apis": 0, "/apis/argoproj.io": 0, "/apis/argoproj.io/v1alpha1": 0,
		"/api/v1/namespaces/shop/pods?labelSelector=a%3Db":               0,
		"/api/v1/namespaces/shop/pods?watch=true":                        http.StatusMethodNotAllowed,
		"/api/v1/namespaces/shop/pods/a/exec?command=sh":                 http.StatusForbidden,
		"/api/v1/namespaces/shop/pods/a/log":                             http.StatusForbidden,
		"/api/v1/namespaces/shop/secrets":                                http.StatusForbidden,
		"/api/v1/secrets":                                                http.StatusForbidden,
		"/api/v1/namespaces/shop/secrets/../../kube-system":              http.StatusForbidden,
		"/api/v1/namespaces/shop/secrets/%2e%2e":                         http.StatusForbidden,
		"/api/v1/namespaces/shop/services/a:80/proxy":                    http.StatusForbidden,
		"/api/v1/nodes/a/proxy/run":                                      http.StatusForbidden,
		"/apis/plimsoll.dev/v1alpha1/namespaces/a/workloadautoscalers/b": http.StatusForbidden,
		"/apis/plimsoll.dev/v1alpha1/workloadautoscalers":                http.StatusForbidden,
		"/openapi/v3": http.StatusForbidden,
		"/apis/apps/v1/namespaces/shop/deployments/a/scale":               http.StatusForbidden,
		"/apis/authentication.k8s.io/v1/namespaces/shop/tokenreviews/abc": http.StatusForbidden,
	} {
		if got, reason := refuse(requestOf(t, target), "a"); got != want {
			t.Errorf("%s: got %d %s, want %d", target, got, reason, want)
		}
	}
	upgrade := requestOf(t, "/api")
	upgrade.Header.Set("Upgrade", "websocket")
	if got, _ := refuse(upgrade, "a"); got != http.StatusMethodNotAllowed {
		t.Errorf("an upgrade: %d", got)
	}
}

// The processes read all that plimsoll-scalers has the right to, but for the WorkloadAutoscalers.
func TestRightsAreUsed(t *testing.T) {
	file, err := os.Open("../../../config/scalers/rights.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	role := &rbacv1.ClusterRole{}
	for decoder := yaml.NewYAMLToJSONDecoder(file); role.Kind != "ClusterRole"; {
		*role = rbacv1.ClusterRole{}
		if err := decoder.Decode(role); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, rule := range role.Rules {
		group := rule.APIGroups[0]
		version, isKnown := map[string]string{
			"": "/api/v1", "apps": "/apis/apps/v1", "keda.sh": "/apis/keda.sh/v1alpha1",
			"discovery.k8s.io": "/apis/discovery.k8s.io/v1",
		}[group]
		if group == "plimsoll.dev" {
			continue
		}
		for _, resource := range rule.Resources {
			path := version + "/namespaces/shop/" + resource
			if resource == "clustertriggerauthentications" {
				path = version + "/" + resource
			}
			if slices.Equal(rule.Verbs, []string{"get"}) {
				path += "/a"
			}
			if n++; !isKnown || !needed.MatchString(path) {
				t.Errorf("%s is refused", path)
			}
		}
	}
	if n != 9 {
		t.Errorf("%d resources", n)
	}
}

func TestNotInCluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := InCluster(t.TempDir()); err == nil {
		t.Error("a client without an address")
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	if _, err := InCluster(t.TempDir()); !os.IsNotExist(err) {
		t.Errorf("without a token: %v", err)
	}
}
