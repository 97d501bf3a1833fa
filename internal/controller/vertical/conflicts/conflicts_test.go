package conflicts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// horizontal returns an autoscaler of Deployment web; with a share, of the CPU requests.
func horizontal(name string, share *int32) *autoscalingv2.HorizontalPodAutoscaler {
	target := autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: share}
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Metrics: []autoscalingv2.MetricSpec{{
				Type:     autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: target},
			}},
		},
	}
}

// vpaOf returns an autoscaler of that Deployment, whose reference names no version.
func vpaOf(mode vpav1.UpdateMode, recommended ...string) *vpav1.VerticalPodAutoscaler {
	v := &vpav1.VerticalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sizes"},
		Spec: vpav1.VerticalPodAutoscalerSpec{
			TargetRef:    &autoscalingv1.CrossVersionObjectReference{Kind: "Deployment", Name: "web"},
			UpdatePolicy: &vpav1.PodUpdatePolicy{UpdateMode: &mode},
		},
	}
	if len(recommended) > 0 {
		v.Status.Recommendation = &vpav1.RecommendedPodResources{}
		for _, name := range recommended {
			v.Status.Recommendation.ContainerRecommendations = append(v.Status.Recommendation.ContainerRecommendations,
				vpav1.RecommendedContainerResources{ContainerName: name})
		}
	}
	return v
}

