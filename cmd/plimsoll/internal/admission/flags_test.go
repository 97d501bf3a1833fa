package admission

import (
	"crypto/tls"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
)

// TestAdmissionFlags: upstream's flags, by name, type and default, and nothing
// more than what is listed here.
func TestAdmissionFlags(t *testing.T) {
	facts, err := os.ReadFile("testdata/admission-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&Flags{}).Add(fs)
	types := map[string]string{"quantity": "quantity", "float": "float64", "mapStringBool": "stringToString"}
	// docs/contributing/compatibility.md says why.
	others := map[string]string{"webhook-timeout-seconds": "5"}
	known := map[string]bool{}
	for line := range strings.Lines(string(facts)) {
		fields := append(strings.Fields(line), "", "")
		name, kind, value := fields[0], fields[1], fields[2]
		if name == "#" {
			continue
		}
		known[name] = true
		if other, differs := others[name]; differs {
			value = other
		}
		flag := fs.Lookup(name)
		if flag == nil {
			t.Errorf("--%s is missing", name)
			continue
		}
		if translated := types[kind]; translated != "" {
			kind = translated
		}
		if got := strings.Trim(flag.DefValue, "[]"); got != value && !(kind == "quantity" && got == "0") {
			t.Errorf("--%s is %q by default, want %q", name, got, value)
		}
		if flag.Value.Type() != kind {
			t.Errorf("--%s is a %s, want a %s", name, flag.Value.Type(), kind)
		}
	}
	var ours []string
	fs.VisitAll(func(f *pflag.Flag) {
		if !known[f.Name] && !f.Hidden {
			ours = append(ours, f.Name)
		}
	})
	want := []string{"divergences", "logging-format", "v", "vertical-conflict", "webhook-cert-lifetime",
		"webhook-cert-secret", "webhook-client-ca-file"}
	if diff := cmp.Diff(want, ours); diff != "" {
		t.Errorf("Plimsoll's own flags: (-want +got)\n%s", diff)
	}
}

func parsedAdmission(t *testing.T, args ...string) (*Flags, error) {
	t.Helper()
	f := &Flags{}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	err := f.Complete()
	return f, err
}

func TestAdmissionFlagsMean(t *testing.T) {
	t.Setenv("NAMESPACE", "here")
	f, err := parsedAdmission(t, "--feature-gates=AllAlpha=true,InPlace=false", "--webhook-labels=a:b, c:d",
		"--ignored-vpa-object-namespaces=x,y",
		"--max-allowed-cpu-boost=1500m")
	if err != nil {
		t.Fatal(err)
	}
	if want := (validation.Features{CPUStartupBoost: true, PerVPAConfig: true}); f.features != want {
		t.Errorf("features %+v, want %+v", f.features, want)
	}
	if labels, _ := parseLabels(f.labels); !cmp.Equal(labels, map[string]string{"a": "b", "c": "d"}) {
		t.Errorf("labels %v", labels)
	}
	if f.leaseNamespace != "here" || !slices.Equal(f.names()[:1], []string{"vpa-webhook.here.svc"}) ||
		!slices.Equal(f.ignoredNamespaces(), []string{"x", "y"}) {
		t.Errorf("%+v", f)
	}
	if f.maxBoost.MilliValue() != 1500 {
		t.Errorf("a boost of at most %s", f.maxBoost.String())
	}
	byURL, err := parsedAdmission(t, "--register-by-url", "--webhook-address=https://10.0.0.7", "--webhook-port=8000")
	if err != nil || !slices.Equal(byURL.names(), []string{"10.0.0.7"}) {
		t.Errorf("by URL: %v, %v", byURL.names(), err)
	}
}

func TestAdmissionFlagsThatCannotWork(t *testing.T) {
	for _, arg := range []string{
		"--feature-gates=Unknown=true", "--feature-gates=InPlace=perhaps", "--webhook-labels=a",
		"--webhook-timeout-seconds=31",
		"--min-tls-version=tls1_1", "--register-by-url", "--divergences=unknown", "--vertical-conflict=fight",
		"--status-lease-update-interval=0s",
		"--kube-api-qps=0", "--port=65536", "--max-allowed-cpu-boost=-1",
	} {
		name, _, _ := strings.Cut(arg, "=")
		want := name + "="
		if name == "--register-by-url" {
			want = "--webhook-address="
		}
		if _, err := parsedAdmission(t, arg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that names the flag", arg, err)
		}
	}
	if _, err := parsedAdmission(t, "--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b"); err == nil {
		t.Error("a namespace and ignored namespaces are accepted together")
	}
}

func TestTLSFlags(t *testing.T) {
	c := tlsConfig("tls1_3", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256:nonsense")
	if c.MinVersion != tls.VersionTLS13 ||
		!slices.Equal(c.CipherSuites, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}) {
		t.Errorf("%+v", c)
	}
	if c := tlsConfig("tls1_2", ""); c.MinVersion != tls.VersionTLS12 || c.CipherSuites != nil {
		t.Errorf("%+v", c)
	}
}
