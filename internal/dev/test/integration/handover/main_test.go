package handover

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// cluster has kube-controller-manager's loop on; each test turns it as it needs it. It writes down who writes what.
var cluster devclustertest.Shared

// auditLog is the API server's log of writes.
var auditLog string

// auditPolicy has a line for each write.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
- {level: None}
`

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "plimsoll-handover-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	auditLog = filepath.Join(dir, "audit.log")
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return 1, err
	}
	cluster.Config = devcluster.Config{
		MetricsServer: true, HPAController: true,
		APIServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog},
	}
	code = m.Run()
	if present != nil {
		err = present.Stop()
	}
	return code, err
}

// written is a write with its user.
type written struct {
	Verb      string
	UserAgent string
	User      struct{ Username string }
	ObjectRef struct{ Resource, Subresource, Namespace, Name string }
}

func (w written) String() string {
	return fmt.Sprintf("%s %s %s/%s %s/%s", w.User.Username, w.Verb, w.ObjectRef.Resource, w.ObjectRef.Subresource,
		w.ObjectRef.Namespace, w.ObjectRef.Name)
}

// writesBy are all writes until now that a user tried.
func writesBy(t *testing.T, user string) []written {
	t.Helper()
	file, err := os.Open(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var found []written
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var w written
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			continue // the last line is being written
		}
		if w.User.Username == user {
			found = append(found, w)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

const (
	loopOn  = "--controllers=*"
	loopOff = "--controllers=*,-horizontal-pod-autoscaler-controller"
	// often makes kube-controller-manager decide about as often as Plimsoll.
	often = "--horizontal-pod-autoscaler-sync-period=2s"
	// The user of kube-controller-manager's loop.
	loopUser = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
	// plimsollUser is Plimsoll, as config/ has it.
	plimsollUser = "system:serviceaccount:plimsoll-system:plimsoll-controller"
)

// restart starts kube-controller-manager again with other flags.
func restart(t *testing.T, s *harness.Namespace, flags ...string) {
	t.Helper()
	if err := s.Cluster.RestartControllerManager(t.Context(), flags...); err != nil {
		t.Fatal(err)
	}
}

// plimsoll is the program and its rights, made once.
var plimsoll = sync.OnceValues(func() (*harness.Plimsoll, error) {
	return harness.NewPlimsoll(context.Background(), present)
})

// present is the running cluster; set by namespace.
var present *devcluster.Cluster

// namespace is a namespace for the test, in the cluster of all.
func namespace(t *testing.T) (*harness.Namespace, *harness.Plimsoll) {
	t.Helper()
	present = cluster.Cluster(t)
	p, err := plimsoll()
	if err != nil {
		t.Fatal(err)
	}
	return harness.NewNamespace(t, present), p
}
