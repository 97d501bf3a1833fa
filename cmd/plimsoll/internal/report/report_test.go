package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/ui/report"
)

const hpa = `{
  "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
  "metadata": {"name": "web", "namespace": "shop", "uid": "u-1", "annotations": {
    "note": "</script><script>alert(1)</script>", "kubectl.kubernetes.io/last-applied-configuration": "hunter2"}},
  "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "minReplicas": 2, "maxReplicas": 20,
    "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]},
  "status": {"currentReplicas": 4, "desiredReplicas": 6, "conditions": [{"type": "AbleToScale", "status": "True"}]}}`

// serve serves the HPA web and the history of its last hour, and answers 404 to all else.
func serve(t *testing.T, hasHistory bool) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, hpa)
		case r.URL.Path == "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscalerList", "items": [%s]}`, hpa)
		case r.URL.Path == "/horizontalpodautoscalers/shop/web/history" && hasHistory:
			var h loadhistory.History
			begin := time.Now().Add(-time.Hour).Truncate(time.Minute)
			for second := 0; second < 3600; second += 15 {
				h.Add(begin.Add(time.Duration(second)*time.Second), loadhistory.Point{Load: 3, Wanted: int32(4 + second/1800), Ready: 4})
			}
			encoded, err := h.AppendBinary(nil)
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(encoded)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusNotFound,
				Reason: metav1.StatusReasonNotFound, Details: &metav1.StatusDetails{Name: "none"},
			})
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// run runs the command against a server, and returns what it prints to both outputs.
func run(t *testing.T, server string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := Command("v1.2.3")
	var out, progress bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&progress)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--server="+server, "--controller-address="+strings.TrimPrefix(server, "http://")))
	err = cmd.ExecuteContext(t.Context())
	return out.String(), progress.String(), err
}

// TestFlags: what cannot work is refused before anything is read, as an error of the command line.
func TestFlags(t *testing.T) {
	tomorrow := time.Now().Add(24 * time.Hour).Format(time.RFC3339)
	for args, want := range map[string]string{
		"":                                     "no object is named: name the object of the report",
		"deployment/web":                       `"deployment/web" names no autoscaler`,
		"hpa/web -o pdf":                       `--output: "pdf": want html or json`,
		"hpa/web --last=1s":                    "want 10s to 360h",
		"hpa/web --last=400h":                  "want 10s to 360h",
		"hpa/web --sync-period=0s":             "--sync-period",
		"hpa/web --until=yesterday":            "want a time with its zone, such as 20",
		"hpa/web --until=2026-03-02T16:00":     "want a time with its zone, such as 20",
		"hpa/web --until=2001-01-01T00:00:00Z": "longer ago than the 360h0m0s for which histories are kept",
		"hpa/web --until=" + tomorrow:          "is in the future",
	} {
		stdout, _, err := run(t, "http://127.0.0.1:1", strings.Fields(args)...)
		if err == nil || !strings.Contains(err.Error(), want) || !cmderror.IsUsage(err) || stdout != "" {
			t.Errorf("%s: %v, printed %q; want %q", args, err, stdout, want)
		}
	}
}

// TestHTML: the page has what was recorded and what the cluster says, but for what is nobody's business; its progress is
// not in it.
func TestHTML(t *testing.T) {
	server := serve(t, true)
	stdout, stderr, err := run(t, server.URL, "hpa/web", "-n", "shop", "--last", "2h")
	if err != nil || stderr != "" {
		t.Fatalf("%v, %s", err, stderr)
	}
	for _, part := range []string{
		"<!doctype html>", "Content-Security-Policy", "plimsoll v1.2.3", "<title>shop/web, ", `"wanted":5`, `"gaps":[{"from"`,
		"averageUtilization: 50", "</html>\n",
	} {
		if !strings.Contains(stdout, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	for _, part := range []string{"hunter2", "<script>alert(1)", strings.TrimPrefix(server.URL, "http://")} {
		if strings.Contains(stdout, part) {
			t.Errorf("the page has %q", part)
		}
	}
}

// TestJSON: programs get the same; the time is the one that was asked about.
func TestJSON(t *testing.T) {
	until := time.Now().Add(-20 * time.Minute).Truncate(time.Second)
	stdout, _, err := run(t, serve(t, true).URL, "hpa", "web", "-n", "shop", "--last=15m", "--until="+until.Format(time.RFC3339), "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var got report.Report
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if !got.To.Equal(until) || !got.From.Equal(until.Add(-15*time.Minute)) || got.Program != "plimsoll v1.2.3" || got.Source != "read from the controller" {
		t.Errorf("%+v", got)
	}
	if h := got.Object.History; h == nil || len(h.Points) == 0 || h.Points[len(h.Points)-1].Time.After(until) {
		t.Errorf("the history is %+v", h)
	}
}

// TestDefaultTime: without a length, the report has what is recorded; with one, that length.
func TestDefaultTime(t *testing.T) {
	server := serve(t, true)
	for args, want := range map[string]time.Duration{"": time.Hour, "--last=24h": 24 * time.Hour} {
		stdout, _, err := run(t, server.URL, append(strings.Fields(args), "hpa/web", "-n", "shop", "-o", "json")...)
		if err != nil {
			t.Fatal(err)
		}
		var got report.Report
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		if lasts := got.To.Sub(got.From); lasts < want-2*time.Minute || lasts > want+2*time.Minute {
			t.Errorf("%s: a report about %v, want %v", args, lasts, want)
		}
	}
}

// TestNoHistory: without a history there is a report, and a note on it that is not in the file's way.
func TestNoHistory(t *testing.T) {
	stdout, stderr, err := run(t, serve(t, false).URL, "hpa/web", "-n", "shop")
	if err != nil || !strings.HasPrefix(stdout, "<!doctype html>") {
		t.Fatalf("%v: %.200s", err, stdout)
	}
	if want := "note: the report has no load and no replica counts: no history of HorizontalPodAutoscaler shop/web: "; !strings.HasPrefix(stderr, want) {
		t.Errorf("it says %q", stderr)
	}
}

// TestNotFound: who mistypes a name gets no file, and the name that was meant.
func TestNotFound(t *testing.T) {
	stdout, _, err := run(t, serve(t, false).URL, "hpa/wbe", "-n", "shop")
	if err == nil || stdout != "" || !strings.Contains(err.Error(), "did you mean web?") || cmderror.ExitStatus(err) != cmderror.Failed {
		t.Errorf("%v, printed %.200q", err, stdout)
	}
}

// TestTerminal: nobody wants a page's source in a terminal; the JSON form may go there.
func TestTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	cmd := Command("v1.2.3")
	cmd.SetOut(terminal)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"hpa/web", "-n", "shop", "--server=http://127.0.0.1:1"})
	err = cmd.ExecuteContext(t.Context())
	var found *cmderror.Error
	const next = "write it to a file: add > report.html to this command"
	if !errors.As(err, &found) || !cmderror.IsUsage(err) || found.Next != next {
		t.Errorf("%v", err)
	}
}
