package vertical

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

var writes = flag.Bool("update", false, "write what explanations say into testdata")

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}
}

// known returns a workload of three pods: one requests too little, one the recommendation, one is not ready yet. A day
// of samples lies around 200m and 300 MB.
func known() *snapshotvertical.Step {
	histogram := func(bucket int) vpav1.HistogramCheckpoint {
		return vpav1.HistogramCheckpoint{
			ReferenceTimestamp: metav1.NewTime(noon.Truncate(24 * time.Hour)), BucketWeights: map[int]uint32{bucket: 10000},
			TotalWeight: 100,
		}
	}
	mode := vpav1.UpdateModeRecreate
	k := &snapshotvertical.Step{
		Snapshot: &snapshotvertical.Snapshot{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Time: noon,
			Target: snapshotvertical.Target{Replicas: 3},
		},
		Object: &vpav1.VerticalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec: vpav1.VerticalPodAutoscalerSpec{
				TargetRef:    &autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
				UpdatePolicy: &vpav1.PodUpdatePolicy{UpdateMode: &mode},
				ResourcePolicy: &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{
					{ContainerName: "*", MaxAllowed: resources("200m", "1Gi")},
				}},
			},
			Status: vpav1.VerticalPodAutoscalerStatus{Recommendation: &vpav1.RecommendedPodResources{
				ContainerRecommendations: []vpav1.RecommendedContainerResources{{
					ContainerName: "app", Target: resources("200m", "400Mi"), LowerBound: resources("150m", "300Mi"),
					UpperBound: resources("200m", "1Gi"),
				}},
			}},
		},
		Checkpoints: []*vpav1.VerticalPodAutoscalerCheckpoint{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-app"},
			Spec:       vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: "web", ContainerName: "app"},
			Status: vpav1.VerticalPodAutoscalerCheckpointStatus{
				Version: "v3", CPUHistogram: histogram(14), MemoryHistogram: histogram(18), TotalSamplesCount: 1440,
				FirstSampleStart: metav1.NewTime(noon.Add(-24 * time.Hour)), LastSampleStart: metav1.NewTime(noon),
			},
		}, {
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-old"},
			Spec:       vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: "web", ContainerName: "old"},
			Status:     vpav1.VerticalPodAutoscalerCheckpointStatus{Version: "v1"},
		}},
	}
	for i, cpu := range []string{"50m", "200m", "200m"} {
		k.Pods = append(k.Pods, pod(fmt.Sprint("web-", i+1), resources(cpu, "400Mi")))
	}
	return k
}

func pod(name string, requests corev1.ResourceList) *corev1.Pod {
	started := metav1.NewTime(noon.Add(-time.Hour))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(name), CreationTimestamp: started,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web",
				Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{
			NodeName:   "node",
			Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: requests}}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &started, QOSClass: corev1.PodQOSBurstable,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

func explainedBy(t *testing.T, step *snapshotvertical.Step, set divergence.Set) *Explanation {
	t.Helper()
	e, err := Explain(step, set)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExplainText(t *testing.T) {
	k := known()
	var got bytes.Buffer
	if err := explainedBy(t, k, divergence.Default).WriteText(&got, Style{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/explained.txt"
	if *writes {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSavedDivergences: divergences that differ from the snapshot's are printed; another spelling of the same set is
// not.
func TestSavedDivergences(t *testing.T) {
	for saved, want := range map[string]bool{
		"quiet-status,implausible-samples": false, "implausible-samples,quiet-status": false,
		// An earlier version printed these names.
		"quiet-status,absurd-samples": false, "quiet-status": true, "unheard-of": true, "": false,
	} {
		k := known()
		k.Snapshot.Annotations = map[string]string{snapshot.DivergencesAnnotation: saved}
		var got bytes.Buffer
		e := explainedBy(t, k, divergence.QuietStatus|divergence.ImplausibleSamples)
		if err := e.WriteText(&got, Style{Verbose: true}); err != nil {
			t.Fatal(err)
		}
		if is := strings.Contains(got.String(), "when the snapshot was saved"); is != want {
			t.Errorf("%q: printed: %t, want %t", saved, is, want)
		}
	}
}

// TestConflictIsExplained: CPU that a horizontal autoscaler uses is not changed, and the explanation has the reason.
func TestConflictIsExplained(t *testing.T) {
	k := known()
	k.Horizontals = []*autoscalingv2.HorizontalPodAutoscaler{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			// The kind may also be in lower case.
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "deployment", Name: "web"},
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{AverageUtilization: ptr.To[int32](50)},
				}}},
		},
	}}
	memory := plimsollv1alpha1.MetricSpec{
		Type: plimsollv1alpha1.ResourceMetricSourceType,
		Resource: &plimsollv1alpha1.ResourceMetricSource{
			Name: "memory", Target: plimsollv1alpha1.MetricTarget{AverageUtilization: ptr.To[int32](50)},
		},
	}
	k.Workloads = []*plimsollv1alpha1.WorkloadAutoscaler{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "heap"},
		Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{
			ScaleTargetRef: plimsollv1alpha1.CrossVersionObjectReference{Kind: "Deployment", Name: "web"},
			Metrics:        []plimsollv1alpha1.MetricSpec{memory},
		},
	}}
	var got bytes.Buffer
	if err := explainedBy(t, k, divergence.Default).WriteText(&got, Style{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the WorkloadAutoscaler heap has a utilization target on memory of container app",
		"not recommended: a horizontal autoscaler has a utilization target on it",
		"the HorizontalPodAutoscaler web has a utilization target on cpu of container app"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, got.String())
		}
	}
}

