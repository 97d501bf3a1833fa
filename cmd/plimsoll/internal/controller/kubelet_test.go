package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
)

func TestKubeletFlags(t *testing.T) {
	f, err := parsed(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kubelet.DefaultOptions(), f.config.Kubelets.Options); diff != "" {
		t.Errorf("the defaults (-package +flags):\n%s", diff)
	}
	if namespace, name, err := f.config.Kubelets.Reader(); namespace != "plimsoll-system" ||
		name != "plimsoll-kubelet-reader" || err != nil {
		t.Errorf("kubelets are sent the token of %s/%s, %v", namespace, name, err)
	}
	k := &f.config.Kubelets
	if k.Interval != time.Second || k.MaxPerSecond != 1000 || k.MaxCPU != 0.5 || k.MaxConcurrent != 64 {
		t.Errorf("the defaults: %+v", k)
	}
	// metrics-server's flags, as its manifests and people's have them.
	f, err = parsed(t, "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
		"--kubelet-use-node-status-port", "--kubelet-insecure-tls",
		"--kubelet-port=10255", "--kubelet-client-certificate=a", "--kubelet-client-key=b", "--kubelet-request-timeout=3s")
	if err != nil {
		t.Fatal(err)
	}
	want := kubelet.DefaultOptions()
	want.PreferredAddressTypes = []string{"InternalIP", "ExternalIP", "Hostname"}
	want.UseNodeStatusPort, want.InsecureTLS, want.Port = true, true, 10255
	want.ClientCertificate, want.ClientKey, want.RequestTimeout = "a", "b", 3*time.Second
	if diff := cmp.Diff(want, f.config.Kubelets.Options); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKubeletFlagsAreChecked(t *testing.T) {
	for _, bad := range []string{
		"--resource-metrics-source=cadvisor", "--kubelet-scrape-interval=0s", "--kubelet-max-scrapes-per-second=0",
		"--kubelet-max-concurrent-scrapes=0",
		"--kubelet-max-cpu=0", "--kubelet-max-cpu=-1", "--kubelet-max-cpu=NaN", "--kubelet-max-cpu=+Inf",
		"--kubelet-max-cpu=500m",
		"--kubelet-service-account=reader", "--kubelet-service-account=a/b/c", "--kubelet-service-account=a/",
		"--kubelet-port=0", "--kubelet-client-key=alone", "--kubelet-request-timeout=0s",
		"--kubelet-preferred-address-types=",
	} {
		name, _, _ := strings.Cut(bad, "=")
		if _, err := parsed(t, bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error that names the flag", bad, err)
		}
	}
}
