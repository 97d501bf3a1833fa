package devcluster

import (
	"context"
	"fmt"
	"net/http"
)

// Program is a program beside the control plane, such as Plimsoll itself. It ends with the cluster at the latest.
type Program struct {
	// Inspection is the address of Plimsoll's inspection endpoint, as plimsoll explain's
	// --controller-address takes it; empty for other programs.
	Inspection string

	process *process
}

// StartProgram runs a binary whose output goes to LogPath(name). Once ready returns nil, its end is a failure of the
// cluster (see Failed) unless Stop was called.
func (a *access) StartProgram(
	ctx context.Context, name string, command []string, ready func(context.Context) error,
) (*Program, error) {
	if len(command) == 0 {
		return nil, fmt.Errorf("devcluster: program %s has no command", name)
	}
	p, err := a.supervisor.start(name, command[0], command[1:])
	if err != nil {
		return nil, fmt.Errorf("devcluster: %w", err)
	}
	if err := p.await(ctx, ready); err != nil {
		p.stop(ctx)
		return nil, fmt.Errorf("devcluster: %w", err)
	}
	return &Program{process: p}, nil
}

// PID is the program's process ID; it leads a process group of its own.
func (p *Program) PID() int { return p.process.cmd.Process.Pid }

// Stop ends the program: politely, then not.
func (p *Program) Stop(ctx context.Context) { p.process.stop(ctx) }

// Kill ends the program without a chance to clean up.
func (p *Program) Kill() { p.process.kill() }

// StartPlimsoll runs `plimsoll controller` against the cluster until it is ready, by a kubeconfig such as
// InstallPlimsoll returns.
func (a *access) StartPlimsoll(ctx context.Context, binary, kubeconfig string, flags ...string) (*Program, error) {
	var program *Program
	err := onFreePorts(3, func(ports []int) error {
		health := Loopback(ports[0])
		command := append([]string{
			binary, "controller", "--kubeconfig=" + kubeconfig,
			"--health-probe-bind-address=" + health, "--metrics-bind-address=" + Loopback(ports[1]),
			"--inspection-bind-address=" + Loopback(ports[2]),
			// The simulated nodes' names do not resolve.
			"--kubelet-preferred-address-types=InternalIP",
		}, flags...)
		var err error
		if program,
			err = a.StartProgram(ctx, "plimsoll", command, Answers(http.DefaultClient, "http://"+health+"/readyz")); err == nil {
			program.Inspection = Loopback(ports[2])
		}
		return err
	})
	return program, err
}
