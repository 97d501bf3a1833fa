package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/ui/server"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
	"github.com/plimsoll-dev/plimsoll/internal/ui/web"
)

// browser sends requests to the page's server as the page does.
type browser struct {
	t      *testing.T
	base   *url.URL
	client *http.Client
}

// serve serves the page of a namespace until the test ends, and opens the address that plimsoll ui would print.
func serve(t *testing.T, s *harness.Namespace) *browser {
	t.Helper()
	served, err := server.New(0, page(t, s, s.Cluster.RESTConfig()), web.Handler())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- served.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(served.Address())
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, base: base, client: &http.Client{Jar: jar}}
	if _, err := b.ask(t.Context(), http.MethodGet, base, nil); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *browser) ask(ctx context.Context, method string, at *url.URL, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := b.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	return answer, err
}

func (b *browser) get(ctx context.Context, path string, query url.Values, into any) error {
	at := b.base.JoinPath(path)
	at.RawQuery = query.Encode()
	answer, err := b.ask(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// row is an autoscaler's in the overview.
func (b *browser) row(ctx context.Context, id string) (*view.Row, error) {
	var overview view.Overview
	if err := b.get(ctx, "/api/overview", nil, &overview); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(overview.Rows, func(r view.Row) bool { return r.ID == id })
	if at < 0 || len(overview.Notes) > 0 {
		return nil, fmt.Errorf("no row of %s in %+v", id, overview)
	}
	return &overview.Rows[at], nil
}

func (b *browser) object(ctx context.Context, kind, namespace, name string) (*view.Object, error) {
	object := &view.Object{}
	return object, b.get(ctx, "/api/object", url.Values{
		"kind": {kind}, "namespace": {namespace}, "name": {name}, "last": {"10m"},
	}, object)
}

func (b *browser) play(ctx context.Context, asked *view.WhatIfRequest) (*view.WhatIf, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	answer, err := b.ask(ctx, http.MethodPost, b.base.JoinPath("/api/whatif"), body)
	if err != nil {
		return nil, err
	}
	played := &view.WhatIf{}
	return played, json.Unmarshal(answer, played)
}

// unscheduled is without a schedule, officeHours is in force all day.
const unscheduled = `
apiVersion: plimsoll.dev/v1alpha1
kind: WorkloadAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 8
  metrics:
  - name: queue-length
    type: External
    external:
      metric: {name: queue_length, selector: {matchLabels: {service: jobs}}}
      target: {type: AverageValue, averageValue: "10"}
`

const officeHours = `{"spec":{"schedules":[
	{"name":"office-hours","start":"0 0 * * *","durationSeconds":86400,"minReplicas":3}]}}`

// TestPageOfWorkloadAutoscaler: the replicas of a new schedule are in the row, in the words of explain, in the bounds over time
// and in the recorded change; and another schedule is played against the recorded load.
func TestPageOfWorkloadAutoscaler(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	s.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 15))
	s.KubectlInput(unscheduled, "apply", "-f", "-")
	s.AwaitReplicas(harness.Deployment, "web", 2)
	b := serve(t, s)
	b.awaitHistory(s)
	s.Kubectl("patch", "wla", "web", "--type=merge", "-p", officeHours)
	s.AwaitReplicas(harness.Deployment, "web", 3)
	s.Eventually("the row", func(ctx context.Context) error {
		row, err := b.row(ctx, view.IDOf(view.WLA, s.Name, "web"))
		if err != nil {
			return err
		}
		counts := []int32{ptr.Deref(row.Desired, 0), ptr.Deref(row.Min, 0), ptr.Deref(row.Max, 0)}
		if !slices.Equal(counts, []int32{3, 3, 8}) || row.Target != "Deployment/web" || row.Load == nil {
			return fmt.Errorf("row %+v with %d", row, counts)
		}
		return nil
	})
	s.Eventually("all about the object", func(ctx context.Context) error {
		object, err := b.object(ctx, view.WLA, s.Name, "web")
		if err != nil {
			return err
		}
		return checkScheduled(object)
	})
	checkOtherSchedule(s, b)
}

