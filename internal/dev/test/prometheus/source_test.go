//go:build prometheus

package prometheus

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

const (
	user, password = "anna", "test"
	// hashed is the password for Prometheus.
	hashed = "$2b$12$hNf2lSsxfm0.i4a.1kVpSOVyBCfIB51VRjgBUyv6kdnyTlgWj81Ay"
	token  = "abc.def"
)

// certificate makes one for 127.0.0.1, which is its own authority. It returns the files of both, and the first in PEM.
func certificate(t *testing.T) (cert, key, authority string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	authority = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	folder := t.TempDir()
	cert, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	keyText := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes}))
	for file, text := range map[string]string{cert: authority, key: keyText} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, authority
}

// proxy is before a server. It requires the token if isBearer, responds after a delay, and counts requests.
func proxy(t *testing.T, server string, isBearer bool, delay time.Duration) (address string, requests *atomic.Int32) {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	requests = &atomic.Int32{}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if isBearer && r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		select {
		case <-time.After(delay):
			forward.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), requests
}

// servers are the addresses of a test's servers, by their names, and what they need.
type servers struct {
	addresses map[string]string
	authority string
	// counted are the requests to the server of that name.
	counted *atomic.Int32
}

// startServers starts a Prometheus with 35 jobs, another with TLS and passwords, and proxies before the first.
func startServers(t *testing.T) *servers {
	t.Helper()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "# TYPE jobs gauge\njobs{queue=\"a\"} 15\njobs{queue=\"b\"} 20\n")
	}))
	t.Cleanup(page.Close)
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: jobs, static_configs: [{targets: ['%s']}]}]\n",
		page.Listener.Addr())
	plain := start(t, t.TempDir(), config)
	cert, key, authority := certificate(t)
	web := filepath.Join(t.TempDir(), "web.yml")
	text := fmt.Sprintf("tls_server_config: {cert_file: %s, key_file: %s}\nbasic_auth_users: {%s: '%s'}\n", cert, key, user, hashed)
	if err := os.WriteFile(web, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	secure := launch(t, t.TempDir(), config, "--web.config.file="+web)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // whether it is ready, and nothing else
	}}
	await(t, 30*time.Second, func() error { return secureReady(t.Context(), client, "https://"+secure+"/-/ready") })
	s := &servers{authority: authority, addresses: map[string]string{
		"plain": strings.TrimPrefix(plain, "http://"), "secure": secure, "down": freeAddress(t),
	}}
	s.addresses["bearer"], _ = proxy(t, plain, true, 0)
	s.addresses["slow"], _ = proxy(t, plain, false, time.Minute)
	s.addresses["counted"], s.counted = proxy(t, plain, false, 0)
	return s
}

