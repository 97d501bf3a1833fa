package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/apiserver"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

// as makes the test the program, or a process of one type, which it starts.
const as = "PLIMSOLL_TEST_AS"

func TestMain(m *testing.M) {
	switch name := os.Getenv(as); name {
	case "":
		os.Exit(m.Run())
	case "program":
		main()
	default:
		if err := restrictedReads(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// restrictedReads is a process for a type that reads a file.
func restrictedReads(path string) error {
	if _, err := os.ReadFile(path); err != nil {
		return err
	}
	if err := restrict(logr.Discard()); err != nil {
		return err
	}
	if _, err := os.ReadFile(path); !os.IsPermission(err) {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if host, ok := os.LookupEnv("KUBERNETES_SERVICE_HOST"); ok {
		return fmt.Errorf("the API server is at %s", host)
	}
	return nil
}

// The process of a type finds neither the token nor the API server.
func TestRestrict(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("of-the-pod"), 0o600); err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), as+"="+path, "KUBERNETES_SERVICE_HOST=10.0.0.1", "TMPDIR="+t.TempDir())
	if output, err := process.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

const (
	scalerText = `{"type":"cron","metadata":{"timezone":"Etc/UTC","start":"0 0 1 1 *","end":"59 23 31 12 *",` +
		`"desiredReplicas":"7"},"authenticationRef":{"name":"a"}}`
	workloadAutoscaler = `{"apiVersion":"plimsoll.dev/v1alpha1","kind":"WorkloadAutoscaler","metadata":` +
		`{"namespace":"shop","name":"orders","resourceVersion":"1"},"spec":{"scaleTargetRef":` +
		`{"apiVersion":"apps/v1","kind":"Deployment","name":"orders"},"metrics":[{"name":"queue","type":"Scaler","scaler":` +
		scalerText + `}]}}`
	bookmark = `{"type":"BOOKMARK","object":{"apiVersion":"plimsoll.dev/v1alpha1","kind":"WorkloadAutoscaler","metadata":` +
		`{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`
)

// objectsOf are what the API server has besides.
var objectsOf = map[string]string{
	"/apis/keda.sh/v1alpha1/namespaces/shop/triggerauthentications/a": `{"apiVersion":"keda.sh/v1alpha1","kind":` +
		`"TriggerAuthentication","metadata":{"namespace":"shop","name":"a"},"spec":{"secretTargetRef":` +
		`[{"parameter":"password","name":"redis","key":"password"}]}}`,
	"/api/v1/namespaces/shop/secrets/redis": `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"shop",` +
		`"name":"redis"},"data":{"password":"aHVudGVyMjI="}}`,
	"/apis/keda.sh/v1alpha1": `{"kind":"APIResourceList","groupVersion":"keda.sh/v1alpha1","resources":[{"name":` +
		`"triggerauthentications","namespaced":true,"kind":"TriggerAuthentication","verbs":["get"]}]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","namespaced":true,` +
		`"kind":"Secret","verbs":["get"]}]}`,
	"/apis/apps/v1": `{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[{"name":"deployments",` +
		`"namespaced":true,"kind":"Deployment","verbs":["get"]}]}`,
	"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + group("keda.sh", "v1alpha1") + "," +
		group("apps", "v1") + `]}`,
	"/apis/keda.sh": group("keda.sh", "v1alpha1"),
	"/apis/apps":    group("apps", "v1"),
	"/api":          `{"kind":"APIVersions","versions":["v1"]}`,
}

func group(name, version string) string {
	one := fmt.Sprintf(`{"groupVersion":%q,"version":%q}`, name+"/"+version, version)
	return fmt.Sprintf(`{"kind":"APIGroup","apiVersion":"v1","name":%q,"versions":[%s],"preferredVersion":%s}`,
		name, one, one)
}

// account runs an API server that knows one token, and returns the folder of the account.
func account(t *testing.T) string {
	t.Helper()
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer of-the-pod" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		object, ok := objectsOf[r.URL.Path]
		switch {
		case ok:
			_, _ = w.Write([]byte(object))
		case r.URL.Path != "/apis/plimsoll.dev/v1alpha1/workloadautoscalers":
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Query().Get("watch") == "":
			_, _ = fmt.Fprintf(w, `{"apiVersion":"plimsoll.dev/v1alpha1","kind":"WorkloadAutoscalerList",`+
				`"metadata":{"resourceVersion":"1"},"items":[%s]}`, workloadAutoscaler)
		default:
			if r.URL.Query().Get("sendInitialEvents") != "" {
				_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}%s`, workloadAutoscaler, bookmark)
			}
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
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

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// The program reads objects with a token that is elsewhere than libraries look, and the process of a type reads them
// without a token.
func TestServe(t *testing.T) {
	address := freeAddress(t)
	program := exec.CommandContext(t.Context(), os.Args[0], "serve", "--service-account-directory="+account(t),
		"--bind-address="+address, "--health-probe-bind-address="+freeAddress(t), "--socket-directory="+t.TempDir())
	program.Env = append(os.Environ(), as+"=program")
	var log strings.Builder
	program.Stdout, program.Stderr = &log, &log
	program.Cancel = func() error { return program.Process.Signal(os.Interrupt) }
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = program.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got *pb.GetMetricSpecResponse
	for got == nil && ctx.Err() == nil {
		// It may not have seen the object yet.
		got, err = pb.NewExternalScalerClient(connection).GetMetricSpec(ctx, &pb.ScaledObjectRef{
			Namespace: "shop", Name: "orders",
			ScalerMetadata: map[string]string{job.MetricKey: "queue", job.ScalerKey: scalerText},
		})
	}
	if err != nil || len(got.GetMetricSpecs()) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

// A process that a library starts, or that prints its environment, does not have the token.
func TestTokenIsUnset(t *testing.T) {
	t.Setenv(apiserver.TokenVariable, "a")
	if _, err := (&scalerOptions{}).builder("missing.sock", logr.Discard()); err != nil {
		t.Fatal(err)
	}
	if _, ok := os.LookupEnv(apiserver.TokenVariable); ok {
		t.Error("the token is in the environment")
	}
}
