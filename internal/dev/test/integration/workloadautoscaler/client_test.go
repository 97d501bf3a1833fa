package workloadautoscaler

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

func clientOf(t *testing.T, s *harness.Namespace) wla.WorkloadAutoscalerClient {
	t.Helper()
	client, err := wla.New(unlimited(s))
	if err != nil {
		t.Fatal(err)
	}
	if served, err := client.Served(t.Context()); err != nil || !served {
		t.Fatalf("served: %v, %v", served, err)
	}
	return client.WorkloadAutoscalers(s.Name)
}

func web() *plimsollv1alpha1.WorkloadAutoscaler {
	return &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{
			ScaleTargetRef: plimsollv1alpha1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    5,
			Metrics: []plimsollv1alpha1.MetricSpec{{
				Name: "cpu", Type: plimsollv1alpha1.ResourceMetricSourceType, Resource: &plimsollv1alpha1.ResourceMetricSource{
					Name: "cpu", Target: plimsollv1alpha1.MetricTarget{
						Type: plimsollv1alpha1.UtilizationMetricType, AverageUtilization: ptr.To[int32](80),
					},
				},
			}},
		}}
}

// Absent fields get the same defaults from the API server as from SetDefaults, at each place that has some.
func TestDefaults(t *testing.T) {
	t.Parallel()
	objects := clientOf(t, namespace(t))
	whole := web()
	whole.Spec.Behavior = &plimsollv1alpha1.Behavior{}
	whole.Spec.Schedules = []plimsollv1alpha1.Schedule{
		{Name: "day", Start: "0 8 * * mon-fri", DurationSeconds: ptr.To[int32](60), MinReplicas: ptr.To[int32](2)}}
	whole.Spec.Metrics = []plimsollv1alpha1.MetricSpec{{
		Name: "jobs", Type: plimsollv1alpha1.ExternalMetricSourceType, Fallback: &plimsollv1alpha1.Fallback{Replicas: ptr.To[int32](3)},
		External: &plimsollv1alpha1.ExternalMetricSource{Metric: plimsollv1alpha1.MetricIdentifier{Name: "jobs"},
			Target: plimsollv1alpha1.MetricTarget{Type: plimsollv1alpha1.ValueMetricType, Value: ptr.To(resource.MustParse("5"))}},
	}}
	halfway := web()
	halfway.Spec.Behavior = &plimsollv1alpha1.Behavior{
		ScaleUp: &plimsollv1alpha1.ScaleUpRules{StabilizationWindowSeconds: ptr.To[int32](5)},
		ScaleDown: &plimsollv1alpha1.ScaleDownRules{Policies: []plimsollv1alpha1.ScalingPolicy{
			{Type: plimsollv1alpha1.PodsScalingPolicy, Value: 1, PeriodSeconds: 60}}},
	}
	schedules := web()
	schedules.Spec.MinReplicas, schedules.Spec.Metrics = ptr.To[int32](0), nil
	schedules.Spec.ScaleToZero = &plimsollv1alpha1.ScaleToZero{}
	schedules.Spec.Schedules = whole.Spec.Schedules
	forecast := web()
	forecast.Spec.Forecast = &plimsollv1alpha1.Forecast{Mode: plimsollv1alpha1.ForecastPreview}
	for what, object := range map[string]*plimsollv1alpha1.WorkloadAutoscaler{
		"all absent": web(), "a forecast's mode alone": forecast, "behavior, schedule and fallback": whole, "some of behavior": halfway, "no metrics": schedules,
	} {
		created, err := objects.Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		want := object.Spec.DeepCopy()
		plimsollv1alpha1.SetDefaults(want)
		if diff := cmp.Diff(*want, created.Spec); diff != "" {
			t.Errorf("%s (-SetDefaults +API server):\n%s", what, diff)
		}
	}
}

// Each call of the typed client works, and each field can be changed.
func TestTypedClient(t *testing.T) {
	t.Parallel()
	objects := clientOf(t, namespace(t))
	object := web()
	object.Spec.Metrics = []plimsollv1alpha1.MetricSpec{}
	object.Spec.Schedules = []plimsollv1alpha1.Schedule{
		{Name: "day", Start: "@daily", DurationSeconds: ptr.To[int32](60), MinReplicas: ptr.To[int32](2)}}
	created, err := objects.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	created.Spec.ScaleTargetRef.Name, created.Spec.MaxReplicas = "other", 7
	updated, err := objects.Update(t.Context(), created, metav1.UpdateOptions{})
	// An empty list and an absent one mean the same.
	if err != nil || len(updated.Spec.Metrics) > 0 || updated.Generation != 2 {
		t.Fatalf("%+v, %v", updated, err)
	}
	updated.Spec.MaxReplicas = 9 // is no part of the status
	updated.Status = plimsollv1alpha1.WorkloadAutoscalerStatus{CurrentReplicas: 2, DesiredReplicas: 3}
	if _, err = objects.UpdateStatus(t.Context(), updated, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := objects.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if o := list.Items[0]; o.Spec.MaxReplicas != 7 || o.Status.DesiredReplicas != 3 || o.Generation != 2 {
		t.Errorf("%+v", o)
	}
	if err := objects.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted object: %v", err)
	}
}

