package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
)

// evidenceTime bounds the requests of a failed test for the objects of its namespace.
const evidenceTime = 30 * time.Second

// keepEvidence writes the namespace's objects and Plimsoll's decisions about them into the test's folder below dist/,
// and logs the path.
func (s *Namespace) keepEvidence(logLines []string) {
	s.t.Helper()
	dir, err := devclustertest.Evidence(s.t)
	if err == nil {
		err = errors.Join(
			os.WriteFile(filepath.Join(dir, "decisions.log"), []byte(strings.Join(logLines, "")), 0o600),
			s.keepObjects(filepath.Join(dir, "objects.yaml"),
				"horizontalpodautoscalers,deployments,replicasets,statefulsets,pods,services,poddisruptionbudgets,events"))
	}
	if err != nil {
		s.t.Logf("the objects of %s are lost: %v", s.Name, err)
		return
	}
	// Most clusters have no definitions of these, and most tests no need of them.
	_ = s.keepObjects(filepath.Join(dir, "vertical.yaml"), "verticalpodautoscalers,verticalpodautoscalercheckpoints")
	s.t.Logf("the objects of %s and what Plimsoll decided about them are in %s", s.Name, dir)
}

func (s *Namespace) keepObjects(file, kinds string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), evidenceTime)
	defer cancel()
	text, err := s.Cluster.Kubectl(ctx, "--namespace="+s.Name, "get", kinds, "-o", "yaml")
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}
