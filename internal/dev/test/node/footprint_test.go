//go:build node

package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/agenttest"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// A full node: this many pods of two containers, requested this often. The samples span long enough for all of the
// agent's buffers to have been used and collected several times.
const (
	fullNodePods    = 110
	requests        = 120
	betweenRequests = 250 * time.Millisecond
	footprintCgroup = "plimsoll-footprint"
	mostMemory      = 20 << 20
	hierarchies     = "/sys/fs/cgroup"
)

// TestFootprint: an agent that is requested for 110 pods of two containers four times a second has a working set of
// 20 MiB at most. What CPU it used is logged: this machine does other things too. The containers' cgroups are real and
// empty.
func TestFootprint(t *testing.T) {
	wanted := containersOf(t, footprintCgroup)
	address, credentials := freeAddress(t), t.TempDir()
	authority, err := agenttest.New()
	if err != nil {
		t.Fatal(err)
	}
	authorityFile := filepath.Join(credentials, "ca.crt")
	if err := os.WriteFile(authorityFile, authority.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	shown, err := authority.Issue("plimsoll-controller", x509.ExtKeyUsageClientAuth)
	if err != nil {
		t.Fatal(err)
	}
	scope := makeCgroup(t, "memory", footprintCgroup+"-agent")
	pid := startIn(t, scope, stage.plimsoll, "node-agent", "--listen-address="+address, "--client-ca-file="+authorityFile,
		"--token-file="+filepath.Join(credentials, "token"), "--kubelet-cgroup-root=/"+footprintCgroup)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, Certificates: []tls.Certificate{*shown},
	}}}
	prepared := selection.Prepare(wanted)
	askUntilAnswered(t, client, address, prepared)
	began, before := time.Now(), cpuOf(t, pid)
	most, bytesRead := int64(0), 0
	ticker := time.NewTicker(betweenRequests)
	defer ticker.Stop()
	for range requests {
		<-ticker.C
		bytesRead = ask(t, client, address, prepared)
		most = max(most, workingSet(t, footprintCgroup+"-agent"))
	}
	share := (cpuOf(t, pid) - before).Seconds() / time.Since(began).Seconds()
	t.Logf("%d containers, %d requests of %d bytes: working set %.1f MiB at most, %.2f %% of a core",
		len(wanted), requests, bytesRead, float64(most)/(1<<20), 100*share)
	if most > mostMemory {
		t.Errorf("a working set of %d bytes", most)
	}
}

// containersOf makes the cgroups of a full node below a root.
func containersOf(t *testing.T, root string) []selection.Container {
	t.Helper()
	var all []selection.Container
	for i := range fullNodePods {
		uid := fmt.Sprintf("3f1c9c52-6a0e-4f0b-9d4e-%012x", i)
		for k := range 2 {
			id := fmt.Sprintf("%064x", 2*i+k+1)
			for _, controller := range []string{"cpuacct", "cpu", "memory"} {
				makeCgroup(t, controller, filepath.Join(root, "kubepods", "burstable", "pod"+uid, id))
			}
			all = append(all, selection.Container{PodUID: uid, ID: id, Namespace: "shop-of-a-usual-name",
				Pod: fmt.Sprintf("web-5d8f7c9b6d-%05x", i), Name: "container-" + strconv.Itoa(k)})
		}
	}
	return all
}

// makeCgroup makes a cgroup with those above it, and removes what it made.
func makeCgroup(t *testing.T, controller, path string) string {
	t.Helper()
	whole := filepath.Join(hierarchies, controller)
	for part := range strings.SplitSeq(path, "/") {
		whole = filepath.Join(whole, part)
		made := whole
		switch err := os.Mkdir(made, 0o755); {
		case errors.Is(err, os.ErrExist):
		case err != nil:
			t.Fatal(err)
		default:
			t.Cleanup(func() {
				if err := syscall.Rmdir(made); err != nil {
					t.Errorf("removing %s: %v", made, err)
				}
			})
		}
	}
	return whole
}

// startIn starts a program in a cgroup, with the memory limit for Go that the manifest has.
func startIn(t *testing.T, scope, program string, args ...string) (pid int) {
	t.Helper()
	// The shell moves itself before it becomes the program: all that the program takes is counted.
	script := `echo $$ > "$0/cgroup.procs" && exec "$@"`
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "/bin/sh",
		append([]string{"-c", script, scope, program}, args...)...)
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=20MiB")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := errors.Join(cmd.Process.Kill(), onlyKilled(cmd.Wait()))
		if t.Failed() || err != nil {
			t.Logf("%v\n%s", err, out.String())
		}
	})
	return cmd.Process.Pid
}

func onlyKilled(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func askUntilAnswered(t *testing.T, client *http.Client, address string, prepared *selection.Prepared) {
	t.Helper()
	deadline, ticker := time.Now().Add(patience), time.NewTicker(interval)
	defer ticker.Stop()
	for {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+selection.UsagePath,
			bytes.NewReader(prepared.Text))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-ticker.C
	}
}

// ask returns the length of the response, which must have all containers.
func ask(t *testing.T, client *http.Client, address string, prepared *selection.Prepared) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"https://"+address+selection.UsagePath+"?"+selection.Parameter+"="+prepared.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "container_cpu_usage_seconds_total{"); n != 2*fullNodePods {
		t.Fatalf("%s: %d containers", response.Status, n)
	}
	return len(text)
}

// cpuOf is the processor time of a process, in the kernel's ticks of 10 ms.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	total := 0
	for _, field := range fields[11:13] {
		ticks, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		total += ticks
	}
	return time.Duration(total) * 10 * time.Millisecond
}