// One patch sets each mode, and the status stays.
func TestModeIsOnePatch(t *testing.T) {
	t.Parallel()
	objects := clientOf(t, namespace(t))
	object, err := objects.Create(t.Context(), web(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object.Status.DesiredReplicas = 3
	if _, err := objects.UpdateStatus(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []plimsollv1alpha1.Mode{
		plimsollv1alpha1.ModePaused, plimsollv1alpha1.ModePreview, plimsollv1alpha1.ModeActive,
	} {
		patched, err := objects.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"mode":"`+mode+`"}}`),
			metav1.PatchOptions{})
		if err != nil || patched.Spec.Mode != mode || patched.Status.DesiredReplicas != 3 {
			t.Errorf("%+v, %v", patched, err)
		}
	}
}

// An informer follows the objects of its namespace.
func TestInformer(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	objects := clientOf(t, s)
	client, err := wla.New(unlimited(s))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	informer := client.Informer(s.Name, nil)
	go informer.RunWithContext(ctx)
	sees := func(what string, want ...string) {
		t.Helper()
		s.Eventually(what, func(context.Context) error {
			var got []string
			for _, found := range informer.GetStore().List() {
				object, ok := found.(*plimsollv1alpha1.WorkloadAutoscaler)
				if !ok {
					return fmt.Errorf("the cache has a %T", found)
				}
				for _, entry := range object.ManagedFields {
					if entry.FieldsV1 != nil {
						return fmt.Errorf("the fields of %s are kept", entry.Manager)
					}
				}
				got = append(got, fmt.Sprint(object.Name, " ", object.Spec.MaxReplicas))
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				return fmt.Errorf("the cache has %q", got)
			}
			return nil
		})
	}
	created, err := objects.Create(t.Context(), web(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sees("one is created", "web 5")
	created.Spec.MaxReplicas = 6
	if _, err := objects.Update(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	sees("it is changed", "web 6")
	if err := objects.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	sees("all are deleted")
}

// A status with all that it can have is stored as it is, and one with a quantity beyond the bounds is not.
func TestStatus(t *testing.T) {
	t.Parallel()
	objects := clientOf(t, namespace(t))
	object, err := objects.Create(t.Context(), web(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := metav1.Now().Rfc3339Copy()
	object.Status = fullStatus(at)
	stored, err := objects.UpdateStatus(t.Context(), object, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fullStatus(at), stored.Status); diff != "" {
		t.Errorf("(-written +stored):\n%s", diff)
	}
	for _, value := range []string{`"1e999999999"`, `1e300`, `"` + fmt.Sprintf("%070d", 1) + `"`} {
		_, err := objects.Patch(t.Context(), "web", types.MergePatchType, []byte(
			`{"status":{"metrics":[{"name":"jobs","type":"External","value":`+value+`}]}}`),
			metav1.PatchOptions{}, "status")
		if err := refused(err, "status.metrics[0].value", ""); err != nil {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func fullStatus(at metav1.Time) plimsollv1alpha1.WorkloadAutoscalerStatus {
	return plimsollv1alpha1.WorkloadAutoscalerStatus{
		ObservedGeneration: ptr.To[int64](1), LastScaleTime: &at, CurrentReplicas: 2, DesiredReplicas: 4,
		Summary:              &plimsollv1alpha1.Summary{Reason: "minReplicas of schedule day", Metrics: "cpu: 45%/80%"},
		EffectiveMinReplicas: ptr.To[int32](4), EffectiveMaxReplicas: ptr.To[int32](5),
		Metrics: []plimsollv1alpha1.MetricStatus{
			{Name: "cpu", Type: "Resource", AverageValue: ptr.To(resource.MustParse("45m")),
				AverageUtilization: ptr.To[int32](45), Replicas: ptr.To[int32](2), SampleTime: &at,
				Samples: &plimsollv1alpha1.MetricSamples{Counted: 2, Missing: 1, NotReady: 1, NotAsked: 3}},
			{Name: "jobs", Type: "External",
				Failure: &plimsollv1alpha1.MetricFailure{Reason: "FailedGetExternalMetric", Message: "no values"}},
		},
		Proposals: []plimsollv1alpha1.Proposal{
			{Source: plimsollv1alpha1.ProposalSourceSchedule, Name: "day", Replicas: 4},
		},
		LastScaleDecision: &plimsollv1alpha1.ScaleDecision{
			Time: at, ObservedGeneration: ptr.To[int64](1), CurrentReplicas: 2, RecommendedReplicas: ptr.To[int32](2),
			DesiredReplicas: 4, Reason: "ReplicaLimit", Constraints: []plimsollv1alpha1.ScaleDecisionConstraint{"MinReplicas"},
			Metrics: []plimsollv1alpha1.ScaleDecisionMetric{
				{MetricIndex: 0, ProposedReplicas: ptr.To[int32](2), Status: "Used", Reason: "Computed"},
				{MetricIndex: 1, Status: "Invalid", Reason: "FetchFailed"},
			},
		},
		Limit:           &plimsollv1alpha1.Limit{Reason: "MinReplicas", Message: "4 replicas at least"},
		Next:            &plimsollv1alpha1.Next{Time: at, Reason: "ScheduleEnd"},
		ActiveSchedules: []plimsollv1alpha1.ActiveSchedule{{Name: "day", Until: &at}},
		Conditions: []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Active", LastTransitionTime: at},
			{Type: "ScalingActive", Status: metav1.ConditionTrue, Reason: "ValidMetricFound", LastTransitionTime: at},
		},
	}
}

// Two managers own one metric each, and neither takes the other's.
func TestTwoManagersOfMetrics(t *testing.T) {
	t.Parallel()
	objects := clientOf(t, namespace(t))
	apply := func(manager, metrics string, force bool) (*plimsollv1alpha1.WorkloadAutoscaler, error) {
		return objects.Patch(t.Context(), "web", types.ApplyPatchType, []byte(`{"apiVersion":"plimsoll.dev/v1alpha1",
			"kind":"WorkloadAutoscaler","metadata":{"name":"web"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1",
			"kind":"Deployment","name":"web"},"maxReplicas":5,"metrics":[`+metrics+`]}}`),
			metav1.PatchOptions{FieldManager: manager, Force: &force})
	}
	const metric = `{"name":%q,"type":"Resource","resource":{"name":%q,"target":{"type":"Utilization","averageUtilization":%d}}}`
	cpu, memory := fmt.Sprintf(metric, "cpu", "cpu", 60), fmt.Sprintf(metric, "memory", "memory", 80)
	if _, err := apply("gitops", cpu, false); err != nil {
		t.Fatal(err)
	}
	if _, err := apply("person", memory, false); err != nil {
		t.Fatal(err)
	}
	both, err := apply("gitops", fmt.Sprintf(metric, "cpu", "cpu", 70), false)
	if err != nil || len(both.Spec.Metrics) != 2 || *both.Spec.Metrics[0].Resource.Target.AverageUtilization != 70 {
		t.Fatalf("%+v, %v", both, err)
	}
	if _, err := apply("person", fmt.Sprintf(metric, "cpu", "cpu", 50), false); !apierrors.IsConflict(err) {
		t.Errorf("the other's metric: %v", err)
	}
	left, err := apply("gitops", "", false)
	if err != nil || len(left.Spec.Metrics) != 1 || left.Spec.Metrics[0].Name != "memory" {
		t.Errorf("%+v, %v", left, err)
	}
}

// Metrics in status are a map by name: a manager of server-side apply keeps its own, a merge patch writes the list as a
// whole, and no two have one name.
func TestMetricsOfStatusAreByName(t *testing.T) {
	t.Parallel()
	objects := clientOf(t, namespace(t))
	if _, err := objects.Create(t.Context(), web(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := func(kind types.PatchType, manager, metrics string) (*plimsollv1alpha1.WorkloadAutoscaler, error) {
		return objects.Patch(t.Context(), "web", kind, []byte(`{"apiVersion":"plimsoll.dev/v1alpha1",
			"kind":"WorkloadAutoscaler","status":{"metrics":[`+metrics+`]}}`),
			metav1.PatchOptions{FieldManager: manager}, "status")
	}
	const cpu, jobs = `{"name":"cpu","type":"Resource","averageUtilization":45}`, `{"name":"jobs","type":"External","value":"3"}`
	if _, err := patch(types.ApplyPatchType, "one", cpu); err != nil {
		t.Fatal(err)
	}
	both, err := patch(types.ApplyPatchType, "other", jobs)
	if err != nil || len(both.Status.Metrics) != 2 {
		t.Fatalf("%+v, %v", both, err)
	}
	_, err = patch(types.MergePatchType, "third", cpu+","+cpu)
	if err := refused(err, "status.metrics[1]", "Duplicate"); err != nil {
		t.Errorf("two of one name: %v", err)
	}
	alone, err := patch(types.MergePatchType, "third", jobs)
	if err != nil || len(alone.Status.Metrics) != 1 || alone.Status.Metrics[0].Name != "jobs" {
		t.Errorf("%+v, %v", alone, err)
	}
	alone.Status = fullStatus(metav1.Now())
	if stored, err := objects.UpdateStatus(t.Context(), alone, metav1.UpdateOptions{}); err != nil ||
		len(stored.Status.Metrics) != 2 {
		t.Errorf("%+v, %v", stored, err)
	}
}
