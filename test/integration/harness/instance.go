package harness

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

// Instance is a `plimsoll controller` whose metrics the test reads. Several can run at a time.
type Instance struct {
	// Name is that of its log: Cluster.LogPath of it.
	Name    string
	program *devcluster.Program
	address string
	t       *testing.T
}

// StartInstance runs the program under a name of its own until the test ends. The flags are added to SyncFlags.
func (p *Plimsoll) StartInstance(t *testing.T, name string, flags ...string) *Instance {
	t.Helper()
	b := &Instance{Name: name, address: FreeAddress(t), t: t}
	health := FreeAddress(t)
	command := append([]string{
		p.binary, "controller", "--kubeconfig=" + p.kubeconfig,
		"--metrics-bind-address=" + b.address, "--health-probe-bind-address=" + health,
		"--inspection-bind-address=0",
	}, append(SyncFlags(), flags...)...)
	ready := func(ctx context.Context) error { return Answers(ctx, "http://"+health+"/readyz") }
	var err error
	if b.program, err = p.cluster.StartProgram(t.Context(), name, command, ready); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	return b
}

// Address is where its metrics are.
func (b *Instance) Address() string { return b.address }

// Stop ends the program politely.
func (b *Instance) Stop() { b.program.Stop(context.WithoutCancel(b.t.Context())) }

// Metric is the sum of all series of a metric that have the labels, as /metrics shows them: name="value".
func (b *Instance) Metric(name string, labels ...string) float64 {
	b.t.Helper()
	sum, err := Metric(b.t.Context(), b.address, name, labels...)
	if err != nil {
		b.t.Fatal(err)
	}
	return sum
}

// valueOf is a line's value, or 0 if the line is not about the metric.
func valueOf(line, name string, labels []string) (float64, error) {
	series, value, found := strings.Cut(line, " ")
	if at := strings.Index(line, "} "); at >= 0 {
		series, value, found = line[:at+1], line[at+2:], true
	}
	if !found || series != name && !strings.HasPrefix(series, name+"{") {
		return 0, nil
	}
	for _, label := range labels {
		if !strings.Contains(series, label) {
			return 0, nil
		}
	}
	number, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0, fmt.Errorf("metric %q: %w", line, err)
	}
	return number, nil
}
