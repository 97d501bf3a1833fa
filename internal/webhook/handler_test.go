package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/admit"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
)

// matchFunc is a Matcher.
type matchFunc func(*corev1.Pod) (*vpav1.VerticalPodAutoscaler, error)

func (f matchFunc) Match(pod *corev1.Pod) (*vpav1.VerticalPodAutoscaler, error) { return f(pod) }

func newHandler(t testing.TB, matcher Matcher, change ...func(*Config)) *Handler {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Matcher: matcher, Ranges: func(string) *bounds.Ranges { return nil }, Metrics: metrics}
	for _, c := range change {
		c(&cfg)
	}
	h, err := NewHandler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// shop recommends 150m and 60Mi for web.
func shop() *vpav1.VerticalPodAutoscaler {
	return &vpav1.VerticalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"},
		Spec: vpav1.VerticalPodAutoscalerSpec{TargetRef: &autoscalingv1.CrossVersionObjectReference{
			Kind: "Deployment", Name: "web",
		}},
		Status: vpav1.VerticalPodAutoscalerStatus{Recommendation: &vpav1.RecommendedPodResources{
			ContainerRecommendations: []vpav1.RecommendedContainerResources{{
				ContainerName: "web", Target: corev1.ResourceList{"cpu": resource.MustParse("150m"),
					"memory": resource.MustParse("60Mi")},
			}},
		}},
	}
}

func always(vpa *vpav1.VerticalPodAutoscaler) Matcher {
	return matchFunc(func(*corev1.Pod) (*vpav1.VerticalPodAutoscaler, error) { return vpa, nil })
}

const pods, vpas = "pods", "verticalpodautoscalers"

// review is a request to create an object.
func review(plural, object string) *admissionv1.AdmissionReview {
	group := ""
	if plural == vpas {
		group = "autoscaling.k8s.io"
	}
	return &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/v1"},
		Request: &admissionv1.AdmissionRequest{
			UID: "u", Namespace: "default", Name: "it", Operation: admissionv1.Create,
			Resource:    metav1.GroupVersionResource{Group: group, Version: "v1", Resource: plural},
			RequestKind: &metav1.GroupVersionKind{Group: group, Version: "v1", Kind: "VerticalPodAutoscaler"},
			Object:      runtime.RawExtension{Raw: []byte(object)},
		},
	}
}

// ask sends a request as the API server does.
func ask(t testing.TB, h http.Handler, body any) (*admissionv1.AdmissionResponse, int) {
	t.Helper()
	raw, isRaw := body.([]byte)
	if !isRaw {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(raw))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil, w.Code
	}
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Response, w.Code
}

// operations returns a patch, one operation to a line.
func operations(t *testing.T, response *admissionv1.AdmissionResponse) []string {
	t.Helper()
	if response.Patch == nil {
		return nil
	}
	var p []operation
	if err := json.Unmarshal(response.Patch, &p); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, o := range p {
		value, err := json.Marshal(o.Value)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", o.Op, o.Path, value))
	}
	return lines
}