func (b *browser) awaitHistory(s *harness.Namespace) {
	b.t.Helper()
	s.Eventually("a history", func(ctx context.Context) error {
		object, err := b.object(ctx, view.WLA, s.Name, "web")
		if err == nil && (object.History == nil || len(object.History.Points) == 0) {
			err = errors.New(object.Unrecorded)
		}
		return err
	})
}

// checkOtherSchedule plays the recorded load against another schedule, and against one that cannot be.
func checkOtherSchedule(s *harness.Namespace, b *browser) {
	five := "- {name: office-hours, start: '0 0 * * *', durationSeconds: 86400, minReplicas: 5}"
	asked := &view.WhatIfRequest{
		Kind: view.WLA, Namespace: s.Name, Name: "web", LastSeconds: 600, Changes: view.Changes{Schedules: five},
	}
	s.Eventually("the load played with another schedule", func(ctx context.Context) error {
		played, err := b.play(ctx, asked)
		if err != nil {
			return err
		}
		if len(played.AsIs.Desired) == 0 || slices.Max(played.AsIs.Desired) != 3 || slices.Max(played.Changed.Desired) != 5 ||
			!strings.Contains(played.Patch, `"minReplicas":5`) || !strings.HasPrefix(played.Command, "kubectl patch ") {
			return fmt.Errorf("played %+v", played)
		}
		return nil
	})
	asked.Changes.Schedules = "- {name: office-hours, start: never, durationSeconds: 86400, minReplicas: 5}"
	if played, err := b.play(b.t.Context(), asked); err == nil || !strings.Contains(err.Error(), "start") {
		b.t.Errorf("a schedule that cannot be: %v, %+v", err, played)
	}
}

func checkScheduled(o *view.Object) error {
	isSaid := slices.ContainsFunc(o.Lines, func(l output.Line) bool { return strings.Contains(l.Text, `schedule "office-hours"`) })
	isBound := slices.ContainsFunc(o.Bounds, func(b view.Bound) bool {
		return b.Min == 3 && b.Max == 8 && slices.Equal(b.Schedules, []string{"office-hours"})
	})
	h := o.History
	switch {
	case !isSaid || o.Unexplained != "":
		return fmt.Errorf("%q: lines %+v", o.Unexplained, o.Lines)
	case h == nil || len(h.Points) == 0 || ptr.Deref(h.Points[len(h.Points)-1].Wanted, 0) != 3:
		return fmt.Errorf("%q: history %+v", o.Unrecorded, h)
	case !isBound || o.Until < o.Now:
		return fmt.Errorf("bounds %+v until %d", o.Bounds, o.Until)
	}
	return checkScheduledDetails(o, h.Changes)
}

func checkScheduledDetails(o *view.Object, changes []loadreport.OutputChange) error {
	switch {
	case len(o.Metrics) != 1 || ptr.Deref(o.Metrics[0].Replicas, 0) != 2:
		return fmt.Errorf("metrics %+v", o.Metrics)
	case !strings.Contains(o.Manifest, "name: office-hours") || o.Vertical != nil:
		return fmt.Errorf("manifest %s, vertical %+v", o.Manifest, o.Vertical)
	}
	if n := len(changes); n == 0 || changes[n-1].From != 2 || changes[n-1].To != 3 {
		return fmt.Errorf("changes %+v", changes)
	}
	return nil
}

// learnt is a checkpoint of upstream's recommender after eight days: the pods need more than they request.
const learnt = `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscalerCheckpoint
metadata: {name: web-app}
spec: {vpaObjectName: web, containerName: app}
status:
  version: v3
  lastUpdateTime: %[1]q
  firstSampleStart: %[2]q
  lastSampleStart: %[1]q
  totalSamplesCount: 11520
  cpuHistogram: {referenceTimestamp: %[3]q, bucketWeights: {"11": 5000, "12": 10000}, totalWeight: 20000}
  memoryHistogram: {referenceTimestamp: %[3]q, bucketWeights: {"10": 10000}, totalWeight: 1000}
`

