package controller

import (
	"strings"
	"testing"
	"time"
)

// TestPastFlags: nothing is read unless it is asked for, and then by the flags of Prometheus.
func TestPastFlags(t *testing.T) {
	f, err := parsed(t)
	if err != nil || f.Config().Past != nil {
		t.Fatalf("by default %v is read, %v", f.Config().Past, err)
	}
	f, err = parsed(t, "--autoscaler-history-from-prometheus", "--history-phase-metric=phases",
		"--prometheus-address=http://prometheus:9090", "--autoscaler-history-length=3d")
	if err != nil || f.Config().Past == nil || f.Config().PastLength != 72*time.Hour {
		t.Errorf("%+v, %v", f.Config().Past, err)
	}
	for _, bad := range []string{
		"--autoscaler-history-length=29h", "--autoscaler-history-length=22d", "--autoscaler-history-length=long",
		"--prometheus-address=prometheus", "--prometheus-query-timeout=0s", "--history-rate-window=1s",
	} {
		name, _, _ := strings.Cut(bad, "=")
		if _, err := parsed(t, "--autoscaler-history-from-prometheus", bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error that names the flag", bad, err)
		}
	}
}
