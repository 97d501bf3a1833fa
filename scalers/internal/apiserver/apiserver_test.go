package apiserver

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// A process reads without a token, and cannot write or take another identity.
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
	go func() { served <- Serve(ctx, config, listener) }()
	for name, c := range map[string]clientOf{
		"as it is":           {},
		"with another token": {token: "of-another"},
		"as somebody else":   {user: "system:admin"},
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
	config := Client(socket)
	config.BearerToken = c.token
	config.Impersonate.UserName = c.user
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
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
