package harness

import (
	"context"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
)

// Instance is a `plimsoll controller` whose metrics the test reads. Several can run at a time.
type Instance struct {
	// Name is that of its log: Cluster.LogPath of it.
	Name    string
	program *devcluster.Program
	address string
	t       *testing.T
}

// StartInstance runs the program under its own name until the test ends. The flags are added to SyncFlags.
func (p *Plimsoll) StartInstance(t *testing.T, name string, flags ...string) *Instance {
	t.Helper()
	b := &Instance{Name: name, address: parts.FreeAddress(t), t: t}
	health := parts.FreeAddress(t)
	command := append([]string{
		p.binary, "controller", "--kubeconfig=" + p.kubeconfig,
		"--metrics-bind-address=" + b.address, "--health-probe-bind-address=" + health,
		"--inspection-bind-address=0",
	}, append(SyncFlags(), flags...)...)
	ready := func(ctx context.Context) error { return parts.Answers(ctx, "http://"+health+"/readyz") }
	var err error
	if b.program, err = p.cluster.StartProgram(t.Context(), name, command, ready); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	return b
}

// Address is the address of its metrics.
func (b *Instance) Address() string { return b.address }

// Stop ends the program politely.
func (b *Instance) Stop() { b.program.Stop(context.WithoutCancel(b.t.Context())) }

// Metric is the sum of all series of a metric that have the labels, as /metrics shows them: name="value".
func (b *Instance) Metric(name string, labels ...string) float64 {
	b.t.Helper()
	sum, err := parts.Metric(b.t.Context(), b.address, name, labels...)
	if err != nil {
		b.t.Fatal(err)
	}
	return sum
}