const recreating = `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  updatePolicy: {updateMode: Recreate}
`

// TestPageOfVerticalPodAutoscaler: the recommendation is in the row; the object has the checkpoint's histograms, their
// percentiles, the recommendation in the status, the pods' requests, and the plan for each pod.
func TestPageOfVerticalPodAutoscaler(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	s.Create(harness.Workload{Replicas: ptr.To[int32](2)}.Deployment())
	now := time.Now().UTC()
	checkpoint := fmt.Sprintf(learnt, now.Format(time.RFC3339), now.Add(-8*24*time.Hour).Format(time.RFC3339),
		now.Truncate(24*time.Hour).Format(time.RFC3339))
	s.KubectlInput(recreating, "apply", "-f", "-")
	b := serve(t, s)
	s.Eventually("the row", func(ctx context.Context) error {
		row, err := b.row(ctx, view.IDOf(view.VPA, s.Name, "web"))
		if err == nil && (row.Kind != view.VPA || row.Mode != "Recreate" || row.Target != "Deployment/web" ||
			row.Health == view.Unknown || row.Max != nil) {
			err = fmt.Errorf("row %+v, minReplicas %d", row, ptr.Deref(row.Min, 0))
		}
		return err
	})
	s.Eventually("all about the object", func(ctx context.Context) error {
		// A recommender that has started reads no checkpoint, and writes its own over it.
		s.KubectlInput(checkpoint, "apply", "-f", "-")
		object, err := b.object(ctx, view.VPA, s.Name, "web")
		if err != nil {
			return err
		}
		return checkLearnt(s, object)
	})
	if _, err := b.play(t.Context(), &view.WhatIfRequest{
		Kind: view.VPA, Namespace: s.Name, Name: "web", LastSeconds: 600,
	}); err == nil {
		t.Error("a load is played against a VerticalPodAutoscaler")
	}
}

func checkLearnt(s *harness.Namespace, o *view.Object) error {
	v := o.Vertical
	if v == nil || len(v.Containers) != 1 || o.History != nil || o.Unexplained != "" {
		return fmt.Errorf("%q: vertical %+v, history %+v", o.Unexplained, v, o.History)
	}
	c := &v.Containers[0]
	if v.Mode != "Recreate" || c.Name != "app" || c.Samples < 11520 || len(c.Resources) != 2 || len(v.Updater) == 0 {
		return fmt.Errorf("vertical %+v", v)
	}
	for i := range c.Resources {
		if err := checkResource(s, &c.Resources[i]); err != nil {
			return err
		}
	}
	isSilent := slices.ContainsFunc(v.Pods, func(p view.VerticalPod) bool { return len(p.Says) == 0 || p.Requests == "" })
	if len(v.Pods) != 2 || isSilent {
		return fmt.Errorf("pods %+v", v.Pods)
	}
	return nil
}

// checkResource compares what is shown of a container's resource with what the status publishes.
func checkResource(s *harness.Namespace, r *view.VerticalResource) error {
	requests := map[string]float64{"cpu": 0.1, "memory": 64 << 20}
	sum := 0.0
	for _, bar := range r.Histogram {
		sum += bar.Weight
	}
	if math.Abs(sum-1) > 0.01 || len(r.Percentiles) == 0 || !slices.Equal(r.Requests, []float64{requests[r.Name]}) {
		return fmt.Errorf("%s: %+v", r.Name, r)
	}
	for field, shown := range map[string]*float64{
		"target": r.Target, "lowerBound": r.Lower, "upperBound": r.Upper, "uncappedTarget": r.Uncapped,
	} {
		published, err := resource.ParseQuantity(s.Kubectl("get", "vpa", "web", "-o",
			"jsonpath={.status.recommendation.containerRecommendations[0]."+field+"."+r.Name+"}"))
		if err != nil || shown == nil || math.Abs(*shown-published.AsApproximateFloat64()) > 1e-6**shown {
			return fmt.Errorf("%s of %s: %v, published is %s (%w)", field, r.Name, shown, &published, err)
		}
	}
	return nil
}
