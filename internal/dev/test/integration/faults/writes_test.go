package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// A policy forbids scaling. The object has a condition for that, its target stays unchanged, and it is scaled when the
// policy is removed.
func TestScaleWriteIsRefused(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	web(s, jobs())
	awaitFine(s, "web")
	record := s.WatchCounts("web")
	lift := forbidScaling(t, s)
	more(s)
	o := ordeal{
		condition: unable("FailedUpdateScale"),
		words:     []string{`deployments.apps "web" is forbidden`, "no scaling during the freeze"},
	}
	s.AwaitHPA("web", "the symptom", o.shown)
	event := s.AwaitEvent("web", "FailedRescale", "no scaling during the freeze")
	if event.Type != corev1.EventTypeWarning {
		t.Errorf("event of type %s", event.Type)
	}
	if err := contains("event", event.Message,
		[]string{"New size: 4", "above target", `deployments.apps "web"`}); err != nil {
		t.Error(err)
	}
	s.AwaitDecisions("web", 3)
	if err := o.shown(s.HPA("web")); err != nil {
		t.Error(err)
	}
	wantCounts(t, record, 2)
	lift()
	s.AwaitReplicas(harness.Deployment, "web", 4)
	awaitFine(s, "web")
	wantCounts(t, record, 2, 4)
}

// forbidScaling waits until no scale in the namespace can be written.
func forbidScaling(t *testing.T, s *harness.Namespace) (lift func()) {
	t.Helper()
	admission := s.Client.AdmissionregistrationV1()
	name := metav1.ObjectMeta{Name: "freeze-" + s.Name}
	_, err := admission.ValidatingAdmissionPolicies().Create(t.Context(),
		&admissionregistrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: name,
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionregistrationv1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Name}},
					ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
						{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
							Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
							Rule: admissionregistrationv1.Rule{
								APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments/scale"},
							},
						}}},
				},
				Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "no scaling during the freeze"}},
			},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lift = sync.OnceFunc(func() {
		ctx := context.WithoutCancel(t.Context())
		err := errors.Join(admission.ValidatingAdmissionPolicyBindings().Delete(ctx, name.Name, metav1.DeleteOptions{}),
			admission.ValidatingAdmissionPolicies().Delete(ctx, name.Name, metav1.DeleteOptions{}))
		if err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(lift)
	_, err = admission.ValidatingAdmissionPolicyBindings().Create(t.Context(),
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: name,
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: name.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	deployments := s.Client.AppsV1().Deployments(s.Name)
	s.Eventually("the policy in force", func(ctx context.Context) error {
		scale, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = deployments.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("a scale can be written")
		}
		if !strings.Contains(err.Error(), "no scaling during the freeze") {
			return fmt.Errorf("the answer to a scale write: %w", err)
		}
		return nil
	})
	return lift
}

// Another client changes the count as fast as the API server allows, while Plimsoll wants another one. Each of
// Plimsoll's writes is from the count that it decided on: no change is overwritten unnoticed.
func TestScaleWriteInConflict(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	web(s, jobs())
	awaitFine(s, "web")
	changes := s.WatchChanges("web")
	more(s)
	deployments := s.Client.AppsV1().Deployments(s.Name)
	ended := time.Now().Add(8 * time.Second)
	for n := int32(0); time.Now().Before(ended); n++ {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, 5+n%2)
		_, err := deployments.Patch(t.Context(), "web", types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: "another"})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.AwaitReplicas(harness.Deployment, "web", 4)
	awaitFine(s, "web")
	compareWithLog(t, s, changes)
}

