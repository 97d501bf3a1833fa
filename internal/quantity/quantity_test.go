package quantity

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// limit is far beyond what a refusal takes, and far below what reading takes.
const limit = 20 * time.Second

// within fails the test if do is not done in time.
func within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("not done within %s", limit)
	}
}

// ruinous are texts of quantities that take seconds to hours to read, or to compute
// with.
var ruinous = map[string]string{
	"to be read":                           "1e-999999999",
	"with a capital":                       "1E-1000000",
	"to be compared":                       "1e999999999",
	"with a sign":                          "+1e+999999999",
	"negative":                             "-1.5e-999999999",
	"nothing to an exponent":               "0e-999999999",
	"no digits before the exponent":        "e999999999",
	"a fraction alone":                     ".1e-999999999",
	"leading zeros in the exponent":        "1e-00000000000999999999",
	"leading zeros in front":               "0000000001e-999999999",
	"an exponent that wraps around":        "1e-4294967299999",
	"three digits":                         "1e100",
	"a megabyte of digits":                 strings.Repeat("9", 1<<20),
	"a megabyte of digits behind a point":  "0." + strings.Repeat("9", 1<<20),
	"a megabyte of digits and a suffix":    strings.Repeat("9", 1<<20) + "Ki",
	"a megabyte of digits and an exponent": strings.Repeat("9", 1<<20) + "e1",
	"a space in front":                     " 1e-999999999",
	"a space that is not ASCII in front":   "\u00a01e-999999999",
	"a space behind":                       "1e-999999999\u2003",
}

func TestRuinousQuantitiesAreRefused(t *testing.T) {
	for why, text := range ruinous {
		t.Run(why, func(t *testing.T) {
			within(t, func() {
				if _, err := Parse(text); err == nil {
					t.Error("parsed")
				}
				quoted, err := json.Marshal(text)
				if err != nil {
					t.Error(err)
				}
				escaped := `"` + strings.NewReplacer("e", `\u0065`, "E", `\u0045`, "-", `\u002d`, "9", `\u0039`).Replace(text) + `"`
				forms := map[string]string{"string": string(quoted), "escaped": escaped}
				if json.Valid([]byte(text)) {
					forms["bare number"] = text
				}
				for form, value := range forms {
					refused(t, form, `{"limits":{"cpu":"1"},"requests":{"memory":"1Gi","cpu":`+value+`}}`)
					refused(t, form+", before another of the same key", `{"requests":{"cpu":`+value+`,"cpu":"1"}}`)
					refused(t, form+", in the case that encoding/json reads too", `{"Requests":{"cpu":`+value+`}}`)
				}
			})
		})
	}
}

func refused(t *testing.T, form, text string) {
	t.Helper()
	err := Check([]byte(text), &corev1.ResourceRequirements{})
	beyond := (*Error)(nil)
	if !errors.As(err, &beyond) || !strings.EqualFold(beyond.Field, "requests[cpu]") || len(err.Error()) > 200 {
		t.Errorf("%s: %v", form, err)
	}
}

func TestOrdinaryQuantitiesAreRead(t *testing.T) {
	for _, text := range []string{
		"0", "1", "100m", "1.5Gi", "12e6", "1E", "1Ei", "1e-9", "1E+10", "-3", "+3", ".5", "9223372036854775807", "1e99",
		strings.Repeat("9", MaxLength), "0." + strings.Repeat("1", MaxLength-2),
	} {
		if _, err := Parse(text); err != nil {
			t.Error(text, err)
		}
		quoted := []byte(`{"requests":{"cpu":"` + text + `"}}`)
		if err := Check(quoted, &corev1.ResourceRequirements{}); err != nil {
			t.Error(err)
		}
	}
}

