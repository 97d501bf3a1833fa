package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// plimsollName is the program's name; its log is at Cluster.LogPath of it.
const plimsollName = "plimsoll"

// SyncFlags make Plimsoll act on all HPAs, decide every second and log every decision. Resource metrics are
// metrics-server's, as for upstream.
func SyncFlags() []string {
	return []string{
		"--horizontal-pod-autoscalers=act", "--horizontal-pod-autoscaler-sync-period=1s", "--status-interval=0s",
		"--event-interval=0s", "--v=1", "--resource-metrics-source=api",
	}
}

// Plimsoll is `plimsoll controller` as a process of its own that acts as the service account of config/.
type Plimsoll struct {
	cluster    *devcluster.Cluster
	binary     string
	kubeconfig string
	program    *devcluster.Program
}

// NewPlimsoll builds the program and grants its service account what config/ grants. It does not start it.
func NewPlimsoll(ctx context.Context, cluster *devcluster.Cluster) (*Plimsoll, error) {
	built, err := build.Run(ctx, build.Config{Parts: []string{plimsollName}, Out: os.Stderr})
	if err != nil {
		return nil, fmt.Errorf("build Plimsoll: %w", err)
	}
	binary := filepath.Join(built.BinDir, plimsollName)
	kubeconfig, err := cluster.InstallPlimsoll(ctx)
	if err != nil {
		return nil, fmt.Errorf("install what config/ grants: %w", err)
	}
	return &Plimsoll{cluster: cluster, binary: binary, kubeconfig: kubeconfig}, nil
}

// Start runs the program until it is ready. Later flags win over earlier ones, these over SyncFlags.
func (p *Plimsoll) Start(ctx context.Context, flags ...string) error {
	flags = append(SyncFlags(), flags...)
	var err error
	p.program, err = p.cluster.StartPlimsoll(ctx, p.binary, p.kubeconfig, flags...)
	return err
}

// Kubeconfig is that of the service account, as which the program acts.
func (p *Plimsoll) Kubeconfig() string { return p.kubeconfig }

// Binary is the path of the program.
func (p *Plimsoll) Binary() string { return p.binary }

// Stop ends the program politely. It can be started again.
func (p *Plimsoll) Stop(ctx context.Context) { p.program.Stop(ctx) }

// Kill ends the program without a chance to clean up. It can be started again.
func (p *Plimsoll) Kill() { p.program.Kill() }

// Inspection is the address where the running program serves the history that explain reads.
func (p *Plimsoll) Inspection() string { return p.program.Inspection }

// Run runs the program once, with the credentials that its flags name.
func (p *Plimsoll) Run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return run(t, exec.CommandContext(t.Context(), p.binary, args...))
}

// RunShell runs a line as a user types it into a shell.
func RunShell(t *testing.T, line string) (stdout, stderr string, code int) {
	t.Helper()
	return run(t, exec.CommandContext(t.Context(), "sh", "-c", line))
}

func run(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}
