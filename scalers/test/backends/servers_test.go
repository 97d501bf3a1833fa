//go:build backends

// Package backends reads real servers with KEDA's scalers. It needs Debian's packages redis-server, rabbitmq-server,
// postgresql and mariadb-server, and the folder of the control plane's parts in PLIMSOLL_BIN.
package backends

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const startWithin = 2 * time.Minute

// freePort returns a port that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// program returns the path of a program, in the last of the folders that has it.
func program(t *testing.T, name, debianPackage string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, pattern := range []string{"/usr/sbin/", "/usr/lib/postgresql/*/bin/"} {
		if found, err := filepath.Glob(pattern + name); err == nil && len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Fatalf("%s is missing: apt-get install %s", name, debianPackage)
	return ""
}

// part returns the path of a part of the control plane that the project builds.
func part(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(os.Getenv("PLIMSOLL_BIN"), name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run make tools, and set PLIMSOLL_BIN to the folder bin", err)
	}
	return path
}

// as makes the command run as the user, who gets the folder: some servers refuse to run as root.
func as(t *testing.T, name, folder string, command *exec.Cmd) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		return command
	}
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	for path := folder; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // a folder of a test
			t.Fatal(err)
		}
	}
	if err := os.Chown(folder, uid, gid); err != nil {
		t.Fatal(err)
	}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	command.Dir = folder
	return command
}

// run runs the command to its end.
func run(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
	return string(output)
}

// serve runs the command until the test ends, and returns when it listens at the port.
func serve(t *testing.T, port string, command *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid = true
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		<-ended
		_ = log.Close()
	})
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), startWithin)
	defer cancel()
	for {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+port); err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ticker.C:
		case err := <-ended:
			ended <- err
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("%s ended: %v\n%s", command, err, text)
		case <-ctx.Done():
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("%s does not listen at port %s\n%s", command, port, text)
		}
	}
}
