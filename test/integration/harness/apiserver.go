package harness

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

const apiServer = "kube-apiserver"

// RestartAPIServer kills the cluster's API server with -9 and starts it again with the same flags. It lives until the
// cluster ends.
func RestartAPIServer(t *testing.T, cluster *devcluster.Cluster) {
	t.Helper()
	pid, command, err := findAPIServer(cluster.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %s, process %d: %v", apiServer, pid, err)
	}
	awaitEnd(t, pid)
	client, err := rest.HTTPClientFor(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	ready := func(ctx context.Context) error { return answers(ctx, client, cluster.RESTConfig().Host+"/readyz") }
	// The cluster, not the test, ends it.
	if _, err := cluster.StartProgram(context.WithoutCancel(t.Context()), apiServer, command, ready); err != nil {
		t.Fatal(err)
	}
}

// awaitEnd waits until the process, and with it its hold on ports, is gone.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for deadline := time.Now().Add(Long); syscall.Kill(pid, 0) == nil; <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

// findAPIServer looks among all processes for the API server that works in a folder.
func findAPIServer(dir string) (pid int, command []string, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, nil, err
	}
	for _, file := range files {
		// A process that has just ended has no file.
		content, _ := os.ReadFile(file)
		command := strings.Split(string(bytes.TrimRight(content, "\x00")), "\x00")
		if filepath.Base(command[0]) != apiServer || !strings.Contains(string(content), dir) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		return pid, command, err
	}
	return 0, nil, fmt.Errorf("no %s works in %s", apiServer, dir)
}

func answers(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
