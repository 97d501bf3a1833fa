package simulate

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
)

const (
	storedHPA = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop, uid: u-1}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 20
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]
status: {currentReplicas: 3, desiredReplicas: 3}
`
	storedDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, resources: {requests: {cpu: 400m}}}]}
`
	refused = `
apiVersion: v1
kind: Status
status: Failure
reason: Forbidden
code: 403
`
)

// recordedLoad ends now: an hour of 3 pods at the target and half an hour of 9, with a gap of ten minutes.
func recordedLoad(t *testing.T) []byte {
	t.Helper()
	var h loadhistory.History
	begin := time.Now().Add(-90 * time.Minute)
	for second := range 90 * 60 {
		p := loadhistory.Point{Load: 3, PerPodMilli: 280, Wanted: 4, Ready: 4}
		switch {
		case second >= 1800 && second < 2400:
			p.Load = math.NaN()
		case second >= 3600:
			p.Load = 9
		}
		h.Add(begin.Add(time.Duration(second)*time.Second), p)
	}
	b, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// simulateFrom runs the command on a cluster that has the object and answers so about its Deployment.
func simulateFrom(t *testing.T, deployment string, args ...string) (out, notes string, err error) {
	t.Helper()
	answers := map[string]string{
		"/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web": storedHPA,
		"/apis/apps/v1/namespaces/shop/deployments/web":                     deployment,
	}
	history := recordedLoad(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/horizontalpodautoscalers/shop/web/history" {
			_, _ = w.Write(history)
			return
		}
		text, err := yaml.YAMLToJSON([]byte(answers[r.URL.Path]))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		switch answers[r.URL.Path] {
		case "":
			w.WriteHeader(http.StatusNotFound)
		case refused:
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	var printed, errors bytes.Buffer
	cmd := Command()
	cmd.SetOut(&printed)
	cmd.SetErr(&errors)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--from=hpa/web", "-n=shop", "--server=" + server.URL,
		"--controller-address=" + strings.TrimPrefix(server.URL, "http://"), "--burstiness=0"}, args...))
	err = cmd.ExecuteContext(t.Context())
	return printed.String(), errors.String(), err
}

// played are the parts of the JSON form that tests are about.
type played struct {
	Seconds, PodCapacity, Target float64
	Runs                         []struct {
		Name    string
		Changes []struct{ To int32 }
		Score   struct{ LostPercent, ShortPercent float64 }
	}
}

// TestSimulateFrom: the recorded load is played against the object of the cluster. Nine pods at the target ask for nine
// pods, or for more where --set lowers the target: the load stays what it was.
func TestSimulateFrom(t *testing.T) {
	const target = "--set=spec.metrics[0].resource.target.averageUtilization="
	out, notes, err := simulateFrom(t, storedDeployment, "-o=json", "--as=plimsoll", target+"70", target+"45")
	if err != nil {
		t.Fatal(err)
	}
	var p played
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err)
	}
	if math.Abs(p.PodCapacity-1/0.7) > 1e-9 || p.Seconds < 85*60 || p.Seconds > 96*60 || len(p.Runs) != 2 {
		t.Errorf("%+v", p)
	}
	for i, want := range []int32{9, 14} {
		changes := p.Runs[i].Changes
		if len(changes) == 0 {
			t.Fatalf("%s: the count did not change", p.Runs[i].Name)
		}
		if to := changes[len(changes)-1].To; to < want-1 || to > want+1 {
			t.Errorf("%s: %d pods at last, want %d within the tolerance", p.Runs[i].Name, to, want)
		}
	}
	for _, want := range []string{
		"note: the load of HorizontalPodAutoscaler shop/web from ", "in pods at the target, read from the controller\n",
		"m0s of it the load is not known: what was known before goes on there\n",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is missing in\n%s", want, notes)
		}
	}
}

// TestSimulateFromText: the text names the workload and the load.
func TestSimulateFromText(t *testing.T) {
	out, _, err := simulateFrom(t, storedDeployment, "--as=plimsoll", "--last=30m", "--for=5m")
	if err != nil || !strings.Contains(out, "Deployment web: 400m requested") ||
		!strings.Contains(out, "load    horizontalpodautoscaler/web, 5m of it") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSimulateFromAssumes: the record is in pods at the target. How many requests that is may be said.
func TestSimulateFromAssumes(t *testing.T) {
	for flag, want := range map[string]string{
		"--seed=1": "each of which serves 35 requests/s; a pod serves 50 requests/s at 100 % of its CPU request;",
		"--pod-capacity=200": "each of which serves 140 requests/s; a pod serves 200 requests/s at 100 % of its CPU request, " +
			"as --pod-capacity says;",
	} {
		out, _, err := simulateFrom(t, storedDeployment, "--as=plimsoll", flag)
		out = strings.ReplaceAll(out, "\n        ", " ")
		if err != nil || !strings.HasPrefix(out, "assumed: the load is in pods at the target, as recorded, "+want) {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestSimulateFromWithoutTheWorkload: without the permission to get the Deployment, what its pods request follows from
// the record, and the user is told.
func TestSimulateFromWithoutTheWorkload(t *testing.T) {
	out, notes, err := simulateFrom(t, refused, "--as=plimsoll", "--for=5m")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "a pod of 400m: 400m requested") ||
		!strings.Contains(notes, "you may not get deployments.apps in namespace shop") ||
		!strings.Contains(notes, "as recorded, a pod requests 400m of CPU") {
		t.Errorf("%s\n%s", notes, out)
	}
	out, notes, err = simulateFrom(t, refused, "--as=plimsoll", "--for=5m", "--cpu-request=100m")
	if err != nil || !strings.Contains(out, "a pod of 100m: 100m requested") || strings.Contains(notes, "as recorded") {
		t.Errorf("%v: %s\n%s", err, notes, out)
	}
}

// TestSimulateFromIsChecked: what cannot be combined is refused before anything is read.
func TestSimulateFromIsChecked(t *testing.T) {
	for args, want := range map[string]string{
		"--from=hpa/web --load=step:1@0s":   "leave out --load",
		"--from=hpa/web --last=1s":          "want 1m0s to 360h",
		"--from=hpa/web --last=9999h":       "want 1m0s to 360h",
		"--from=vpa/web":                    "want hpa/NAME or wla/NAME",
		"--from=web":                        "want hpa/NAME or wla/NAME",
		"--load=step:1@0s --from= --for=1m": "or use --from",
	} {
		cmd := Command()
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append(strings.Fields(args), "--server=http://127.0.0.1:1"))
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
