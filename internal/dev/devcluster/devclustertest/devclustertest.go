// Package devclustertest gives tests a cluster: one of their own, or one that all tests of a package share. It
// builds missing components; no test is ever skipped.
package devclustertest

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// Start runs a cluster for one test and ends it with the test.
func Start(tb testing.TB, config devcluster.Config) *devcluster.Cluster {
	tb.Helper()
	config.Log = tb.Logf
	cluster, err := start(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		keepLogs(tb, cluster)
		if err := cluster.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return cluster
}

// Bin returns the folder of the parts' binaries, which it builds first if need be.
func Bin(ctx context.Context) (string, error) {
	result, err := build.Run(ctx, build.Config{BinDir: os.Getenv(devcluster.BinEnv), Out: os.Stderr})
	return result.BinDir, err
}

func start(ctx context.Context, config devcluster.Config) (*devcluster.Cluster, error) {
	var err error
	if config.BinDir, err = Bin(ctx); err != nil {
		return nil, err
	}
	return devcluster.Start(ctx, config)
}

// Shared is one cluster for all tests of a package:
//
//	var shared = devclustertest.Shared{Config: devcluster.Config{MetricsServer: true}}
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
//
//	func TestIt(t *testing.T) { cluster := shared.Cluster(t) ... }
type Shared struct {
	Config devcluster.Config
	// Parallel is the number of tests that run at a time, unless -parallel sets another; 0 means 16. They wait most of the
	// time, so that a machine can run many more than it has processors.
	Parallel int

	once    sync.Once
	cluster *devcluster.Cluster
	err     error
	asked   sync.Map // the names of tests whose logs are kept if they fail
}

// Cluster returns the cluster. The first call starts it; tests without a call do not wait for it. A test that fails
// leaves the logs of its parts below dist/.
func (s *Shared) Cluster(tb testing.TB) *devcluster.Cluster {
	tb.Helper()
	s.once.Do(func() {
		config := s.Config
		if config.Log == nil {
			config.Log = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
		}
		// The cluster outlives the test that starts it.
		s.cluster, s.err = start(context.WithoutCancel(tb.Context()), config)
	})
	if s.err != nil {
		tb.Fatal(s.err)
	}
	if _, again := s.asked.LoadOrStore(tb.Name(), nil); !again {
		tb.Cleanup(func() { keepLogs(tb, s.cluster) })
	}
	return s.cluster
}

const parallelTests = 16

// Main runs the tests, ends the cluster, and returns the exit code for os.Exit. A cluster that cannot be ended fails
// the tests.
func (s *Shared) Main(m *testing.M) int {
	// The command line is read after this, and wins.
	if err := flag.Set("test.parallel", strconv.Itoa(cmp.Or(s.Parallel, parallelTests))); err != nil {
		panic(err) // not a test binary
	}
	code := m.Run()
	if s.cluster == nil {
		return code
	}
	if err := s.cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}
