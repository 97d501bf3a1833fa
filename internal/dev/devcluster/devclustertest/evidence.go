package devclustertest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// Evidence makes the folder below dist/ where a test that has failed leaves what shows why.
func Evidence(tb testing.TB) (string, error) {
	tb.Helper()
	root, err := build.Root()
	if err != nil {
		return "", err
	}
	// A test binary has its package's name.
	packageName := strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")
	dir := filepath.Join(root, "dist", "failed-tests", packageName, filepath.FromSlash(tb.Name()))
	return dir, os.MkdirAll(dir, 0o755)
}

// keepLogs copies the logs of all parts of a cluster if the test has failed, and logs the folder: the cluster removes
// its own when it ends.
func keepLogs(tb testing.TB, cluster *devcluster.Cluster) {
	tb.Helper()
	if !tb.Failed() {
		return
	}
	dir, err := Evidence(tb)
	if err == nil {
		err = copyLogs(filepath.Join(cluster.Dir(), "logs"), dir)
	}
	if err != nil {
		tb.Logf("the control plane's logs are lost: %v", err)
		return
	}
	tb.Logf("the control plane's logs are in %s", dir)
}

func copyLogs(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.log"))
	if err != nil {
		return err
	}
	var all []error
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(file)), content, 0o600)
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}
