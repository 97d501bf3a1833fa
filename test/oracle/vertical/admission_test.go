package vertical

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	admissionlogic "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/patch"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/recommendation"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/vpa"
	upstream "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/features"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/limitrange"
	upstreamvpa "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
	"k8s.io/client-go/informers"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/admit"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
	"github.com/plimsoll-dev/plimsoll/internal/webhook"
)

var (
	admissionPods    = flag.Int("admission-pods", 5000, "how many random pods TestAdmission compares")
	admissionObjects = flag.Int("admission-objects", 5000, "how many random objects TestValidation compares")
	admissionSeed    = flag.Uint64("admission-seed", 1, "the first seed of both")
)

// admissionReach are places that a comparison of 5000 pods must have been at.
var admissionReach = []string{
	"patched", "boosted", "upstream panics", "LimitRange of pods", "LimitRange of containers", "off", "requests only",
	"capped to minAllowed", "capped to maxAllowed", "capped to container limit", "capped to fit Max", "capped to fit Min",
	"originalLimit is nil or 0", "recommendedRequest is nil or 0", "capping limit to int64", "no recommendation",
	"scaled by a LimitRange of pods",
}

// TestAdmission gives upstream's admission server and Plimsoll's the same requests:
// new pods under an object, with its recommendation, and LimitRanges. The pods that
// come of the two patches are equal, to the last unit and, but for the order of
// maps, to the last character of the annotations.
func TestAdmission(t *testing.T) {
	silence(t)
	reached, compared := map[string]int{}, 0
	for i := range *admissionPods {
		seed := *admissionSeed + uint64(i)
		w := newAdmissionWorld(seed, reached)
		gates{}.set(t, w.gates)
		body := w.review("", "pods", w.pod, nil)
		theirs, panicked := answerOf(t, w.upstream(t), body)
		ours, _ := answerOf(t, w.plimsoll(t, divergence.None), body)
		if panicked {
			// It is admitted unchanged; nothing else can be compared.
			reached["upstream panics"]++
			if _, broken := answerOf(t, w.plimsoll(t, divergence.Default), body); broken || !ours.Allowed {
				t.Fatalf("seed %d: where upstream panics, so does Plimsoll", seed)
			}
			continue
		}
		if w.overflows() {
			reached["upstream's sum of limits overflows"]++
			continue
		}
		if beyondIntegers(w.patched(t, theirs)) {
			reached["upstream's comparison or boost overflows"]++
			continue
		}
		compared++
		w.count(t, theirs)
		if diff := cmp.Diff(w.patched(t, theirs), w.patched(t, ours), quantities); diff != "" {
			t.Fatalf("seed %d: the pod (-upstream +Plimsoll):\n%s\n%s", seed, diff, w)
		}
	}
	report(t, reached, admissionReach, *admissionPods >= 5000)
	summary = append(summary, row{"admission: random new pods", *admissionPods,
		compared, fmt.Sprintf("at %d upstream panics, at %d its integers overflow",
			reached["upstream panics"],
			reached["upstream's sum of limits overflows"]+reached["upstream's comparison or boost overflows"])})
	t.Logf("%d pods from seed %d were equal", compared, *admissionSeed)
}

// TestAdmissionDivergences: of all divergences two alone change what new pods are
// given, limit-range-order only under a LimitRange.
func TestAdmissionDivergences(t *testing.T) {
	silence(t)
	const all = 1000
	differ := map[divergence.Set]int{}
	for seed := range uint64(all) {
		w := newAdmissionWorld(seed, map[string]int{})
		body := w.review("", "pods", w.pod, nil)
		plain, _ := answerOf(t, w.plimsoll(t, divergence.None), body)
		for _, d := range divergence.All() {
			with, _ := answerOf(t, w.plimsoll(t, d), body)
			if !bytes.Equal(plain.Patch, with.Patch) {
				differ[d]++
				if w.ranges == nil && d != divergence.AdmissiblePods {
					t.Errorf("seed %d: %s changes a pod without a LimitRange", seed, d)
				}
			}
		}
	}
	for _, d := range divergence.All() {
		t.Logf("%6d of %d pods differ by %s", differ[d], all, d)
		if (d == divergence.LimitRangeOrder || d == divergence.AdmissiblePods) != (differ[d] > 0) {
			t.Errorf("%s changes %d pods", d, differ[d])
		}
	}
}

var quantities = cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 && a.String() == b.String() })

// gates is upstream's global state of features.
type gates struct{}

