package simulate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

func TestWorkFlag(t *testing.T) {
	var got workFlag
	for _, text := range []string{
		"cpu=500m,every=1m,for=5s", "cpu=1,every=30s,for=1s,shift=13s", "memory=10Ki,every=20m", "cpu=0.2,of=first",
	} {
		if err := got.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	want := workFlag{
		{CPUMilli: 500, Every: time.Minute, Lasts: 5 * time.Second},
		{CPUMilli: 1000, Every: 30 * time.Second, Lasts: time.Second, Shift: 13 * time.Second},
		{MemoryBytesPerSecond: 10240, Every: 20 * time.Minute},
		{CPUMilli: 200, Pods: world.FirstPod},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{
		"", "cpu", "cpu=x", "every=1m", "cpu=1,every=1", "cpu=1,for=-1s", "cpu=1,of=second", "disk=1", "cpu=-1",
	} {
		if err := got.Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestSidecarFlag(t *testing.T) {
	var got sidecarFlag
	for _, text := range []string{"request=50m", "name=proxy,request=0.2,cpu=120m", "cpu=10m"} {
		if err := got.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	want := sidecarFlag{
		{Name: "sidecar-1", CPURequestMilli: 50}, {Name: "proxy", CPURequestMilli: 200, CPUMilli: 120},
		{Name: "sidecar-3", CPUMilli: 10},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "cpu", "cpu=x", "request=1,memory=5Mi"} {
		if err := got.Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestOutageFlag(t *testing.T) {
	var got outageFlag
	for _, text := range []string{"from=1m,for=2m", "for=30s,groups=3"} {
		if err := got.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	want := outageFlag{
		{From: time.Minute, To: 3 * time.Minute, Groups: 1}, {To: 30 * time.Second, Groups: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "from=1m", "for=0s", "for=1", "for=1m,groups=x", "for=1m,node=a"} {
		if err := got.Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestSimulateSamples: sidecars, outages and clocks are played, and what cannot be is refused.
func TestSimulateSamples(t *testing.T) {
	args := []string{"--load=step:10@0s,50@3m", "--for=6m", "--as=plimsoll", "-o=csv"}
	plain, err := simulateWith(t, simulated, args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{
		"--sidecar=request=50m", "--sidecar=request=200m,cpu=150m", "--node-outage=from=2m,for=3m,groups=3",
		"--node-clock-offset=0s,40s",
	} {
		if out, err := simulateWith(t, simulated, append(args, flag)...); err != nil || out == plain {
			t.Errorf("%s changes nothing: %v", flag, err)
		}
	}
	out, err := simulateWith(t, simulated, "--load=poisson:10", "--for=1m", "--sidecar=request=50m", "--nodes=3",
		"--node-outage=from=10s,for=20s", "--node-clock-offset=0s,2s")
	if want := "\nbeside  sidecar sidecar-1: 50m requested, 0m used\nnodes   3 of 4000m, another one after 1m30s\n" +
		"outage  of 1 groups of nodes from 10s to 30s\nclocks  of the groups of nodes are ahead by [0s 2s]\n"; err != nil ||
		!strings.Contains(out, want) {
		t.Errorf("%v, %q is missing in\n%s", err, want, out)
	}
	for flag, want := range map[string]string{
		"--sidecar=name=app":              "sidecar: name=app, want a name that no other container has",
		"--sidecar=cpu=-1":                "sidecar sidecar-1: request=0m, cpu=-1000m, want 0 or more",
		"--node-outage=for=1m,groups=4":   "outage of nodes: groups=4, want 1 to 3",
		"--node-outage=from=-5m,for=1m":   "outage of nodes: from=-5m0s, want 0s or later",
		"--node-outage=from=99h,for=1m":   "before the load ends after",
		"--node-clock-offset=25h":         "clock offsets of nodes: 25h0m0s, want -24h0m0s to 24h0m0s",
		"--node-clock-offset=1s,1s,1s,1s": "clock offsets of nodes: these are 4, want one for each of 3 groups",
	} {
		if _, err := simulateWith(t, simulated, append(args, flag)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flag, err, want)
		}
	}
}