// TestJSON: the JSON output has the numbers of each step.
func TestJSON(t *testing.T) {
	var raw bytes.Buffer
	if err := explainedBy(t, known(), divergence.Default).WriteJSON(&raw); err != nil {
		t.Fatal(err)
	}
	var out Output
	if err := json.Unmarshal(raw.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Containers) != 1 || out.Containers[0].Samples != 1440 || len(out.Pods) != 3 || len(out.Damaged) != 1 {
		t.Fatalf("%+v", out)
	}
	cpu := out.Containers[0].Resources[0].Bounds[0]
	if cpu.Capped != 200 || cpu.Used <= 200 || cpu.WithMargin != cpu.Used+cpu.Used*15/100 {
		t.Errorf("the CPU target is %+v, want more than 200 and a margin of 15 %%, capped to 200", cpu)
	}
}

// TestWithoutAnything: an object without a decision has an explanation too.
func TestWithoutAnything(t *testing.T) {
	var got bytes.Buffer
	k := &snapshotvertical.Step{
		Object: &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
		Snapshot: &snapshotvertical.Snapshot{
			Time: noon, Target: snapshotvertical.Target{Problem: "spec.targetRef: the object names no workload"},
		},
	}
	if err := explainedBy(t, k, divergence.None).WriteText(&got, Style{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.String(), "names no workload") || !strings.Contains(got.String(), "nothing yet") {
		t.Errorf("it says:\n%s", got.String())
	}
}

// TestFeatures: the explanation reads the updater's feature gates from its condition, and prints them as unknown
// without it.
func TestFeatures(t *testing.T) {
	k := known()
	k.Object.Spec.UpdatePolicy.UpdateMode = ptr.To(vpav1.UpdateModeInPlace)
	said := func(name, conditionType, reason, message string) string {
		k.Object.Status.Conditions = []vpav1.VerticalPodAutoscalerCondition{{
			Type: vpav1.VerticalPodAutoscalerConditionType(conditionType), Status: corev1.ConditionTrue, Reason: reason,
			Message: message,
		}}
		var got bytes.Buffer
		if err := explainedBy(t, k, divergence.Default).WriteText(&got, Style{Verbose: true}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return got.String()
	}
	if text := said("nobody says", "Other", "", ""); !strings.Contains(text,
		"whether the updater has InPlace among its --feature-gates is unknown") ||
		!strings.Contains(text, "would be resized in place by the next pass: app requests cpu 50m, less") {
		t.Errorf("nobody says whether the gate is on:\n%s", text)
	}
	if text := said("off", "FeatureOff", "InPlace", "the gate is off"); strings.Contains(text, "feature-gates") ||
		strings.Contains(text, "outside of the") ||
		!strings.Contains(text, "the gate is off") ||
		!strings.Contains(text, "not updated: the update mode changes no running pods") {
		t.Errorf("the updater says that it is off:\n%s", text)
	}
	if text := said("on", "UpdateBlocked", "Updating", "x"); strings.Contains(text, "feature") ||
		!strings.Contains(text, "would be resized in place by the next pass: app requests cpu 50m, less") {
		t.Errorf("the updater acts and misses nothing:\n%s", text)
	}
	k.Snapshot.NoResize = true
	if text := said("old", "UpdateBlocked", "Updating", "x"); !strings.Contains(text,
		"the API server cannot resize pods") || !strings.Contains(text, "needs an update") {
		t.Errorf("an old API server:\n%s", text)
	}
}
