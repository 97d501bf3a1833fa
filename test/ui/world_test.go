//go:build ui

package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
)

// patience is for what takes seconds on a quiet machine.
const patience = 2 * time.Minute

// world is the development cluster: a real API server, and Plimsoll's controller and plimsoll ui as programs of their
// own, as make demo runs them.
type world struct {
	*devcluster.Cluster
	program    string
	controller *devcluster.Program
	// address is what plimsoll ui has printed.
	address string
	surge   demoSurge
}

// TestCluster looks at the autoscalers of a real cluster, one after the other: all tests share the cluster, and a
// surge of load that is played once.
func TestCluster(t *testing.T) {
	w := newWorld(t)
	t.Run("Surge", w.testSurge)
	t.Run("WhatIf", w.testWhatIf)
	t.Run("Vertical", w.testVertical)
	t.Run("Schedule", w.testSchedule)
	t.Run("Keyboard", w.testKeyboard)
	// It ends the controller.
	t.Run("Many", w.testMany)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Cluster: devclustertest.Start(t, devcluster.Config{MetricsServer: true})}
	built, err := build.Run(t.Context(), build.Config{Parts: []string{"plimsoll"}, Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	w.program = filepath.Join(built.BinDir, "plimsoll")
	if err := w.InstallDefinitions(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Before the recommender runs, which would begin with a checkpoint of its own.
	w.arrange(t)
	account, err := w.InstallPlimsoll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.controller, err = w.StartPlimsoll(t.Context(), w.program, account,
		"--horizontal-pod-autoscalers=act", "--horizontal-pod-autoscaler-sync-period=5s", "--status-interval=5s", "--v=1",
		// That is where the simulated pods serve their metrics.
		"--pod-endpoint-allowed-cidr=127.0.0.0/8",
		// Recommendations within seconds, no pod replaced meanwhile, and a floor that is out of the way.
		"--recommender-interval=2s", "--updater-interval=1h", "--pod-recommendation-min-cpu-millicores=1",
		"--pod-recommendation-min-memory-mb=1")
	if err != nil {
		t.Fatal(err)
	}
	w.startPage(t)
	return w
}

var printedAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?token=\S+`)

func (w *world) startPage(t *testing.T) {
	t.Helper()
	const name = "plimsoll-ui"
	_, err := w.StartProgram(t.Context(), name, []string{
		w.program, "ui", "--no-browser", "--kubeconfig=" + w.KubeconfigPath(), "--sync-period=5s",
		"--controller-address=" + w.controller.Inspection,
	}, func(context.Context) error {
		text, err := os.ReadFile(w.LogPath(name))
		if err != nil {
			return err
		}
		if w.address = string(printedAddress.Find(text)); w.address == "" {
			return errors.New("no address is printed")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The autoscalers beside the demo's. What upstream's recommender left of eight days says that the pods need more than
// they request.
const autoscalers = `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscalerCheckpoint
metadata: {name: gateway-app}
spec: {vpaObjectName: gateway, containerName: app}
status:
  version: v3
  lastUpdateTime: %[1]q
  firstSampleStart: %[2]q
  lastSampleStart: %[1]q
  totalSamplesCount: 11520
  cpuHistogram:
    referenceTimestamp: %[3]q
    bucketWeights: {"4": 900, "5": 2500, "6": 5200, "7": 8100, "8": 10000, "9": 7400, "10": 3900, "11": 1600, "12": 420}
    totalWeight: 20000
  memoryHistogram:
    referenceTimestamp: %[3]q
    bucketWeights: {"6": 2100, "7": 6100, "8": 10000, "9": 4300, "10": 900}
    totalWeight: 1000
---
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: gateway}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: gateway}
  updatePolicy: {updateMode: Recreate}
---
apiVersion: plimsoll.dev/v1alpha1
kind: WorkloadAutoscaler
metadata: {name: checkout}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: checkout}
  minReplicas: 1
  maxReplicas: 8
  metrics:
  - {name: cpu, type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
---
apiVersion: v1
kind: Service
metadata:
  name: checkout
  annotations: {sim.plimsoll.dev/requests-per-second: "5", sim.plimsoll.dev/backlog-limit: "0"}
spec: {clusterIP: None, selector: {app: checkout}}
`

const deployment = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata:
      labels: {app: %[1]s}
      annotations: {sim.plimsoll.dev/startup-delay: 1s, sim.plimsoll.dev/idle-cpu: "0", sim.plimsoll.dev/cpu-per-request: 10m}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: app
        image: registry.example/simulated:1
        resources: {requests: {cpu: 100m, memory: 64Mi}}
`

// elsewhere is the namespace of all that is not the demo's.
const elsewhere = "site"

func (w *world) arrange(t *testing.T) {
	t.Helper()
	now := time.Now().UTC()
	text := fmt.Sprintf(autoscalers, now.Format(time.RFC3339), now.Add(-8*24*time.Hour).Format(time.RFC3339),
		now.Truncate(24*time.Hour).Format(time.RFC3339))
	text += fmt.Sprintf(deployment, "gateway", 2) + fmt.Sprintf(deployment, "checkout", 1)
	w.kubectl(t, "", "create", "namespace", elsewhere)
	w.kubectl(t, text, "--namespace="+elsewhere, "apply", "-f", "-")
}

func (w *world) kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := w.KubectlInput(t.Context(), input, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// open opens the page in a tab.
func (w *world) open(t *testing.T, before ...step) *tab {
	t.Helper()
	p := newTab(t)
	p.do(before...)
	p.do(withPlots())
	p.do(chromedp.Navigate(w.address))
	t.Cleanup(func() { p.checkRequests(); p.checkComplaints() })
	p.waitForRows()
	return p
}

// eventually waits until look returns nil.
func eventually(t *testing.T, what string, look func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := look(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %s: %v", patience, what, err)
		case <-ticker.C:
		}
	}
}
