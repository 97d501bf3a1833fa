package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/ui/report"
)

// TestReport: a report about an object of a real API server has its history and its explanation, as JSON and as a page.
func TestReport(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	s.Eventually("a report with a history", func(context.Context) error {
		stdout, stderr, code := reportOf(t, s, "-o", "json")
		var got report.Report
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
			return fmt.Errorf("exit status %d, %w: %s", code, err, stderr)
		}
		h := got.Object.History
		if h == nil || len(h.Points) == 0 || ptr.Deref(h.Points[len(h.Points)-1].Wanted, 0) != 2 || len(got.Object.Lines) == 0 {
			return fmt.Errorf("%q, %q: history %+v", got.Object.Unrecorded, got.Object.Unexplained, h)
		}
		return nil
	})
	stdout, stderr, code := reportOf(t, s)
	if code != 0 || stderr != "" {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	for _, part := range []string{"<!doctype html>", "<title>" + s.Name + "/web, ", "kind: HorizontalPodAutoscaler", "</html>\n"} {
		if !strings.Contains(stdout, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}

// reportOf runs the program as the cluster's administrator.
func reportOf(t *testing.T, s *harness.Namespace, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	p := shared.Plimsoll(t)
	return p.Run(t, append([]string{"report", "hpa/web", "-n", s.Name, "--last=5m", "--sync-period=1s",
		"--kubeconfig=" + s.Cluster.KubeconfigPath(), "--controller-address=" + p.Inspection()}, args...)...)
}
