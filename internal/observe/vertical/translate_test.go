package vertical

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
)

func spec(t *testing.T, text string) *vpav1.VerticalPodAutoscalerSpec {
	t.Helper()
	s := &vpav1.VerticalPodAutoscalerSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestModeOf(t *testing.T) {
	for text, want := range map[string]vertical.Mode{
		"":                                    vertical.ModeRecreate,
		"updatePolicy: {}":                    vertical.ModeRecreate,
		"updatePolicy: {updateMode: Off}":     vertical.ModeOff,
		"updatePolicy: {updateMode: Initial}": vertical.ModeInitial,
		"updatePolicy: {updateMode: Auto}":    vertical.ModeRecreate,
		"updatePolicy: {updateMode: InPlaceOrRecreate}": vertical.ModeInPlaceOrRecreate,
		"updatePolicy: {updateMode: InPlace}":           vertical.ModeInPlace,
		"updatePolicy: {updateMode: Whatever}":          vertical.ModeOff,
	} {
		if got := ModeOf(spec(t, text)); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestPoliciesOf(t *testing.T) {
	got := PoliciesOf(spec(t, `
resourcePolicy:
  containerPolicies:
  - containerName: app
    minAllowed: {cpu: 100m, memory: 1Gi, nvidia.com/gpu: 1}
    maxAllowed: {memory: "1.5"}
    controlledResources: [memory, nvidia.com/gpu]
    controlledValues: RequestsOnly
    oomBumpUpRatio: "1.3"
    oomMinBumpUp: 50Mi
    memoryAggregationIntervalSeconds: 3600
    memoryAggregationIntervalCount: 3
    startupBoost: {cpu: {type: Factor, factor: 2, durationSeconds: 10}}
  - containerName: "*"
    mode: "Off"
  - containerName: none
    controlledResources: []
`))
	want := []vertical.ContainerPolicy{
		{
			Container: "app", MinAllowed: vertical.Of(100, 1<<30).In(vertical.Memory, vertical.BinarySI),
			MaxAllowed: vertical.Amounts{}.With(vertical.Memory, 2).RoundedUp(vertical.Memory),
			Controlled: [vertical.Resources]bool{false, true}, Values: vertical.RequestsOnly,
			OOM:    vertical.OOMPolicy{BumpUpRatio: 1.3, MinBumpUpBytes: 50 << 20, HasMinBumpUp: true},
			Memory: vertical.MemoryPolicy{Interval: time.Hour, Count: 3},
			Boost:  &vertical.Boost{Factor: 2, Duration: 10 * time.Second},
		},
		{Container: "*", Off: true, Controlled: vertical.Controls()},
		{Container: "none"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(vertical.Amounts{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := PoliciesOf(spec(t, "")); got != nil {
		t.Errorf("without a policy there are %v", got)
	}
}

func TestBoostOf(t *testing.T) {
	two, half := int32(2), resource.MustParse("500m")
	for why, c := range map[string]struct {
		boost *vpav1.GenericStartupBoost
		want  *vertical.Boost
	}{
		"none":              {nil, nil},
		"adds":              {&vpav1.GenericStartupBoost{Type: "Quantity", Quantity: &half}, &vertical.Boost{AddMilli: 500}},
		"without its value": {&vpav1.GenericStartupBoost{Type: "Factor", Quantity: &half}, nil},
		"an unknown type":   {&vpav1.GenericStartupBoost{Type: "Root", Factor: &two}, nil},
	} {
		if diff := cmp.Diff(c.want, BoostOf(&vpav1.StartupBoost{CPU: c.boost})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
}

func amounts(t *rapid.T, name string) vertical.Amounts {
	var a vertical.Amounts
	for r := range vertical.Resource(vertical.Resources) {
		if rapid.Bool().Draw(t, name+" has "+r.String()) {
			a = a.With(r, vertical.Amount(rapid.Int64Range(0, 1e14).Draw(t, name+r.String())))
		}
	}
	return a
}

// Recommendations in a status convert back unchanged.
func TestRecommendationsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := []vertical.Recommendation{}
		for range rapid.IntRange(0, 3).Draw(t, "containers") {
			want = append(want, vertical.Recommendation{
				Container: rapid.StringMatching("[a-z]{1,5}").Draw(t, "container"),
				Target:    amounts(t, "target"), Lower: amounts(t, "lower"), Upper: amounts(t, "upper"),
				Uncapped: amounts(t, "uncapped"),
			})
		}
		got := RecommendationsOf(&vpav1.VerticalPodAutoscalerStatus{Recommendation: RecommendedOf(want)})
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(vertical.Amounts{})); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// Upstream prints memory in bytes, and CPU in thousandths unless it is whole.
func TestListOfPrintsAsUpstream(t *testing.T) {
	list := ListOf(vertical.Of(1500, 262144000))
	if cpu, memory := list[corev1.ResourceCPU], list[corev1.ResourceMemory]; cpu.String() != "1500m" ||
		memory.String() != "262144k" {
		t.Errorf("%s and %s", cpu.String(), memory.String())
	}
	list = ListOf(vertical.Of(2000, 262144001))
	if cpu, memory := list[corev1.ResourceCPU], list[corev1.ResourceMemory]; cpu.String() != "2" ||
		memory.String() != "262144001" {
		t.Errorf("%s and %s", cpu.String(), memory.String())
	}
	if ListOf(vertical.Amounts{}) != nil {
		t.Error("an empty value is a list")
	}
}

func TestRangesOf(t *testing.T) {
	limitRange := func(name string, items ...corev1.LimitRangeItem) *corev1.LimitRange {
		return &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.LimitRangeSpec{Limits: items}}
	}
	cpu := func(q string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(q)}
	}
	amount := func(milli vertical.Amount) vertical.Amounts { return vertical.Amounts{}.With(vertical.CPU, milli) }
	got := RangesOf([]*corev1.LimitRange{
		limitRange("b", corev1.LimitRangeItem{Type: corev1.LimitTypeContainer,
			Max: cpu("1"), Min: cpu("200m"), Default: cpu("300m")}),
		limitRange("a", corev1.LimitRangeItem{Type: corev1.LimitTypeContainer,
			Max: cpu("2"), Min: cpu("100m"), Default: cpu("500m")},
			corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: cpu("4")},
			corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim, Max: cpu("9")}),
	})
	want := &bounds.Ranges{
		Container: bounds.Range{Min: amount(200), Max: amount(1000), Default: amount(300)},
		Pod:       bounds.Range{Max: amount(4000)}, HasPod: true,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(vertical.Amounts{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := RangesOf([]*corev1.LimitRange{limitRange("a",
		corev1.LimitRangeItem{Type: corev1.LimitTypePod, DefaultRequest: cpu("1")})}); got != nil {
		t.Errorf("a LimitRange that bounds nothing is %v", got)
	}
}

// Any user who may annotate a pod can write its resources from before the boost.
func TestExpensiveAnnotationIsIgnored(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, cpu := range []string{`"1e-999999999"`, `1e-999999999`, `"1E999999999"`, `"` + strings.Repeat("9", 1<<20) +
			`"`} {
			if got := beforeBoost(`{"requests":{"cpu":` + cpu + `,"memory":"1Gi"}}`); got == nil ||
				got.Requests != (vertical.Amounts{}) {
				t.Errorf("%.20s: %v", cpu, got)
			}
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("not read within 20 s")
	}
}
