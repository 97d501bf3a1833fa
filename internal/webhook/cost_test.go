package webhook

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// costly are pods or VerticalPodAutoscalers of a mebibyte.
func costly(plural string) map[string]string {
	const room = 1 << 20
	fill := func(before, after string, entry func(i int) string) string {
		var b strings.Builder
		b.WriteString(before)
		for i := 0; ; i++ {
			e := entry(i)
			if b.Len()+len(e)+len(after)+1 > room {
				break
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(e)
		}
		b.WriteString(after)
		return b.String()
	}
	same := func(e string) func(int) string { return func(int) string { return e } }
	numbered := func(value string) func(int) string {
		return func(i int) string { return fmt.Sprintf("%q:%s", strconv.FormatInt(int64(i), 36), value) }
	}
	const end = `},"spec":{"containers":[{"name":"web"}]}}`
	const container = `{"name":"web","resources":{"requests":{"cpu":"1"}}}`
	if plural == vpas {
		return map[string]string{
			"policies": fill(`{"spec":{"resourcePolicy":{"containerPolicies":[`, `]}}}`, same(`{}`)),
			"bounds": fill(`{"spec":{"resourcePolicy":{"containerPolicies":[{"containerName":"*","minAllowed":{`, `}}]}}}`,
				numbered(`"1"`)),
			"labels":     fill(`{"metadata":{"labels":{`, `}}}`, numbered(`""`)),
			"conditions": fill(`{"status":{"conditions":[`, `]}}`, same(`{}`)),
		}
	}
	return map[string]string{
		"requests": fill(`{"spec":{"containers":[{"name":"web","resources":{"requests":{`, `}}}]}}`,
			numbered(`"1"`)),
		"limits of the pod": fill(`{"spec":{"resources":{"limits":{`, `}},"containers":[{"name":"web"}]}}`,
			numbered(`"1"`)),
		"requests and a hash": fill(
			`{"metadata":{"labels":{"commit":"1e999"}},"spec":{"containers":[{"name":"web","resources":{"requests":{`, `}}}]}}`,
			numbered(`"1"`)),
		"same request": fill(`{"spec":{"containers":[{"name":"web","resources":{"requests":{`, `}}}]}}`,
			same(`"cpu":"1"`)),
		"containers":       fill(`{"spec":{"containers":[`, `]}}`, same(`{}`)),
		"named containers": fill(`{"spec":{"containers":[`, `]}}`, same(container)),
		"sidecars": fill(`{"spec":{"containers":[{"name":"web"}],"initContainers":[`, `]}}`,
			same(`{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}`)),
		"ephemeral containers": fill(`{"spec":{"containers":[{"name":"web"}],"ephemeralContainers":[`, `]}}`, same(`{}`)),
		"claims":               fill(`{"spec":{"containers":[{"name":"web","resources":{"claims":[`, `]}}]}}`, same(`{}`)),
		"labels":               fill(`{"metadata":{"labels":{`, `}`+end, numbered(`""`)),
		"annotations":          fill(`{"metadata":{"annotations":{`, `}`+end, numbered(`""`)),
		"owners":               fill(`{"metadata":{"ownerReferences":[`, `]`+end, same(`{}`)),
		"finalizers":           fill(`{"metadata":{"finalizers":[`, `]`+end, same(`""`)),
		"managed fields":       fill(`{"metadata":{"managedFields":[`, `]`+end, same(`{}`)),
		"brackets":             `{"metadata":{},"x":` + strings.Repeat("[", room/2) + strings.Repeat("]", room/2) + `}`,
		"brackets in metadata": `{"metadata":{"labels":` + strings.Repeat("[", room/2) + strings.Repeat("]", room/2) + `}}`,
		"keys":                 fill(`{"spec":{"containers":[{"name":"web"}]},`, `}`, same(`"a":1`)),
		"metadata again": fill(`{"spec":{"containers":[{"name":"web"}]},`, `}`,
			same(`"metadata":{"labels":{"a":"b"}}`)),
		"a long request": `{"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":"` +
			strings.Repeat("9", room) + `"}}}]}}`,
		"escapes": `{"metadata":{"annotations":{"a":"` + strings.Repeat(`\"`, room/2) +
			`"}},"spec":{"containers":[{"name":"web"}]}}`,
	}
}

// reviewOf is a request to create an object, written in a form that is not decoded here.
func reviewOf(plural, object string) []byte {
	group := ""
	if plural == vpas {
		group = "autoscaling.k8s.io"
	}
	return []byte(
		`{"kind":"AdmissionReview","request":{"uid":"u","namespace":"default","operation":"CREATE","resource":{"group":"` +
			group +
			`","version":"v1","resource":"` + plural + `"},"object":` + object + `}}`)
}

// allocated returns the bytes that are allocated for a request.
func allocated(t *testing.T, h http.Handler, body []byte) uint64 {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	h.ServeHTTP(w, r)
	goruntime.ReadMemStats(&after)
	if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
		t.Errorf("%d", w.Code)
	}
	return after.TotalAlloc - before.TotalAlloc
}

// TestAllocationsOfRequests: a small multiple of its text, whatever is in it. The Guard counts bytes of text. The
// bounds leave room for what the race detector adds.
func TestAllocationsOfRequests(t *testing.T) {
	h := newHandler(t, always(shop()))
	for _, plural := range []string{pods, vpas} {
		for what, object := range costly(plural) {
			body := reviewOf(plural, object)
			if got := allocated(t, h, body); got > 12*uint64(len(body)) {
				t.Errorf("%s: %d bytes of text allocate %d, more than 12 times as much", what, len(body), got)
			}
		}
	}
}

