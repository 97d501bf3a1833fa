package e2e

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"
)

const (
	evicts = "[sig-autoscaling] [VPA] [actuation] [v1] Actuation evicts pods in a multiple-replica Job"
	grows  = "[sig-autoscaling] [VPA] [full-vpa] [v1] OOMing pods under VPA have memory requests growing with OOMs"
	boosts = "[sig-autoscaling] [VPA] [admission-controller] [v1] Admission-controller boosts CPU by factor on pod " +
		"creation [FeatureGate:CPUStartupBoost] [Alpha] [Feature:OffByDefault]"
)

func TestVerticalSpec(t *testing.T) {
	for full, want := range map[string]Spec{
		evicts: {Name: "Actuation evicts pods in a multiple-replica Job", Group: "actuation"},
		grows:  {Name: "OOMing pods under VPA have memory requests growing with OOMs", Group: "full-vpa", share: everyPlace},
		boosts: {Name: "Admission-controller boosts CPU by factor on pod creation", Group: "admission-controller"},
		"[VPA] [later] [v1] Something": {Name: "Something", Group: "later",
			NotRun: "of a group that this runner does not know"},
	} {
		want.FullName = full
		if got := verticalSpec(full); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// TestRead: --list-tests prints each name behind the place of the test, other lines, and tests of other suites.
func TestRead(t *testing.T) {
	s := (&Config{VerticalTests: "v1.test"}).suite()
	got := s.read("I1127 12:00:00.0 1 load.go:1] loading\n" +
		"The following spec names can be used with 'ginkgo run --focus/skip':\n" +
		"    ../../conformance.go:12: [sig-node] Pods should be submitted [Conformance]\n" +
		"    ../v1/full_vpa.go:640: " + grows + "\n    ../v1/actuation.go:405: " + evicts + "\n\n")
	if want := []Spec{verticalSpec(evicts), verticalSpec(grows)}; !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

// TestGroups: the tests of a group run together, those that must be alone after the others.
func TestGroups(t *testing.T) {
	alone := verticalSpec(evicts + " [Serial]")
	result := &Result{}
	for _, spec := range []Spec{verticalSpec(grows), alone, verticalSpec(evicts), verticalSpec("[VPA] [later]")} {
		result.Specs = append(result.Specs, SpecResult{Spec: spec})
	}
	if diff := cmp.Diff([]string{"actuation", "full-vpa"}, result.groups()); diff != "" {
		t.Error(diff)
	}
	r := &runner{Config: &Config{Runs: 1}, subject: Upstream, result: result}
	for _, c := range []struct {
		group    string
		isSerial bool
		want     job
	}{
		{"actuation", false, job{spec: 2, share: 1}}, {"actuation", true, job{spec: 1, share: 1}},
		{"full-vpa", false, job{spec: 0, share: 4}},
	} {
		if got := r.jobs(c.group, c.isSerial, 4); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s, serial %v: %+v", c.group, c.isSerial, got)
		}
	}
}

func TestAdapt(t *testing.T) {
	for _, c := range []struct {
		subject Subject
		program string
		want    []any
	}{
		{Upstream, updater, []any{"/updater", gates, "--v=4"}},
		{Plimsoll, updater, []any{
			"/plimsoll", "controller", "--components=updater", "--address=:8943", "--leader-elect=false", gates, "--v=4",
		}},
		{Plimsoll, admission, []any{"/plimsoll", "admission-controller", gates, "--v=4", "--reload-cert"}},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		path := []string{"spec", "template", "spec", "containers"}
		if err := unstructured.SetNestedSlice(object.Object, []any{map[string]any{
			"name": c.program, "image": "registry.k8s.io/other", "args": []any{"--v=1"},
		}}, path...); err != nil {
			t.Fatal(err)
		}
		if err := adapt(object, c.subject, c.program); err != nil {
			t.Fatal(err)
		}
		want := []any{map[string]any{
			"name": c.program, "image": imageOf[c.subject], "imagePullPolicy": "Never", "command": c.want,
		}}
		got, _, err := unstructured.NestedSlice(object.Object, path...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if err := adapt(&unstructured.Unstructured{Object: map[string]any{}}, Upstream, updater); err == nil {
		t.Error("a Deployment without containers is no error")
	}
}

// TestWriteCertificates: each Secret has a certificate for the webhook and the authority that signed it, another one
// each time.
func TestWriteCertificates(t *testing.T) {
	client := fake.NewClientset()
	seen := map[string]bool{}
	for range 2 {
		if err := writeCertificates(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		for name, keys := range secretKeys {
			secret, err := client.CoreV1().Secrets(upstreamNamespace).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			if !roots.AppendCertsFromPEM(secret.Data[keys[0]]) || len(secret.Data[keys[2]]) == 0 {
				t.Errorf("%s: %v", name, secret.Data)
			}
			block, _ := pem.Decode(secret.Data[keys[1]])
			certificate, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := certificate.Verify(x509.VerifyOptions{DNSName: webhookHost, Roots: roots}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			seen[string(secret.Data[keys[0]])] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d authorities", len(seen))
	}
}