func (gates) set(t *testing.T, f validation.Features) {
	t.Helper()
	err := features.MutableFeatureGate.Set(fmt.Sprintf("CPUStartupBoost=%t,PerVPAConfig=%t,InPlace=%t", f.CPUStartupBoost,
		f.PerVPAConfig, f.InPlace))
	if err != nil {
		t.Fatal(err)
	}
}

// upstreamMatcher finds what it is given.
type upstreamMatcher struct {
	vpa *upstream.VerticalPodAutoscaler
}

func (m upstreamMatcher) GetMatchingVPA(context.Context, *corev1.Pod) *upstream.VerticalPodAutoscaler {
	return m.vpa
}

// upstream is upstream's server as its main function makes it, but for the
// matcher.
func (w *admissionWorld) upstream(t *testing.T) http.Handler {
	t.Helper()
	factory := informers.NewSharedInformerFactory(w.client, 0)
	for _, lr := range w.limitRanges() {
		if err := factory.Core().V1().LimitRanges().Informer().GetIndexer().Add(lr); err != nil {
			t.Fatal(err)
		}
	}
	calculator, err := limitrange.NewLimitsRangeCalculator(factory)
	if err != nil {
		t.Fatal(err)
	}
	provider := recommendation.NewProvider(calculator, upstreamvpa.NewCappingRecommendationProcessor(calculator))
	calculators := []patch.Calculator{
		patch.NewResourceUpdatesCalculator(provider, resource.QuantityValue{Quantity: w.maxBoost}),
		patch.NewObservedContainersCalculator(),
	}
	theirs := &upstream.VerticalPodAutoscaler{}
	convert(t, w.vpa, theirs)
	server := admissionlogic.NewAdmissionServer(pod.NewDefaultPreProcessor(), vpa.NewDefaultPreProcessor(), calculator,
		upstreamMatcher{theirs}, calculators)
	return http.HandlerFunc(server.Serve)
}

// plimsollMatcher finds what it is given.
type plimsollMatcher struct {
	vpa *vpav1.VerticalPodAutoscaler
}

func (m plimsollMatcher) Match(*corev1.Pod) (*vpav1.VerticalPodAutoscaler, error) {
	return m.vpa, nil
}

func (w *admissionWorld) plimsoll(t *testing.T, d divergence.Set) http.Handler {
	t.Helper()
	metrics, err := webhook.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	handler, err := webhook.NewHandler(webhook.Config{
		Matcher: plimsollMatcher{w.vpa},
		Ranges:  func(string) *bounds.Ranges { return observevertical.RangesOf(w.limitRanges()) },
		Options: admit.Options{
			Boosts: w.gates.CPUStartupBoost, MaxBoostMilli: vertical.Amount(w.maxBoost.MilliValue()), Divergences: d,
		},
		Features: w.gates, Metrics: metrics,
	})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// answerOf is what a server answers; true if it panics.
func answerOf(t *testing.T, server http.Handler, body []byte) (response *admissionv1.AdmissionResponse, panicked bool) {
	t.Helper()
	defer func() {
		if recover() != nil {
			response, panicked = nil, true
		}
	}()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, r)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil {
		t.Fatalf("answer %q: %v", recorder.Body, err)
	}
	return review.Response, false
}

// patched is the pod after a patch, with the texts of its annotation in order.
func (w *admissionWorld) patched(t *testing.T, response *admissionv1.AdmissionResponse) *corev1.Pod {
	t.Helper()
	raw := marshalled(t, w.pod)
	if response.Patch != nil {
		decoded, err := jsonpatch.DecodePatch(response.Patch)
		if err != nil {
			t.Fatal(err)
		}
		if raw, err = decoded.Apply(raw); err != nil {
			t.Fatalf("applying %s: %v", response.Patch, err)
		}
	}
	p := &corev1.Pod{}
	if err := json.Unmarshal(raw, p); err != nil {
		t.Fatal(err)
	}
	if text, has := p.Annotations["vpaUpdates"]; has {
		p.Annotations["vpaUpdates"] = inOrder(text)
	}
	return p
}

var containerWords = regexp.MustCompile(`(?:: |; )container \d+: `)

// inOrder sorts the texts about each container: upstream's come from maps.
func inOrder(text string) string {
	starts := containerWords.FindAllStringIndex(text, -1)
	var b strings.Builder
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if i == 0 {
			b.WriteString(text[:at[0]])
		}
		words := strings.Split(text[at[1]:end], ", ")
		slices.Sort(words)
		b.WriteString(text[at[0]:at[1]] + strings.Join(words, ", "))
	}
	return b.String()
}