func TestPodIsPatched(t *testing.T) {
	const bare = `{"metadata":{"generateName":"web-"},"spec":{"containers":[{"name":"web","resources":{}}]}}`
	boosting := shop()
	boosting.Spec.StartupBoost = &vpav1.StartupBoost{CPU: &vpav1.GenericStartupBoost{
		Type: vpav1.FactorStartupBoostType, Factor: ptr.To[int32](2),
	}}
	for why, c := range map[string]struct {
		pod    string
		vpa    *vpav1.VerticalPodAutoscaler
		boosts bool
		want   []string
	}{
		"what is not there is made first": {pod: bare, vpa: shop(), want: []string{
			`add /metadata/annotations {}`,
			`add /spec/containers/0/resources {}`,
			`add /spec/containers/0/resources/requests {}`,
			`add /spec/containers/0/resources/requests/cpu "150m"`,
			`add /spec/containers/0/resources/requests/memory "60Mi"`,
			`add /metadata/annotations/vpaUpdates "Pod resources updated by shop: container 0: cpu request, memory request"`,
			`add /metadata/annotations/vpaObservedContainers "web"`,
		}},
		"claims on devices stay": {
			pod: `{"metadata":{"annotations":{"a":"b"}},"spec":{"containers":[{"name":"web","resources":{"claims":[{"name":"gpu"}]}}]}}`, vpa: shop(),
			want: []string{
				`add /spec/containers/0/resources/requests {}`,
				`add /spec/containers/0/resources/requests/cpu "150m"`,
				`add /spec/containers/0/resources/requests/memory "60Mi"`,
				`add /metadata/annotations/vpaUpdates "Pod resources updated by shop: container 0: cpu request, memory request"`,
				`add /metadata/annotations/vpaObservedContainers "web"`,
			},
		},
		"a boost remembers what was there": {
			pod: `{"metadata":{"annotations":{"a":"b"}},"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":"0.1","storage":"1Gi"},"limits":{"cpu":"200m"}}}]}}`,
			vpa: boosting, boosts: true,
			want: []string{
				`add /metadata/annotations/vpaCpuStartupBoost~1web "{\"requests\":{\"cpu\":\"100m\"},\"limits\":{\"cpu\":\"200m\"}}"`,
				`add /spec/containers/0/resources/requests/cpu "300m"`,
				`add /spec/containers/0/resources/requests/memory "60Mi"`,
				`add /spec/containers/0/resources/limits/cpu "600m"`,
				`add /metadata/annotations/vpaUpdates "Pod resources updated by shop: container 0: memory: limit NOT set since originalLimit is nil or 0, ` +
					`cpu request, memory request, cpu limit"`,
				`add /metadata/annotations/vpaObservedContainers "web"`,
			},
		},
		"none that is meant": {pod: bare},
	} {
		h := newHandler(t, always(c.vpa), func(cfg *Config) { cfg.Options = admit.Options{Boosts: c.boosts} })
		response, _ := ask(t, h, review(pods, c.pod))
		if !response.Allowed || response.UID != "u" {
			t.Errorf("%s: %+v", why, response)
		}
		if diff := cmp.Diff(c.want, operations(t, response)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", why, diff)
		}
	}
}

// TestPodsAreNeverLost: after any failure, the pod is admitted unchanged, and counted.
func TestPodsAreNeverLost(t *testing.T) {
	const pod = `{"spec":{"containers":[{"name":"web"}]}}`
	unknown := matchFunc(func(*corev1.Pod) (*vpav1.VerticalPodAutoscaler, error) { return nil, ownership.ErrUnknown })
	missing := matchFunc(func(*corev1.Pod) (*vpav1.VerticalPodAutoscaler, error) { return nil, ownership.ErrNotFound })
	defect := matchFunc(func(*corev1.Pod) (*vpav1.VerticalPodAutoscaler, error) { panic("a defect") })
	for why, c := range map[string]struct {
		matcher Matcher
		body    any
		reason  Failure
		code    int
	}{
		"an owner that is not known yet": {matcher: unknown, body: review(pods, pod), reason: OwnerUnknown},
		"an owner that is not there":     {matcher: missing, body: review(pods, pod), reason: OwnerMissing},
		"a panic":                        {matcher: defect, body: review(pods, pod), reason: Panicked},
		"a panic over an autoscaler":     {matcher: defect, body: review(vpas, `{}`), reason: Panicked},
		"a pod that is none": {matcher: always(shop()), body: review(pods, `{"spec":{"containers":7}}`),
			reason: Unreadable},
		"an unexpected kind": {matcher: always(shop()), body: review("secrets", `{}`), reason: Unreadable},
		// For the API server this is no response: the configuration has failurePolicy Ignore.
		"no review":  {matcher: always(shop()), body: []byte("{"), reason: Unreadable, code: http.StatusBadRequest},
		"no request": {matcher: always(shop()), body: []byte("{}"), reason: Unreadable, code: http.StatusBadRequest},
		"far too much": {matcher: always(shop()), body: bytes.Repeat([]byte(" "), MaxBodyBytes+1), reason: Unreadable,
			code: http.StatusRequestEntityTooLarge},
		"nothing at all": {matcher: always(shop()), body: []byte{}, reason: Unreadable, code: http.StatusBadRequest},
	} {
		h := newHandler(t, c.matcher, func(cfg *Config) {
			cfg.Warnings = func(*vpav1.VerticalPodAutoscaler) []string { panic("a defect") }
		})
		response, code := ask(t, h, c.body)
		switch {
		case c.code != 0 && code != c.code:
			t.Errorf("%s: answered with %d, want %d", why, code, c.code)
		case c.code == 0 && (response == nil || !response.Allowed || response.Patch != nil || response.UID != "u"):
			t.Errorf("%s: %+v is not admitted as it came", why, response)
		}
		if n := testutil.ToFloat64(h.cfg.Metrics.failures.WithLabelValues(string(c.reason))); n != 1 {
			t.Errorf("%s: counted %v times as %s", why, n, c.reason)
		}
	}
}