// finder returns a Finder with these objects.
func finder(t *testing.T, objects ...any) *Finder {
	t.Helper()
	horizontals := cache.NewSharedIndexInformer(nil, &autoscalingv2.HorizontalPodAutoscaler{}, 0, cache.Indexers{})
	verticals := cache.NewSharedIndexInformer(nil, &vpav1.VerticalPodAutoscaler{}, 0, cache.Indexers{})
	workloads := cache.NewSharedIndexInformer(nil, &plimsollv1alpha1.WorkloadAutoscaler{}, 0, cache.Indexers{})
	f, err := New(Informers{Horizontals: horizontals, Workloads: workloads, Verticals: verticals}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		indexer := horizontals.GetIndexer()
		switch object.(type) {
		case *vpav1.VerticalPodAutoscaler:
			indexer = verticals.GetIndexer()
		case *observehorizontal.Autoscaler:
			indexer = workloads.GetIndexer()
		}
		if err := indexer.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestOfVertical(t *testing.T) {
	other := horizontal("elsewhere", ptr.To[int32](50))
	other.Namespace = "bank"
	average := horizontal("average", nil)
	v := vpaOf(vpav1.UpdateModeRecreate)
	f := finder(t, horizontal("web", ptr.To[int32](50)), horizontal("also", ptr.To[int32](70)), other, average, v)
	want := []conflict.Conflict{{Container: "app", Resource: vertical.CPU, Horizontal: conflict.Name{
		Kind: "HorizontalPodAutoscaler", Name: "also",
	}}}
	if diff := cmp.Diff(want, f.OfVertical(v, []string{"app"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	lost := vpaOf(vpav1.UpdateModeRecreate)
	lost.Spec.TargetRef = nil
	if got := f.OfVertical(lost, []string{"app"}); got != nil {
		t.Errorf("an object without a target fights over %v", got)
	}
}

// workload returns a WorkloadAutoscaler of that Deployment, as its cache has it.
func workload(name string, mode plimsollv1alpha1.Mode, share *int32) *observehorizontal.Autoscaler {
	target := plimsollv1alpha1.MetricTarget{Type: plimsollv1alpha1.UtilizationMetricType, AverageUtilization: share}
	a := observehorizontal.WorkloadAutoscaler(&plimsollv1alpha1.WorkloadAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{
			ScaleTargetRef: plimsollv1alpha1.CrossVersionObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: "web",
			},
			Mode: mode,
			Metrics: []plimsollv1alpha1.MetricSpec{{
				Type:     plimsollv1alpha1.ResourceMetricSourceType,
				Resource: &plimsollv1alpha1.ResourceMetricSource{Name: "cpu", Target: target},
			}},
		},
	})
	return &a
}

// A WorkloadAutoscaler conflicts as an HPA does, in both directions, unless it is a preview.
func TestWorkloadAutoscalers(t *testing.T) {
	v := vpaOf(vpav1.UpdateModeRecreate, "app")
	for mode, want := range map[plimsollv1alpha1.Mode]string{
		plimsollv1alpha1.ModeActive:  "WorkloadAutoscaler web",
		plimsollv1alpha1.ModePaused:  "WorkloadAutoscaler web",
		plimsollv1alpha1.ModePreview: "",
	} {
		wla := workload("web", mode, ptr.To[int32](50))
		f := finder(t, v, wla)
		got := ""
		if found := f.OfVertical(v, []string{"app"}); len(found) > 0 {
			got = found[0].Horizontal.String()
		}
		if got != want {
			t.Errorf("%s: the vertical side conflicts with %q, want %q", mode, got, want)
		}
		// A preview shows the conflict that it would have.
		message := f.OfHorizontal(*wla)
		if !strings.Contains(message, "which the VerticalPodAutoscaler sizes controls") {
			t.Errorf("%s: the horizontal side says %q", mode, message)
		}
	}
	average := workload("web", plimsollv1alpha1.ModeActive, nil)
	if found := finder(t, v, average).OfVertical(v, []string{"app"}); found != nil {
		t.Errorf("AverageValue conflicts: %v", found)
	}
}

func TestOfHorizontal(t *testing.T) {
	hpa := horizontal("web", ptr.To[int32](50))
	for why, c := range map[string]struct {
		hpa  *autoscalingv2.HorizontalPodAutoscaler
		with any
		want string
	}{
		"with whom, and over what": {hpa, vpaOf(vpav1.UpdateModeInPlaceOrRecreate, "app"),
			"the cpu request of container app, which the VerticalPodAutoscaler sizes controls"},
		"before the first recommendation too": {hpa, vpaOf(vpav1.UpdateModeInitial), "the cpu request of container *,"},
		"one that only recommends":            {hpa, vpaOf(vpav1.UpdateModeOff, "app"), ""},
		"AverageValue":                        {horizontal("web", nil), vpaOf(vpav1.UpdateModeRecreate, "app"), ""},
		"nobody there":                        {hpa, horizontal("also", ptr.To[int32](1)), ""},
	} {
		got := finder(t, c.with).OfHorizontal(observehorizontal.HPA(c.hpa))
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: it says %q, want %q", why, got, c.want)
		}
	}
}

// A kind in lower case names the same workload: the API's clients accept both spellings.
func TestKindInLowerCase(t *testing.T) {
	for _, kinds := range [][2]string{{"deployment", "Deployment"}, {"Deployment", "deployment"}} {
		hpa, v := horizontal("web", ptr.To[int32](50)), vpaOf(vpav1.UpdateModeRecreate, "app")
		hpa.Spec.ScaleTargetRef.Kind, v.Spec.TargetRef.Kind = kinds[0], kinds[1]
		f := finder(t, hpa, v)
		if f.OfHorizontal(observehorizontal.HPA(hpa)) == "" || len(f.OfVertical(v, []string{"app"})) != 1 {
			t.Errorf("HPA of %s, VPA of %s: no conflict", kinds[0], kinds[1])
		}
	}
}

// A Deployment of another group is not the Deployment of the same name.
func TestAnotherGroup(t *testing.T) {
	h := horizontal("web", ptr.To[int32](50))
	h.Spec.ScaleTargetRef.APIVersion = "apps.example.com/v1"
	v := vpaOf(vpav1.UpdateModeRecreate)
	f := finder(t, h, v)
	if got := f.OfVertical(v, []string{"app"}); len(got) != 0 {
		t.Errorf("conflicts %+v", got)
	}
	if got := f.OfHorizontal(observehorizontal.HPA(h)); got != "" {
		t.Errorf("a conflict: %s", got)
	}
	v.Spec.TargetRef.APIVersion = "apps.example.com/v2"
	f = finder(t, h, v)
	if len(f.OfVertical(v, []string{"app"})) != 1 || f.OfHorizontal(observehorizontal.HPA(h)) == "" {
		t.Error("no conflict on the same Deployment by another version")
	}
}
