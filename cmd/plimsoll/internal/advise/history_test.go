package advise

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/advise/show"
)

// jumping is an HPA and a WorkloadAutoscaler on Deployments whose pods request half a core.
const jumping = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 40
  metrics:
  - {name: cpu, type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
---
apiVersion: plimsoll.dev/v1alpha1
kind: WorkloadAutoscaler
metadata: {name: api, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: api}
  minReplicas: 2
  maxReplicas: 40
  metrics:
  - {name: cpu, type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 250m}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: web, resources: {requests: {cpu: 500m}}, readinessProbe: {httpGet: {path: /, port: 80}}}
`

// at is the load of a minute in pods at the target: 4, and 20 for an hour from 9:00 UTC.
func at(minute time.Time) float64 {
	if minute.UTC().Hour() == 9 {
		return 20
	}
	return 4
}

// trace is a file with that load, so much of it per pod.
func trace(t *testing.T, perPod float64) string {
	t.Helper()
	var text strings.Builder
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for minute := range 21 * 24 * 60 {
		now := start.Add(time.Duration(minute) * time.Minute)
		fmt.Fprintf(&text, "%d,%g\n", now.Unix(), perPod*at(now))
	}
	file := filepath.Join(t.TempDir(), "load.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// found are the objects with a recurring jump, and the snippets for them.
func found(t *testing.T, out string) map[string]string {
	t.Helper()
	// What is not known follows the report.
	var report show.Report
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all := map[string]string{}
	for _, f := range report.Findings {
		all[f.Object.Name] = f.Why + "\n" + f.Snippet
	}
	return all
}

// TestHistoryInAFile: a pod serves 100, of which the target is half.
func TestHistoryInAFile(t *testing.T) {
	for args, want := range map[string][]string{
		// 20 pods at the target of 50 % need 10 at least, and 0.6 of them are the fewest that are tried.
		"--pod-capacity=100": {"start: 57 8 * * *", "minReplicas: 12", "timeZone: Etc/UTC", "load.csv; pods take 60 s"},
		// The peak asks for 28 of 40 pods, of which 0.6 are 17.
		"": {"start: 57 8 * * *", "minReplicas: 17"},
		"--time-zone=Europe/Berlin --startup-time=10m": {"start: 48 9 * * *", "timeZone: Europe/Berlin", "take 600 s"},
	} {
		out, err := adviseWith(t, jumping, append(strings.Fields(args), "--rules=recurring-jump", "-o=json",
			"--history=web="+trace(t, 50))...)
		if err != nil {
			t.Fatal(err)
		}
		got := found(t, out)
		for _, part := range want {
			if !strings.Contains(got["web"], part) || len(got) != 1 {
				t.Errorf("%s: want %q in\n%s", args, part, out)
			}
		}
	}
}

func TestHistoryFails(t *testing.T) {
	for args, want := range map[string]string{
		"--history=FILE":                                             "there are 2 such autoscalers",
		"--history=other=FILE":                                       `there is no autoscaler "other"`,
		"--history=web=missing.csv":                                  "missing.csv: no such file",
		"--history=web=FILE --pod-capacity=1e-9":                     "more than 1e+06 pods; set --pod-capacity",
		"--pod-capacity=-1":                                          "--pod-capacity=-1",
		"--time-zone=Local":                                          "must be the name of a time zone",
		"--startup-time=2h":                                          "--startup-time=2h0m0s",
		"--prometheus-address=http://x --history-length=1y":          "--history-length=1y",
		"--prometheus-address=http://x --password=x":                 "--password goes with --username",
		"--prometheus-address=http://x --prometheus-query-timeout=x": "--prometheus-query-timeout=x",
	} {
		_, err := adviseWith(t, jumping, strings.Fields(strings.ReplaceAll(args, "FILE", trace(t, 1)))...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// TestHistoryInPrometheus: both metrics' targets are a quarter of a core. One load cannot be read: the other is checked.
func TestHistoryInPrometheus(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.FormValue("query")
		start, _ := strconv.ParseFloat(r.FormValue("start"), 64)
		end, _ := strconv.ParseFloat(r.FormValue("end"), 64)
		var points []string
		for second := start; second <= end && strings.HasPrefix(query, "sum(max by (pod, container) (rate"); second += 60 {
			points = append(points, fmt.Sprintf(`[%f,"%g"]`, second, 0.25*at(time.Unix(int64(second)-90, 0))))
		}
		series := ""
		if len(points) > 0 && strings.Contains(query, `"web-`) == strings.Contains(r.URL.Path, "/web/") {
			series = `{"metric":{},"values":[` + strings.Join(points, ",") + `]}`
		}
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[` + series + `]}}`))
	}))
	defer server.Close()
	for path, name := range map[string]string{"/web/": "web", "/api/": "api"} {
		out, err := adviseWith(t, jumping, "--rules=recurring-jump", "-o=json", "--prometheus-address="+server.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		got := found(t, out)
		if len(got) != 1 || !strings.Contains(got[name], "CPU use in Prometheus") ||
			!strings.Contains(got[name], "start: 57 8 * * *") || strings.Count(out, " could not be read: ") != 1 {
			t.Errorf("%s: %s", name, out)
		}
	}
}