// A label, an image's digest or an argument may look like such a quantity.
func TestOtherTextsMaySayAnything(t *testing.T) {
	pod := []byte(`{"metadata":{"name":"1e999","labels":{"commit":"4531e203"},"annotations":{"a":"` + strings.Repeat("9", 100) + `"}},
		"spec":{"containers":[{"name":"1e1000","args":["1e1000",  "\u0031e1000"],"env":[{"name":"A","value":"1e-999999999"}],
		"resources":{"requests":{"cpu":"1"}}}],"unknown":{"requests":{"cpu":"1e1000"}}}}`)
	if err := Check(pod, &corev1.Pod{}); err != nil {
		t.Error(err)
	}
	bad := bytes.Replace(pod, []byte(`{"cpu":"1"}`), []byte(`{"cpu":"1","1e1000":"1E1000"}`), 1)
	err := Check(bad, &corev1.Pod{})
	if err == nil || !strings.HasPrefix(err.Error(), `spec.containers[0].resources.requests[1e1000]: quantity "1E1000"`) {
		t.Error(err)
	}
}

func TestWhatIsNoJSONIsLeftToTheDecoder(t *testing.T) {
	for _, text := range []string{"", "{", `{"requests":{"cpu":1e-999`, `"`, `"\`, `{"requests":"1e1000"}`, "[1e1000]",
		strings.Repeat("[", 1<<20) + "1e1000"} {
		within(t, func() { _ = Check([]byte(text), &corev1.Pod{}) })
	}
}

// What the API server keeps is read, and is not computed with as it is.
func TestWhatTheAPIServerKeepsIsBounded(t *testing.T) {
	list := corev1.ResourceList{"cpu": resource.MustParse("1e999999999"), "memory": resource.MustParse("1Gi")}
	within(t, func() {
		bounded := List(list)
		sum := bounded["cpu"]
		sum.Add(resource.MustParse("1m"))
		if memory := bounded["memory"]; sum.Sign() != 1 || memory.Cmp(list["memory"]) != 0 {
			t.Error(bounded)
		}
	})
	negative := resource.MustParse("-1e999999998")
	if bounded := List(corev1.ResourceList{"cpu": negative}); IsBounded(&negative) || bounded.Cpu().Sign() != -1 {
		t.Error(bounded)
	}
	ordinary := corev1.ResourceList{"cpu": resource.MustParse("8E"), "memory": {}}
	if n := testing.AllocsPerRun(10, func() { _ = List(ordinary) }); n != 0 {
		t.Errorf("an ordinary list is copied: %v allocations", n)
	}
}

// Comparing and adding is what the readers of caches do with them.
func TestObjectsOfTheAPIServerAreBounded(t *testing.T) {
	huge := resource.MustParse("1e999999999")
	list := func() corev1.ResourceList { return corev1.ResourceList{"cpu": huge} }
	both := corev1.ResourceRequirements{Requests: list(), Limits: list()}
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{
			Overhead: list(), Resources: both.DeepCopy(), Containers: []corev1.Container{{Name: "a", Resources: both}},
			InitContainers: []corev1.Container{{Name: "b", Resources: both}},
		},
		Status: corev1.PodStatus{
			AllocatedResources: list(),
			ContainerStatuses:  []corev1.ContainerStatus{{Name: "a", Resources: both.DeepCopy()}},
			InitContainerStatuses: []corev1.ContainerStatus{
				{Name: "b", Resources: both.DeepCopy(), AllocatedResources: list()},
			},
		},
	}
	target := autoscalingv2.MetricTarget{AverageValue: &huge, Value: &huge}
	current := autoscalingv2.MetricValueStatus{AverageValue: &huge, Value: &huge}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleUp:   &autoscalingv2.HPAScalingRules{Tolerance: &huge},
				ScaleDown: &autoscalingv2.HPAScalingRules{Tolerance: &huge},
			},
			Metrics: []autoscalingv2.MetricSpec{
				{Resource: &autoscalingv2.ResourceMetricSource{Target: target}},
				{ContainerResource: &autoscalingv2.ContainerResourceMetricSource{Target: target}},
				{Pods: &autoscalingv2.PodsMetricSource{Target: target}},
				{Object: &autoscalingv2.ObjectMetricSource{Target: target}},
				{External: &autoscalingv2.ExternalMetricSource{Target: target}},
			},
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{CurrentMetrics: []autoscalingv2.MetricStatus{
			{Resource: &autoscalingv2.ResourceMetricStatus{Current: current}},
			{ContainerResource: &autoscalingv2.ContainerResourceMetricStatus{Current: current}},
			{Pods: &autoscalingv2.PodsMetricStatus{Current: current}},
			{Object: &autoscalingv2.ObjectMetricStatus{Current: current}},
			{External: &autoscalingv2.ExternalMetricStatus{Current: current}},
		}},
	}
	within(t, func() {
		for what, object := range map[string]any{"pod": Pod(pod), "autoscaler": Horizontal(hpa)} {
			text, err := json.Marshal(object)
			if err != nil || bytes.Contains(text, []byte("1e999999999")) {
				t.Errorf("%s: %v, %s", what, err, text)
			}
		}
	})
	if q := pod.Spec.Overhead["cpu"]; q.String() != huge.String() ||
		hpa.Spec.Metrics[0].Resource.Target.Value.String() != huge.String() {
		t.Error("the object itself was changed")
	}
	ordinary := &corev1.Pod{Spec: corev1.PodSpec{Overhead: corev1.ResourceList{"cpu": resource.MustParse("1")}}}
	if Pod(ordinary) != ordinary {
		t.Error("an ordinary pod is copied")
	}
}

// FuzzCheck compares the scan with what it stands for: whatever passes it, a decoder
// reads without an exponent or a length that is beyond the bounds.
func FuzzCheck(f *testing.F) {
	for _, text := range ruinous {
		if len(text) < 100 {
			f.Add(text, false)
			f.Add(text, true)
		}
	}
	f.Add(`\u0031e\u002d1000`, true)
	f.Add(strings.Repeat("1", MaxLength+1), true)
	f.Fuzz(func(t *testing.T, text string, isRaw bool) {
		value := text
		if !isRaw {
			quoted, err := json.Marshal(text)
			if err != nil {
				return
			}
			value = string(quoted)
		}
		document := []byte(`{"a":"\\\"","cpu":` + value + `}`)
		var naive map[string]json.RawMessage
		if json.Unmarshal(document, &naive) != nil {
			return
		}
		refused := Check(document, map[string]resource.Quantity{}) != nil
		literal, isString := naive["cpu"], ""
		raw := string(literal)
		if json.Unmarshal(literal, &isString) == nil && len(literal) > 0 && literal[0] == '"' {
			raw = isString
		}
		if naiveRefuses(raw) && !refused {
			t.Errorf("%q is let through", document)
		}
	})
}

// naiveRefuses is written otherwise than the scan: what resource.Quantity would take as
// a number with a long exponent, or a long text that begins as a number does.
func naiveRefuses(text string) bool {
	text = strings.TrimLeft(strings.TrimSpace(text), "+-")
	number := strings.TrimLeft(text, "0123456789.")
	if strings.Trim(text, "0123456789.") == "" && len(text) > MaxLength {
		return true
	}
	if number == "" || number[0] != 'e' && number[0] != 'E' {
		return false
	}
	exponent := strings.TrimPrefix(strings.TrimPrefix(number[1:], "+"), "-")
	return len(exponent) > 2 && strings.Trim(exponent, "0123456789") == ""
}

func BenchmarkCheck(b *testing.B) {
	pod := corev1.Pod{}
	for range 20 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: "app", Image: "registry.example/app@sha256:0123456789e123", Args: []string{"--flag", `a "quoted" argument`},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				"cpu": resource.MustParse("100m"), "memory": resource.MustParse("1Gi"),
			}},
		})
	}
	text, err := json.Marshal(pod)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(text, &pod); err != nil {
			b.Fatal(err)
		}
	}
}
