// Package harness gives integration tests a real control plane with Plimsoll in it, a namespace for each test,
// workloads whose load the test sets, and ways to wait for what the API server shows. A package of tests has one
// cluster:
//
//	var shared = harness.Shared{}
//
//	func TestMain(m *testing.M) { shared.Main(m) }
//
//	func TestScalesUp(t *testing.T) {
//		t.Parallel()
//		s := shared.Namespace(t)
//		s.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 35))
//		s.Create(harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
//		s.AwaitReplicas(harness.Deployment, "web", 4)
//	}
//
// Plimsoll runs as its own process, as the service account of config/ and with no more permissions than config/ grants,
// and decides every second.
//
// Metrics of the adapter follow within a second, those of metrics-server within about 20 s: two scrapes. A metric's
// total is best put between two multiples of its target (35 against 10, not 40), so that jitter never changes the
// count.
package harness

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
)

// startTimeout bounds the building and the start of Plimsoll.
const startTimeout = 10 * time.Minute

// Shared is one cluster with Plimsoll for all tests of a package. Its zero value is ready for use.
type Shared struct {
	// Flags are added to those of SyncFlags.
	Flags []string
	// Cluster is the cluster's configuration; metrics are always on.
	Cluster devcluster.Config
	// Definitions installs the repository's CustomResourceDefinitions before Plimsoll starts.
	Definitions bool
	// Parallel is that of devclustertest.Shared.
	Parallel int

	once     sync.Once
	cluster  *devclustertest.Shared
	plimsoll *Plimsoll
	err      error
}

// Main runs the tests and ends the cluster. It is the body of TestMain.
func (s *Shared) Main(m *testing.M) { s.shared().Main(m) }

func (s *Shared) shared() *devclustertest.Shared {
	if s.cluster == nil {
		s.Cluster.MetricsServer = true
		s.cluster = &devclustertest.Shared{Config: s.Cluster, Parallel: s.Parallel}
	}
	return s.cluster
}

// Namespace gives the test a namespace of its own in the cluster. The first call starts cluster and Plimsoll.
func (s *Shared) Namespace(t testing.TB) *Namespace {
	t.Helper()
	s.start(t)
	return NewNamespace(t, s.cluster.Cluster(t))
}

// Plimsoll is the running controller, for tests that end it and start it again.
func (s *Shared) Plimsoll(t testing.TB) *Plimsoll {
	t.Helper()
	s.start(t)
	return s.plimsoll
}

func (s *Shared) start(t testing.TB) {
	t.Helper()
	cluster := s.shared().Cluster(t)
	s.once.Do(func() {
		// Plimsoll outlives the test that starts it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), startTimeout)
		defer cancel()
		if s.Definitions {
			s.err = cluster.InstallDefinitions(ctx)
		}
		if s.err == nil {
			s.plimsoll, s.err = NewPlimsoll(ctx, cluster)
		}
		if s.err == nil {
			s.err = s.plimsoll.Start(ctx, s.Flags...)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
}

// Namespace is a test's namespace. Its methods end the test if they fail.
type Namespace struct {
	Cluster *devcluster.Cluster
	Client  kubernetes.Interface
	Name    string
	// Refused is for tests in which the API server refuses what config/ grants, as one does that has just started.
	Refused bool

	t testing.TB
}

// NewNamespace makes a namespace that goes with the test. If the test fails, Plimsoll's log lines about it are
// shown, and its objects are kept below dist/.
func NewNamespace(t testing.TB, cluster *devcluster.Cluster) *Namespace {
	t.Helper()
	namespace, err := cluster.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: generateName(t.Name())},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Namespace{Cluster: cluster, Client: cluster.Client(), Name: namespace.Name, t: t}
	t.Cleanup(s.end)
	return s
}

// generateName is the beginning of a namespace's name that shows which test it belongs to.
func generateName(test string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, strings.TrimPrefix(test, "Test"))
	return strings.Trim(name[:min(len(name), 50)], "-") + "-"
}

func (s *Namespace) end() {
	lines, err := s.logLines()
	if err != nil {
		s.t.Errorf("Plimsoll's log: %v", err)
	}
	// RBAC's message. Creation in a namespace that is being deleted has another one.
	refused := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "is forbidden: User ") })
	if refused >= 0 && !s.Refused {
		s.t.Errorf("config/ does not grant Plimsoll what it needs: %s", lines[refused])
	}
	if s.t.Failed() {
		s.keepEvidence(lines)
		const most = 30
		lines = lines[max(0, len(lines)-most):]
		s.t.Logf("Plimsoll's last %d log lines about %s:\n%s", len(lines), s.Name, strings.Join(lines, ""))
	}
	err = s.Client.CoreV1().Namespaces().Delete(context.WithoutCancel(s.t.Context()), s.Name, metav1.DeleteOptions{})
	if err != nil {
		s.t.Errorf("delete namespace %s: %v", s.Name, err)
	}
}

// logLines are Plimsoll's log lines that name the namespace.
func (s *Namespace) logLines() ([]string, error) {
	content, err := os.ReadFile(s.Cluster.LogPath(plimsollName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the test has Plimsoll beside, or none
	}
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(content)) {
		if strings.Contains(line, s.Name) {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// Kubectl runs kubectl in the namespace and returns its standard output.
func (s *Namespace) Kubectl(args ...string) string {
	s.t.Helper()
	return s.KubectlInput("", args...)
}

// KubectlInput is Kubectl with text on standard input, for "apply", "-f", "-".
func (s *Namespace) KubectlInput(input string, args ...string) string {
	s.t.Helper()
	out, err := s.Cluster.KubectlInput(s.t.Context(), input, append([]string{"--namespace=" + s.Name}, args...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// SetLoad offers a Service this many requests per second from now on.
func (s *Namespace) SetLoad(service string, requestsPerSecond float64) {
	s.t.Helper()
	if err := s.Cluster.World().SetLoad(s.Name, service, requestsPerSecond); err != nil {
		s.t.Fatal(err)
	}
}
