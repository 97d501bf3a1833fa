package admission

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/upkeep"
)

// TestUnauthenticatedClientsAreRejected: a client without the path gets no response once the API server has the path,
// and the API server gets one all the time.
func TestUnauthenticatedClientsAreRejected(t *testing.T) {
	s := namespace(t)
	// Another test's certificates would be replaced now.
	if err := s.Client.CoreV1().Secrets(own).Delete(t.Context(), secret, metav1.DeleteOptions{}); err != nil &&
		!apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	// It checks every second.
	p := start(t, s, "admission-path", "--webhook-cert-lifetime=30s")
	p.registered(s)
	// a stranger does not care
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	status := func(ctx context.Context, path string) (int, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+p.address+path, strings.NewReader("{}"))
		if err != nil {
			return 0, err
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	s.EventuallyWithin(soon, "no answer for a stranger", func(ctx context.Context) error {
		code, err := status(ctx, "/")
		if err == nil && code != http.StatusNotFound {
			err = fmt.Errorf("%d", code)
		}
		return err
	})
	configuration, err := registration(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(*configuration.Webhooks[0].ClientConfig.URL, "https://"+p.address)
	if code, err := status(t.Context(), path); err != nil || code != http.StatusBadRequest {
		t.Errorf("at %q: %d, %v; want an error that this is no review", path, code, err)
	}
	recommend(t, s, "known", "150m", "100Mi")
	s.Create(deployment("known", 0))
	until(t, s, "known", "150m")
}

// TestApplyingAgainKeepsTheAuthority: kubectl apply of what ships takes neither authority nor path away.
func TestApplyingAgainKeepsTheAuthority(t *testing.T) {
	s := namespace(t)
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "config", "vertical", "webhook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// A copy that matches no requests.
	name := "copy-" + s.Name
	copied := strings.NewReplacer("name: "+upkeep.ConfigurationName, "name: "+name, "operator: NotIn", "operator: In",
		"[plimsoll-system]", "[nowhere]").
		Replace(string(text))
	configurations := s.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	s.KubectlInput(copied, "apply", "-f", "-")
	t.Cleanup(func() {
		if err := configurations.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	published, err := s.Client.CoreV1().ConfigMaps("kube-system").Get(t.Context(),
		"extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	authority := published.Data["client-ca-file"]
	patch, err := json.Marshal(map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "MutatingWebhookConfiguration", "metadata": map[string]any{"name": name},
		"webhooks": []any{map[string]any{
			"name": upkeep.WebhookName, "admissionReviewVersions": []string{"v1"}, "sideEffects": "None",
			"clientConfig": map[string]any{
				"caBundle": base64.StdEncoding.EncodeToString([]byte(authority)),
				"service":  map[string]any{"namespace": own, "name": "vpa-webhook", "path": "/secret"},
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	options := metav1.PatchOptions{FieldManager: "plimsoll-admission-controller", Force: ptr.To(true)}
	if _, err := configurations.Patch(t.Context(), name, types.ApplyPatchType, patch, options); err != nil {
		t.Fatal(err)
	}
	for _, how := range [][]string{{"apply", "-f", "-"}, {"apply", "--server-side", "--force-conflicts", "-f", "-"}} {
		s.KubectlInput(copied, how...)
		now, err := configurations.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c := now.Webhooks[0].ClientConfig
		if string(c.CABundle) != authority || ptr.Deref(c.Service.Path, "") != "/secret" {
			t.Errorf("after kubectl %v: %d bytes of authorities, path %q", how, len(c.CABundle), ptr.Deref(c.Service.Path, ""))
		}
	}
}
