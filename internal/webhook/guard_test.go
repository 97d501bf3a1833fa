package webhook

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/webhook/certificate"
)

func guarded(t *testing.T, next http.HandlerFunc) *Guard {
	t.Helper()
	g, err := NewGuard(next, 5*time.Second, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// unread fails if anybody reads it.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// TestWhoDoesNotKnowThePathMakesNoWork: nothing of the request is read, and the handler does not run.
func TestWhoDoesNotKnowThePathMakesNoWork(t *testing.T) {
	answered := 0
	g := guarded(t, func(http.ResponseWriter, *http.Request) { answered++ })
	ask := func(method, path string, body io.Reader) int {
		recorder := httptest.NewRecorder()
		g.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, path, body))
		if isClosed := recorder.Header().Get("Connection") == "close"; isClosed != (recorder.Code == http.StatusNotFound) {
			t.Errorf("%s %s: %d, the connection ends: %t", method, path, recorder.Code, isClosed)
		}
		return recorder.Code
	}
	// As long as the API server may not ask there, any path will do.
	if code := ask(http.MethodPost, "/", http.NoBody); code != http.StatusOK || answered != 1 {
		t.Errorf("before a path is required: %d, answered %d", code, answered)
	}
	g.Require("/secret")
	for _, path := range []string{"/", "/secre", "/secret/", "/secrets", "//secret", "/SECRET", "/?/secret", "/secret%00"} {
		if code := ask(http.MethodPost, path, unread{t}); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code := ask(http.MethodGet, "/secret", unread{t}); code != http.StatusMethodNotAllowed || answered != 1 {
		t.Errorf("GET: %d, answered %d", code, answered)
	}
	if code := ask(http.MethodPost, "/secret?timeout=5s", http.NoBody); code != http.StatusOK || answered != 2 {
		t.Errorf("the API server: %d, answered %d", code, answered)
	}
	if got := testutil.ToFloat64(g.refused.WithLabelValues(refusedPath)); got != 8 {
		t.Errorf("counted %v", got)
	}
}

// TestNothingIsReadWithoutRoom: who says that there is too much is refused at once; who finds no room after as long as
// the API server waits; and a small request finds room beside large ones.
func TestNothingIsReadWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside, refused atomic.Int64
		release := make(chan struct{})
		g := guarded(t, func(http.ResponseWriter, *http.Request) { inside.Add(1); <-release })
		ask := func(bytes int64) *httptest.ResponseRecorder {
			recorder := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", unread{t})
			request.ContentLength = bytes
			g.ServeHTTP(recorder, request)
			return recorder
		}
		if code := ask(maxBodyBytes + 1).Code; code != http.StatusRequestEntityTooLarge {
			t.Errorf("too large: %d", code)
		}
		for range 20 {
			// Chunked: nobody says how much there will be.
			go func() {
				if ask(-1).Code == http.StatusServiceUnavailable {
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		if want := int64(heldBytes / maxBodyBytes); inside.Load() != want {
			t.Errorf("%d of %d MiB at a time, want %d", inside.Load(), maxBodyBytes>>20, want)
		}
		began := time.Now()
		<-time.After(6 * time.Second)
		synctest.Wait()
		if refused.Load() != 20-inside.Load() {
			t.Errorf("%d refused after %s, %d answered", refused.Load(), time.Since(began), inside.Load())
		}
		go ask(10 << 10)
		synctest.Wait()
		if want := int64(heldBytes/maxBodyBytes + 1); inside.Load() != want {
			t.Errorf("a pod of 10 kB found no room beside them: %d", inside.Load())
		}
		close(release)
		synctest.Wait()
	})
}

// shipped is a webhook configuration as config/ ships it.
func shipped() *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ConfigurationName},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: WebhookName, ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "plimsoll-system", Name: "vpa-webhook"},
		}}},
	}
}

// refuseCreation answers as the API server does whom it grants to patch alone.
func refuseCreation(client *fake.Clientset) {
	forbidden := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(admissionregistrationv1.Resource("mutatingwebhookconfigurations"), ConfigurationName, errors.New("no"))
	}
	client.PrependReactor("create", "mutatingwebhookconfigurations", forbidden)
	client.PrependReactor("patch", "mutatingwebhookconfigurations", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if _, err := client.Tracker().Get(action.GetResource(), "", ConfigurationName); err != nil {
			return forbidden(action)
		}
		return false, nil, nil
	})
}

// TestRegistrationWithoutTheRightToCreate: what ships is changed; where it is missing, it is said what to apply.
func TestRegistrationWithoutTheRightToCreate(t *testing.T) {
	client := fake.NewClientset(shipped())
	refuseCreation(client)
	r := registration(client)
	if err := r.Ensure(t.Context(), []byte("ca"), "/secret"); err != nil {
		t.Fatal(err)
	}
	authorities, path, err := r.Current(t.Context())
	if err != nil || string(authorities) != "ca" || path != "/secret" {
		t.Errorf("%q, %q, %v", authorities, path, err)
	}
	client = fake.NewClientset()
	refuseCreation(client)
	r = registration(client)
	if err := r.Ensure(t.Context(), []byte("ca"), "/secret"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "config/vertical/webhook.yaml") {
		t.Errorf("%v", err)
	}
	if authorities, path, err := r.Current(t.Context()); len(authorities) != 0 || path != "" || err != nil {
		t.Errorf("%q, %q, %v", authorities, path, err)
	}
}

