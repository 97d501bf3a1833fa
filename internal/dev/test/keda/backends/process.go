package backends

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	startWithin = 2 * time.Minute
	pollPeriod  = 50 * time.Millisecond
)

// freePort returns a port that nobody listens at.
func freePort(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

// program returns the path of a program of a Debian package, in the newest of the folders that has it.
func program(name, debianPackage string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, pattern := range []string{"/usr/sbin/", "/usr/lib/postgresql/*/bin/"} {
		if found, err := filepath.Glob(pattern + name); err == nil && len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", fmt.Errorf("%s is missing: apt-get install %s", name, debianPackage)
}

// prepare returns the paths of programs, which are given with their Debian packages, and a free port. It makes the
// folder.
func prepare(ctx context.Context, folder string, programs map[string]string) (
	paths map[string]string, port string, err error,
) {
	paths = map[string]string{}
	for name, debianPackage := range programs {
		if paths[name], err = program(name, debianPackage); err != nil {
			return nil, "", err
		}
	}
	if port, err = freePort(ctx); err != nil {
		return nil, "", err
	}
	return paths, port, os.MkdirAll(folder, 0o700)
}

// as makes the command run as the user, who gets the folder: some servers refuse to run as root.
func as(name, folder string, command *exec.Cmd) error {
	command.Dir = folder
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	for path := folder; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // the user must reach the folder
			return err
		}
	}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(folder, int(uid), int(gid))
}

// lasting is a command that runs until this process ends.
func lasting(path string, args ...string) *exec.Cmd {
	return exec.CommandContext(context.Background(), path, args...)
}

// run runs the command to its end.
func run(command *exec.Cmd) error {
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, output)
	}
	return nil
}

// serve runs the command until this process ends, and returns when it listens at the port.
func serve(ctx context.Context, folder, port string, command *exec.Cmd) error {
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	for {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+port); err == nil {
			return conn.Close()
		}
		select {
		case <-ticker.C:
		case err := <-ended:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%s ended: %w\n%s", command, err, text)
		case <-ctx.Done():
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%s does not listen at port %s\n%s", command, port, text)
		}
	}
}

// eventually repeats what fails until it succeeds.
func eventually(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	for {
		err := do()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
	}
}