// TestAllocationsOfSmallRequests: the worst that is read, of as few bytes as the Guard counts at least.
func TestAllocationsOfSmallRequests(t *testing.T) {
	repeat := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	h := newHandler(t, always(shop()))
	for what, body := range map[string][]byte{
		"containers": reviewOf(pods, `{"spec":{"containers":[`+
			repeat(maxEntries, `{"name":"web","resources":{"requests":{"cpu":"1"},"limits":{"cpu":"1"}}}`)+`]}}`),
		"policies": reviewOf(vpas, `{"spec":{"resourcePolicy":{"containerPolicies":[`+repeat(maxValues/2-5, `{}`)+`]}}}`),
	} {
		if got := allocated(t, h, body); len(body) > LeastBytes || got > 24*LeastBytes {
			t.Errorf("%s: %d bytes of text allocate %d, more than 24 times what they count for", what, len(body), got)
		}
	}
}

// TestPodOfTooManyEntriesIsAdmittedUnchanged: like an unreadable one, with a warning; a pod with the maximum is
// changed.
func TestPodOfTooManyEntriesIsAdmittedUnchanged(t *testing.T) {
	for what, pod := range map[string]func(n int) string{
		"containers": func(n int) string {
			return `{"spec":{"containers":[` + strings.Repeat(`{"name":"a"},`, n-1) + `{"name":"web"}]}}`
		},
		"init containers": func(n int) string {
			return `{"spec":{"initContainers":[` + strings.Repeat(`{"name":"a,[{"},`, n-1) +
				`{"name":"a"}],"containers":[{"name":"web"}]}}`
		},
		"labels":                 func(n int) string { return podOfLabels(1, n) },
		"labels in several maps": func(n int) string { return podOfLabels(2, n) },
		"owners": func(n int) string {
			return `{"metadata":{"ownerReferences":[` + strings.Repeat(`{},`, n-1) +
				`{}]},"spec":{"containers":[{"name":"web"}]}}`
		},
	} {
		h := newHandler(t, always(shop()))
		if response, _ := ask(t, h, review(pods, pod(maxEntries))); len(operations(t, response)) == 0 {
			t.Errorf("%d %s: %q", maxEntries, what, response.Warnings)
		}
		response, _ := ask(t, h, review(pods, pod(maxEntries+1)))
		if !response.Allowed || response.Patch != nil || len(response.Warnings) != 1 ||
			!strings.Contains(response.Warnings[0], "more than 250") {
			t.Errorf("%d %s: %+v", maxEntries+1, what, response)
		}
		if got := testutil.ToFloat64(h.cfg.Metrics.failures.WithLabelValues(string(Unreadable))); got != 1 {
			t.Errorf("%s: counted %v", what, got)
		}
	}
}

func podOfLabels(maps, n int) string {
	metadata := make([]string, maps)
	for i := range n {
		metadata[i%maps] += fmt.Sprintf(`,"%d":""`, i)
	}
	for i := range metadata {
		metadata[i] = `"labels":{` + metadata[i][1:] + `}`
	}
	return `{"metadata":{` + strings.Join(metadata, ",") + `},"spec":{"containers":[{"name":"web"}]}}`
}

// TestAutoscalerOfTooManyValues: it is refused; one that was stored before can be labelled.
func TestAutoscalerOfTooManyValues(t *testing.T) {
	h := newHandler(t, always(nil))
	large := func(labels string) string {
		return `{"metadata":{` + labels + `},"spec":{"resourcePolicy":{"containerPolicies":[` +
			strings.Repeat(`{},`, maxValues) + `{}]}}}`
	}
	response, _ := ask(t, h, review(vpas, large("")))
	if response.Allowed || !strings.Contains(response.Result.Message, "spec: Too many: 5004: must have at most 2500") {
		t.Errorf("%+v", response.Result)
	}
	update := review(vpas, large(`"labels":{"a":"b"}`))
	update.Request.Operation, update.Request.OldObject = admissionv1.Update, runtime.RawExtension{Raw: []byte(large(""))}
	if response, _ := ask(t, h, update); !response.Allowed {
		t.Errorf("a label: %+v", response.Result)
	}
}

// TestErrorsAreFew: the memory for joining errors grows with the square of their number.
func TestErrorsAreFew(t *testing.T) {
	h := newHandler(t, always(nil))
	response,
		_ := ask(t, h, review(vpas, `{"spec":{"resourcePolicy":{"containerPolicies":[`+strings.Repeat(`{},`, 99)+`{}]}}}`))
	if response.Allowed || len(response.Result.Details.Causes) != maxErrors || len(response.Warnings) != 1 ||
		response.Warnings[0] != "spec: 80 more errors are not listed" {
		t.Errorf("%d causes, warnings %q", len(response.Result.Details.Causes), response.Warnings)
	}
}

// TestOnlyTheListsOwnNamesCount: a resource whose name differs in its capitals is another one.
func TestOnlyTheListsOwnNamesCount(t *testing.T) {
	pod, err := parsePod([]byte(
		`{"spec":{"containers":[{"resources":{"requests":{"cpu":"1","CPU":"7","gpu":"3"},"limits":{}}},{"resources":{"requests":null,"claims":[]}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	first, second := pod.Spec.Containers[0].Resources, pod.Spec.Containers[1].Resources
	if cpu := first.Requests["cpu"]; len(first.Requests) != 1 || cpu.String() != "1" || first.Limits == nil ||
		bool(first.Claims) {
		t.Errorf("%+v", first)
	}
	if second.Requests != nil || second.Limits != nil || !bool(second.Claims) {
		t.Errorf("%+v", second)
	}
}