// TestPathThatNobodyCouldWriteIsNotRequired: with upstream's rights what is there stays, and leads here without a path.
func TestPathThatNobodyCouldWriteIsNotRequired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := shipped()
		there.Webhooks[0].ClientConfig.CABundle = []byte("ca")
		client := fake.NewClientset(there)
		client.PrependReactor("patch", "mutatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(admissionregistrationv1.Resource("mutatingwebhookconfigurations"), ConfigurationName, errors.New("no"))
		})
		r := registration(client)
		for range 10 {
			if err := r.Ensure(t.Context(), []byte("ca"), "/secret"); err != nil {
				t.Fatal(err)
			}
			if r.HasPath(3 * time.Minute) {
				t.Error("a path is required that the API server does not know")
			}
			<-time.After(time.Minute)
		}
	})
}

// TestPathIsRequiredOnceTheAPIServerHasIt: no admission is lost in a rollout. While a replica of an older version takes the
// path away each minute, any path is answered; when it is gone for three intervals, the path alone; and a replica
// that begins then requires it at once.
func TestPathIsRequiredOnceTheAPIServerHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(shipped())
		old, current := registration(client), registration(client)
		g := guarded(t, func(http.ResponseWriter, *http.Request) {})
		u := Upkeep{
			Certificates: &given{authorities: "ca", path: "/secret"}, Registration: current, Guard: g,
			Lease:    &Lease{Client: client.CoordinationV1().Leases("plimsoll-system"), Name: "vpa-admission-controller", Holder: "a", Duration: 10 * time.Second},
			Interval: time.Minute, LeaseInterval: 10 * time.Second, Log: funcr.New(func(string, string) {}, funcr.Options{}),
		}
		requires := func(want string, when string) {
			t.Helper()
			if got := ptr.Deref(g.path.Load(), ""); got != want {
				t.Errorf("%s: path %q, want %q", when, got, want)
			}
		}
		for range 5 {
			// The fake API server has no resource versions; a real one would change it.
			current.applied.resourceVersion = "changed"
			u.look(t.Context())
			requires("", "beside an older version")
			<-time.After(time.Minute)
			old.applied.resourceVersion = "changed"
			if err := old.Ensure(t.Context(), []byte("ca"), ""); err != nil {
				t.Fatal(err)
			}
		}
		current.applied.resourceVersion = "changed"
		for range 3 {
			u.look(t.Context())
			requires("", "shortly after")
			<-time.After(time.Minute)
		}
		u.look(t.Context())
		requires("/secret", "three intervals later")

		there, err := current.Client.Get(t.Context(), ConfigurationName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		there.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: fieldManager, Operation: "Apply", Time: ptr.To(metav1.NewTime(time.Now().Add(-time.Hour)))}}
		later := registration(fake.NewClientset(shipped()))
		later.notePath(there, "/secret")
		later.applied.path = "/secret"
		if !later.HasPath(3 * time.Minute) {
			t.Error("a replica that begins does not require the path")
		}
		later.notePath(shipped(), "/secret")
		if later.HasPath(3 * time.Minute) {
			t.Error("the path is gone, and required")
		}
	})
}

// TestReloadsAreLogged: one line says that another certificate is shown, one that others are trusted, and none that
// nothing changed.
func TestReloadsAreLogged(t *testing.T) {
	var logs []string
	source := &given{shown: shownWith(1, "ca")}
	u := Upkeep{
		Certificates: source, LeaseInterval: time.Second,
		Log: funcr.New(func(_, args string) { logs = append(logs, args) }, funcr.Options{}),
	}
	for range 3 {
		u.look(t.Context())
	}
	first := source.shown
	source.shown = shownWith(2, "another")
	source.shown.Authorities = append(bytes.Clone(first.Authorities), source.shown.Authorities...)
	for range 3 {
		u.look(t.Context())
	}
	var got []string
	for _, line := range logs {
		got = append(got, line[strings.Index(line, `"msg"=`):strings.Index(line, `" "`)+1])
	}
	want := []string{`"msg"="Serving certificate loaded"`, `"msg"="Serving certificate loaded"`, `"msg"="Certificate authorities reloaded"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%q", diff, logs)
	}
}

// shownWith is a certificate of this number.
func shownWith(serial int64, authorities string) *certificate.Shown {
	leaf := &x509.Certificate{Raw: []byte{byte(serial)}, SerialNumber: big.NewInt(serial)}
	return &certificate.Shown{Certificate: &tls.Certificate{Leaf: leaf}, Authorities: []byte(authorities)}
}

// TestClientCertificates: with an authority of clients, nobody else gets as far as a request.
func TestClientCertificates(t *testing.T) {
	authority, pair := clientAuthority(t)
	clients, err := certificate.ReadClients(authority)
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	source := &given{}
	u := Upkeep{Certificates: source, Clients: clients}
	server.TLS = u.TLS(&tls.Config{MinVersion: tls.VersionTLS12})
	source.shown = &certificate.Shown{Certificate: &pair}
	server.StartTLS()
	defer server.Close()
	_, stranger := clientAuthority(t)
	for name, shows := range map[string][]tls.Certificate{"nobody": nil, "a stranger": {stranger}, "the API server": {pair}} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, Certificates: shows, // who the server is is not the question
		}}}
		request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		before := requests
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		if isAllowed := name == "the API server"; isAllowed != (err == nil) || isAllowed != (requests == before+1) {
			t.Errorf("%s: %v, %d requests", name, err, requests-before)
		}
	}
}

// clientAuthority is a file with an authority, and a certificate that it signed: its own.
func clientAuthority(t *testing.T) (file string, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