func marshalled(t *testing.T, object any) []byte {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// convert makes upstream's object of ours: their JSON is the same.
func convert(t *testing.T, from, to any) {
	t.Helper()
	if err := json.Unmarshal(marshalled(t, from), to); err != nil {
		t.Fatal(err)
	}
}

// report prints what was reached, and misses what was not.
func report(t *testing.T, reached map[string]int, want []string, isLong bool) {
	t.Helper()
	for _, place := range want {
		if reached[place] == 0 && isLong {
			t.Errorf("nothing came to %q", place)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(reached)) {
		t.Logf("%8d %s", reached[place], place)
	}
}

// containersOf are a pod's containers without init containers, which vertical autoscaling never changes.
func containersOf(pod *corev1.PodSpec) []bounds.Container {
	all := make([]bounds.Container, 0, len(pod.Containers))
	for i := range pod.Containers {
		c := &pod.Containers[i]
		all = append(all, bounds.Container{Name: c.Name, Requests: observevertical.AmountsOf(c.Resources.Requests),
			Limits: observevertical.AmountsOf(c.Resources.Limits)})
	}
	return all
}

// overflows: under a LimitRange of pods upstream adds limits up, of which one may
// be the largest integer already. The sum wraps, and requests become negative.
func (w *admissionWorld) overflows() bool {
	ranges := observevertical.RangesOf(w.limitRanges())
	if ranges == nil || !ranges.HasPod {
		return false
	}
	containers := containersOf(&w.pod.Spec)
	for _, rec := range observevertical.RecommendationsOf(&w.vpa.Status) {
		for _, c := range containers {
			if c.Name != rec.Container {
				continue
			}
			for _, amounts := range []vertical.Amounts{rec.Target, rec.Lower, rec.Upper} {
				limits, _ := bounds.ProportionalLimits(c.Requests, c.Limits, ranges.Pod.Default, amounts)
				if isHuge(limits) {
					return true
				}
			}
		}
	}
	return false
}

func isHuge(amounts vertical.Amounts) bool {
	cpu, _ := amounts.Get(vertical.CPU)
	memory, _ := amounts.Get(vertical.Memory)
	return max(cpu, memory) > math.MaxInt64/4
}

// beyondIntegers: upstream compares memory with limits in thousandths of bytes,
// which wrap from 8 PiB on, and multiplies CPU by a boost's factor without looking.
func beyondIntegers(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return c.Resources.Requests.Memory().Value() > math.MaxInt64/1000 || c.Resources.Requests.Cpu().Sign() < 0
	})
}

// count records where a pod ended.
func (w *admissionWorld) count(t *testing.T, response *admissionv1.AdmissionResponse) {
	t.Helper()
	if response.Patch == nil {
		return
	}
	w.reached["patched"]++
	after := w.patched(t, response)
	for _, words := range admissionReach {
		if strings.Contains(after.Annotations["vpaUpdates"], words) {
			w.reached[words]++
		}
	}
	for name := range after.Annotations {
		if strings.HasPrefix(name, observevertical.AnnotationBoostPrefix) {
			w.reached["boosted"]++
		}
	}
	w.countRanges(t, after)
	if observevertical.ModeOf(&w.vpa.Spec) == vertical.ModeOff {
		w.reached["off"]++
	}
	if w.vpa.Status.Recommendation == nil {
		w.reached["no recommendation"]++
	}
	for _, p := range observevertical.PoliciesOf(&w.vpa.Spec) {
		if p.Values == vertical.RequestsOnly {
			w.reached["requests only"]++
		}
	}
}

func (w *admissionWorld) countRanges(t *testing.T, after *corev1.Pod) {
	t.Helper()
	ranges := observevertical.RangesOf(w.limitRanges())
	if ranges == nil {
		return
	}
	if ranges.Container != (bounds.Range{}) {
		w.reached["LimitRange of containers"]++
	}
	if !ranges.HasPod {
		return
	}
	w.reached["LimitRange of pods"]++
	without := *w
	without.ranges = slices.DeleteFunc(slices.Clone(w.ranges),
		func(i corev1.LimitRangeItem) bool { return i.Type == corev1.LimitTypePod })
	plain, _ := answerOf(t, without.plimsoll(t, divergence.None), w.review("", "pods", w.pod, nil))
	if !cmp.Equal(after, w.patched(t, plain), quantities) {
		w.reached["scaled by a LimitRange of pods"]++
	}
}
