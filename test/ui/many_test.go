//go:build ui

package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

const (
	// manyObjects are created beside those that are there already.
	manyObjects = 10_000
	// atATime is how many of them are created at a time.
	atATime = 32
)

func amountOf(t *testing.T, quantity string) float64 {
	t.Helper()
	q, err := resource.ParseQuantity(quantity)
	if err != nil {
		t.Fatalf("%q: %v", quantity, err)
	}
	return q.AsApproximateFloat64()
}

// makers create objects with a status, as a controller writes it.
type makers struct {
	client kubernetes.Interface
	custom dynamic.Interface
}

func (w *world) makers(t *testing.T) *makers {
	t.Helper()
	config := w.RESTConfig()
	config.QPS = -1
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &makers{client: client, custom: custom}
}

// make creates the autoscaler of a row.
func (m *makers) make(ctx context.Context, row *view.Row) error {
	switch row.Kind {
	case view.HPA:
		return m.makeHPA(ctx, row)
	case view.WLA:
		return m.makeCustom(ctx, row, schema.GroupVersionResource{
			Group: "plimsoll.dev", Version: "v1alpha1", Resource: "workloadautoscalers",
		}, map[string]any{
			"scaleTargetRef": target(row), "minReplicas": int64(*row.Min), "maxReplicas": int64(*row.Max),
			"metrics": []any{map[string]any{"name": "cpu", "type": "Resource", "resource": map[string]any{
				"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(70)},
			}}},
		}, map[string]any{
			"currentReplicas": int64(*row.Current), "desiredReplicas": int64(*row.Desired), "conditions": conditions(row),
		})
	default:
		return m.makeCustom(ctx, row, schema.GroupVersionResource{
			Group: "autoscaling.k8s.io", Version: "v1", Resource: "verticalpodautoscalers",
		}, map[string]any{"targetRef": target(row), "updatePolicy": map[string]any{"updateMode": "Off"}},
			map[string]any{"conditions": []any{map[string]any{
				"type": "RecommendationProvided", "status": "True", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
			}}})
	}
}

func target(row *view.Row) map[string]any {
	return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": row.Name}
}

// conditions are those that the row's health comes from.
func conditions(row *view.Row) []any {
	active := map[string]any{
		"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "message": "",
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}
	if row.Health == view.Problem {
		active["status"], active["reason"], active["message"] = "False", "FailedGetResourceMetric", row.Says
	}
	return []any{active}
}

func (m *makers) makeCustom(
	ctx context.Context, row *view.Row, kind schema.GroupVersionResource, spec, status map[string]any,
) error {
	objects := m.custom.Resource(kind).Namespace(row.Namespace)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kind.GroupVersion().String(), "kind": row.Kind, "metadata": map[string]any{"name": row.Name}, "spec": spec,
	}}
	created, err := objects.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create %s: %w", row.ID, err)
	}
	created.Object["status"] = status
	if _, err = objects.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("status of %s: %w", row.ID, err)
	}
	return nil
}

func (m *makers) makeHPA(ctx context.Context, row *view.Row) error {
	objects := m.client.AutoscalingV2().HorizontalPodAutoscalers(row.Namespace)
	created, err := objects.Create(ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: row.Name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: row.Name},
			MinReplicas:    row.Min, MaxReplicas: *row.Max,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](70),
				},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create %s: %w", row.ID, err)
	}
	created.Status = statusOf(row)
	if _, err = objects.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("status of %s: %w", row.ID, err)
	}
	return nil
}

func statusOf(row *view.Row) autoscalingv2.HorizontalPodAutoscalerStatus {
	status := autoscalingv2.HorizontalPodAutoscalerStatus{
		CurrentReplicas: *row.Current, DesiredReplicas: *row.Desired, LastScaleTime: ptr.To(metav1.Now()),
		CurrentMetrics: []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{
			Name:    corev1.ResourceCPU,
			Current: autoscalingv2.MetricValueStatus{AverageUtilization: ptr.To(int32(*row.Load.Ratio * 70))},
		}}},
	}
	condition := autoscalingv2.HorizontalPodAutoscalerCondition{
		Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound", LastTransitionTime: metav1.Now(),
	}
	if row.Health == view.Problem {
		condition.Status, condition.Reason, condition.Message = corev1.ConditionFalse, "FailedGetResourceMetric", row.Says
	}
	status.Conditions = append(status.Conditions, condition)
	return status
}

// testMany creates 10,000 autoscalers of all kinds, and measures the overview with them. The controller has ended: the
// objects have no targets, and their statuses are written as they are made.
func (w *world) testMany(t *testing.T) {
	w.controller.Stop(t.Context())
	rows := rowsOf(manyObjects)
	began := time.Now()
	w.makeAll(t, rows)
	all := len(rows) + w.countOthers(t)
	t.Logf("%d autoscalers created, with their statuses, in %.1f s", len(rows), time.Since(began).Seconds())

	first := w.open(t)
	first.waitFor("all rows", fmt.Sprintf(`document.querySelector(".count").textContent === "%d autoscalers"`, all))
	p := w.open(t, withTiming())
	p.checkFirstPaint(all)
	p.checkScrolling(all)
	t.Logf("finding in %d rows, layout included: %.1f ms", all, p.find("payments index"))
	p.checkCount(count(rows, func(r view.Row) bool {
		return r.Namespace == "payments" && strings.HasPrefix(r.Name, "index")
	}), all)
	t.Logf("choosing a health among %d rows: %.1f ms", all, p.chooseHealth("problem"))
	p.checkCount(count(rows, func(r view.Row) bool { return r.Health == view.Problem }), all)
	w.checkOneChange(t, p, &rows[0])
}

func (w *world) makeAll(t *testing.T, rows []view.Row) {
	t.Helper()
	m := w.makers(t)
	namespaces := map[string]bool{}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(atATime)
	for i := range rows {
		row := &rows[i]
		if !namespaces[row.Namespace] {
			namespaces[row.Namespace] = true
			w.kubectl(t, "", "create", "namespace", row.Namespace)
		}
		group.Go(func() error { return m.make(ctx, row) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// countOthers are the autoscalers that were there before.
func (w *world) countOthers(t *testing.T) int {
	t.Helper()
	n := 0
	for _, namespace := range []string{shop, elsewhere} {
		n += len(strings.Fields(w.kubectl(t, "", "--namespace="+namespace, "get", "hpa,wla,vpa", "--output=name")))
	}
	return n
}

// checkOneChange: what changes in one of the 10,000 is seen on the open page, and only that row is sent.
func (w *world) checkOneChange(t *testing.T, p *tab, row *view.Row) {
	t.Helper()
	objects := w.makers(t).client.AutoscalingV2().HorizontalPodAutoscalers(row.Namespace)
	object, err := objects.Get(t.Context(), row.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	row.Health, row.Says = view.Problem, "the one of the many that has changed"
	object.Status = statusOf(row)
	value[bool](p, "(performance.clearResourceTimings(), true)")
	began := time.Now()
	if _, err := objects.UpdateStatus(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.find(row.Namespace + "/" + row.Name)
	p.waitFor("the change", fmt.Sprintf(`[...document.querySelectorAll("td.c-says")].some((cell) => cell.textContent === %s)`, quoted(row.Says)))
	most := value[float64](p, `Math.max(...performance.getEntriesByType("resource").map((entry) => entry.transferSize))`)
	t.Logf("a change of one among %d is on the open page after %.1f s; the largest answer since has %.1f kB", manyObjects,
		time.Since(began).Seconds(), most/1000)
	if most > 5000 {
		t.Errorf("an answer has %.0f bytes: more than the change was sent", most)
	}
}