func secureReady(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.SetBasicAuth(user, password)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// scenario is a metric and what comes of it.
type scenario struct {
	// server is the name of one. More are more fields of the metric's source, and fallback is the metric's.
	server, query, more, fallback string
	// replicas are wanted if failure is empty.
	replicas int64
	failure  string
}

// create makes a Deployment, and a WorkloadAutoscaler that scales it on the query to 10 for each replica.
func (c *scenario) create(s *harness.Namespace, name string, all *servers) {
	scheme := "http://"
	if c.server == "secure" {
		scheme = "https://"
	}
	s.Create(harness.Workload{Name: name}.Deployment())
	s.KubectlInput(fmt.Sprintf(`{"apiVersion":"plimsoll.dev/v1alpha1","kind":"WorkloadAutoscaler","metadata":{"name":%q},
		"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":%q},"maxReplicas":10,
		"metrics":[{"name":"query","type":"Prometheus"%s,"prometheus":{"serverAddress":%q,"query":%q,"intervalSeconds":1,
		"timeoutSeconds":1%s,"target":{"type":"AverageValue","averageValue":"10"}}}]}}`,
		name, name, c.fallback, scheme+all.addresses[c.server], c.query, c.more), "apply", "-f", "-")
}

// awaitActive waits until the condition ScalingActive is as wanted, with the text.
func awaitActive(s *harness.Namespace, name string, want metav1.ConditionStatus, text string) {
	s.Eventually(fmt.Sprintf("%s: ScalingActive %s %q", name, want, text), func(context.Context) error {
		var object plimsollv1alpha1.WorkloadAutoscaler
		if err := json.Unmarshal([]byte(s.Kubectl("get", "wla", name, "-o", "json")), &object); err != nil {
			return err
		}
		for i := range object.Status.Conditions {
			c := &object.Status.Conditions[i]
			if c.Type == "ScalingActive" && c.Status == want && strings.Contains(c.Message, text) {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", object.Status.Conditions)
	})
}

// TestSource: a real server's results scale, and an unreadable metric has a reason and scales nothing.
func TestSource(t *testing.T) {
	all := startServers(t)
	s := shared.Namespace(t)
	s.Kubectl("apply", "-k", "../../../../config/crd/plimsoll")
	s.Kubectl("apply", "-k", "../../../../config/sources/secrets")
	s.Kubectl("wait", "--for=condition=Established", "crd", "workloadautoscalers.plimsoll.dev")
	s.Create(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secure", Annotations: map[string]string{
			"plimsoll.dev/metric-hosts": all.addresses["secure"]}}, StringData: map[string]string{
			"user": user, "password": password, "wrong": "wrong", "ca": all.authority}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bearer", Annotations: map[string]string{
			"plimsoll.dev/metric-hosts": "http://" + all.addresses["bearer"]}}, StringData: map[string]string{"token": token}},
	)
	shared.Plimsoll(t).Stop(t.Context()) // two must not work on the same objects
	flags := []string{"--leader-elect=false", "--metric-secrets"}
	for _, address := range all.addresses {
		flags = append(flags, "--metric-server="+address)
	}
	instance := shared.Plimsoll(t).StartInstance(t, "querying", flags...)
	defer instance.Stop()

	const basic = `,"basicAuth":{"username":{"name":"secure","key":"user"},"password":{"name":"secure","key":%q}}` +
		`,"tlsConfig":{%s}`
	const authority = `"ca":{"secret":{"name":"secure","key":"ca"}}`
	bearer := `,"authorization":{"credentials":{"name":"bearer","key":"token"}}`
	sum := "sum(jobs)"
	scenarios := map[string]*scenario{
		"scalar":         {server: "plain", query: "scalar(sum(jobs))", replicas: 4},
		"vector":         {server: "plain", query: sum, replicas: 4},
		"rate":           {server: "plain", query: `35 + sum(rate(jobs[1m])) * 0`, replicas: 4},
		"empty":          {server: "plain", query: "no_such_metric", failure: "the result is empty"},
		"ignored":        {server: "plain", query: "no_such_metric", more: `,"nullValues":"Zero"`, replicas: 1},
		"two":            {server: "plain", query: "jobs", failure: "several elements"},
		"nan":            {server: "plain", query: "sum(jobs) * NaN", failure: "NaN"},
		"matrix":         {server: "plain", query: "jobs[1m]", failure: "is a matrix"},
		"invalid":        {server: "plain", query: "sum(", failure: "400 bad_data"},
		"down":           {server: "down", query: sum, failure: "connection refused"},
		"slow":           {server: "slow", query: sum, failure: "no answer"},
		"fallback":       {server: "down", query: sum, fallback: `,"fallback":{"failureDurationSeconds":5,"replicas":3}`, replicas: 3},
		"secure":         {server: "secure", query: sum, more: fmt.Sprintf(basic, "password", authority), replicas: 4},
		"wrong-password": {server: "secure", query: sum, more: fmt.Sprintf(basic, "wrong", authority), failure: "HTTP status 401"},
		"untrusted":      {server: "secure", query: sum, more: fmt.Sprintf(basic, "password", ""), failure: "not signed by a trusted authority"},
		"no-user": {server: "secure", query: sum, more: fmt.Sprintf(`,"tlsConfig":{%s}`, authority),
			failure: "HTTP status 401"},
		"unverified": {server: "secure", query: sum, more: fmt.Sprintf(basic, "password", `"insecureSkipVerify":true`),
			failure: "nothing verifies the identity"},
		"bearer":   {server: "bearer", query: sum, more: bearer, replicas: 4},
		"no-token": {server: "bearer", query: sum, failure: "HTTP status 401"},
	}
	for name, c := range scenarios {
		c.create(s, name, all)
	}
	for name, c := range scenarios {
		switch {
		case c.failure != "":
			awaitActive(s, name, metav1.ConditionFalse, c.failure)
			s.AwaitReplicas(harness.Deployment, name, 1)
		case c.fallback == "":
			awaitActive(s, name, metav1.ConditionTrue, "")
			s.AwaitReplicas(harness.Deployment, name, c.replicas)
		default:
			s.AwaitReplicas(harness.Deployment, name, c.replicas)
		}
	}
	asksOnce(t, s, all)
}

// asksOnce checks that ten objects with one query are one request each second.
func asksOnce(t *testing.T, s *harness.Namespace, all *servers) {
	t.Helper()
	for i := range 10 {
		(&scenario{server: "counted", query: "sum(jobs)"}).create(s, fmt.Sprint("same-", i), all)
	}
	for i := range 10 {
		s.AwaitReplicas(harness.Deployment, fmt.Sprint("same-", i), 4)
	}
	const seconds = 10
	before := all.counted.Load()
	s.Holds(seconds*time.Second, "at 4 replicas", func(context.Context) error { return nil })
	if n := all.counted.Load() - before; n < seconds/2 || n > seconds+2 {
		t.Errorf("%d requests in %d s, want one each second", n, seconds)
	}
}