// The watch with a pod's owner may be late; the scale of a custom kind takes longer than a pod can wait.
func TestPodWaitsForItsOwner(t *testing.T) {
	for why, c := range map[string]struct {
		comes  time.Duration // 0 is never
		err    error
		waits  time.Duration
		isBare bool
	}{
		"it is there": {comes: time.Nanosecond, err: ownership.ErrNotFound},
		"it comes": {comes: 95 * time.Millisecond, err: ownership.ErrNotFound,
			waits: 100 * time.Millisecond},
		"it never comes":              {err: ownership.ErrNotFound, waits: catchUp, isBare: true},
		"it has to be asked for":      {err: ownership.ErrUnknown, isBare: true},
		"it cannot be found for good": {err: errors.New("a defect"), isBare: true},
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now().Add(-time.Nanosecond)
				h := newHandler(t, matchFunc(func(*corev1.Pod) (*vpav1.VerticalPodAutoscaler, error) {
					if c.comes == 0 || time.Since(began) < c.comes {
						return nil, fmt.Errorf("ReplicaSet web-1: %w", c.err)
					}
					return shop(), nil
				}))
				response, _ := ask(t, h, review(pods, `{"spec":{"containers":[{"name":"web"}]}}`))
				if waited := time.Since(began).Round(time.Millisecond); waited != c.waits || !response.Allowed ||
					(response.Patch == nil) != c.isBare {
					t.Errorf("after %s, want %s: %+v", waited, c.waits, response)
				}
			})
		})
	}
}

func TestIgnoredNamespace(t *testing.T) {
	h := newHandler(t, always(shop()), func(cfg *Config) { cfg.Ignores = func(ns string) bool { return ns == "default" } })
	if response, _ := ask(t, h, review(pods, `{"spec":{"containers":[{"name":"web"}]}}`)); !response.Allowed ||
		response.Patch != nil {
		t.Errorf("%+v, want a pod that is left alone", response)
	}
}

func TestAutoscaler(t *testing.T) {
	warns := func(cfg *Config) {
		cfg.Warnings = func(vpa *vpav1.VerticalPodAutoscaler) []string { return []string{"seen in " + vpa.Namespace} }
	}
	h := newHandler(t, always(nil), warns)

	response, _ := ask(t, h, review(vpas, `{"spec":{}}`))
	if want := []string{`add /spec/updatePolicy {"updateMode":"Recreate"}`}; !cmp.Equal(operations(t, response), want) {
		t.Errorf("%q, want %q", operations(t, response), want)
	}
	if !response.Allowed || !cmp.Equal(response.Warnings, []string{"seen in default"}) {
		t.Errorf("%+v", response)
	}

	response, _ = ask(t, h, review(vpas, `{"spec":{"updatePolicy":{"updateMode":"Auto","minReplicas":0}}}`))
	const refusal = `VerticalPodAutoscaler.autoscaling.k8s.io "it" is invalid: spec.updatePolicy.minReplicas: Invalid value: 0: minReplicas has to be positive`
	if response.Allowed || response.Result.Message != refusal {
		t.Errorf("%+v, want it kept out with %q", response, refusal)
	}
	if len(response.Warnings) != 1 || !strings.Contains(response.Warnings[0], `"Auto" mode is deprecated`) {
		t.Errorf("warnings %q", response.Warnings)
	}

	update := review(vpas, `{"spec":{"updatePolicy":{"updateMode":"InPlace"}}}`)
	if response, _ = ask(t, h, update); response.Allowed {
		t.Error("a mode that is not switched on is let in")
	}
	update.Request.Operation, update.Request.OldObject = admissionv1.Update, update.Request.Object
	if response, _ = ask(t, h, update); !response.Allowed || response.Patch != nil {
		t.Errorf("%+v, want an update that keeps what was there", response)
	}

	if response, _ = ask(t, h, review(vpas, `{"spec":7}`)); response.Allowed {
		t.Error("an object that is no autoscaler is accepted")
	}
}

func marshal(t testing.TB, object any) string {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
