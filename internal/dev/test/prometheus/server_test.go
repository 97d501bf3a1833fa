//go:build prometheus

package prometheus

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// binary is a program that make test-prometheus has built.
func binary(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../../../bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: make test-prometheus builds it", err)
	}
	return path
}

// promtool runs it and returns what it prints.
func promtool(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary(t, "promtool"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("promtool %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// start runs a server on data in a folder until the test ends, with more flags, and returns its URL.
func start(t *testing.T, folder, config string, flags ...string) string {
	t.Helper()
	url := "http://" + launch(t, folder, config, flags...)
	await(t, 30*time.Second, func() error { return ready(t.Context(), url+"/-/ready") })
	return url
}

// launch is start with more flags. It returns the address of the server, which may not be ready yet.
func launch(t *testing.T, folder, config string, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	var log bytes.Buffer
	flags = append([]string{"--config.file=" + file, "--storage.tsdb.path=" + folder,
		"--web.listen-address=" + address, "--storage.tsdb.retention.time=100d", "--log.level=warn"}, flags...)
	cmd := exec.CommandContext(t.Context(), binary(t, "prometheus"), flags...)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Prometheus says:\n%s", log.String())
		}
	})
	return address
}

// await waits for a condition with a deadline.
func await(t *testing.T, patience time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %v", patience, err)
		}
		<-ticker.C
	}
}

func ready(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
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