// compareWithLog checks that Plimsoll's writes, by the counts before and after in its log, are those that
// the API server has stored.
func compareWithLog(t *testing.T, s *harness.Namespace, seen *harness.Changes) {
	t.Helper()
	s.Eventually("what Plimsoll wrote, and nothing else, from what it decided on", func(context.Context) error {
		var decided []harness.Change
		for _, d := range s.Decisions("web") {
			if d.Scaled {
				decided = append(decided, harness.Change{From: d.Current, To: d.Desired, By: "plimsoll"})
			}
		}
		// Either may have the last write before the other.
		if stored := seen.By("plimsoll"); len(decided) == 0 || !slices.Equal(stored, decided) {
			return fmt.Errorf("it decided on %v, and wrote %v", decided, stored)
		}
		return nil
	})
}

// While the count climbs, bounds and target are edited: each edit applies at once.
func TestObjectIsEditedWhileItScales(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	w := harness.Workload{Replicas: ptr.To[int32](1)}
	hpa := harness.Autoscaler("web", jobs())
	hpa.Spec.MaxReplicas = 20
	hpa.Spec.Behavior = harness.DownAtOnce()
	hpa.Spec.Behavior.ScaleUp = &autoscalingv2.HPAScalingRules{Policies: []autoscalingv2.HPAScalingPolicy{
		{Type: autoscalingv2.PodsScalingPolicy, Value: 2, PeriodSeconds: 2},
	}}
	s.Create(w.Deployment(), harness.Queue("jobs", 5), hpa)
	awaitFine(s, "web")
	climbing := climb{t, s, s.WatchCounts("web")}
	s.SetQueue("jobs", 175)
	s.Eventually("the surge", func(context.Context) error {
		if n := s.Replicas(harness.Deployment, "web"); n < 5 {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
	climbing.edit("max below what there is", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.MaxReplicas = 4 },
		4)
	climbing.edit("min above what there is", func(hpa *autoscalingv2.HorizontalPodAutoscaler) {
		hpa.Spec.MinReplicas, hpa.Spec.MaxReplicas = ptr.To[int32](9), 20
	}, 9)
	s.Eventually("the surge going on", func(context.Context) error {
		if n := s.Replicas(harness.Deployment, "web"); n < 11 {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
	climbing.edit("a target ten times as high", func(hpa *autoscalingv2.HorizontalPodAutoscaler) {
		hpa.Spec.MinReplicas = ptr.To[int32](1)
		hpa.Spec.Metrics[0].External.Target = harness.AverageValue("100")
	}, 2)
}

// climb is the count of "web" on its way up.
type climb struct {
	t      *testing.T
	s      *harness.Namespace
	record *harness.Record
}

// edit changes the object "web" and waits for the count that the new spec demands. What was under way when the edit
// came may still be written; after that every count is within the new bounds.
func (c climb) edit(what string, change func(*autoscalingv2.HorizontalPodAutoscaler), want int32) {
	t, s, record := c.t, c.s, c.record
	t.Helper()
	const underWay = 5 * time.Second
	began := time.Now()
	s.UpdateHPA("web", change)
	since := time.Now().Add(underWay)
	// It may go on from there at once.
	s.Eventually(fmt.Sprintf("%s: %d replicas at some time", what, want), func(context.Context) error {
		counts, err := record.Counts()
		if err == nil &&
			!slices.ContainsFunc(counts, func(c harness.Count) bool { return c.At.After(began) && c.Replicas == want }) {
			err = fmt.Errorf("counts: %s", record)
		}
		return err
	})
	s.AwaitHPA("web", what+" observed", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		if got := hpa.Status.ObservedGeneration; got == nil || *got != hpa.Generation {
			return fmt.Errorf("observedGeneration is not %d", hpa.Generation)
		}
		return nil
	})
	spec := s.HPA("web").Spec
	counts, err := record.Counts()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		if c.At.After(since) && (c.Replicas < *spec.MinReplicas || c.Replicas > spec.MaxReplicas) {
			t.Errorf("%s: %d replicas after the edit to %d..%d; counts: %s", what, c.Replicas, *spec.MinReplicas,
				spec.MaxReplicas, record)
		}
	}
}
