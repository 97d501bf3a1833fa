package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// hostile are quantities in JSON that take from a second to days to read or to compare.
var hostile = map[string]string{
	"a small number":       `"1e-999999999"`,
	"a large number":       `"1e999999999"`,
	"a capital":            `"1E-1000000"`,
	"escaped":              `"1\u0065-999999999"`,
	"a bare number":        `1e-999999999`,
	"a megabyte of digits": `"` + strings.Repeat("9", 1<<20) + `"`,
}

// answered returns the response to a request; it fails the test if there is none in time.
func answered(t *testing.T, h http.Handler, body any) *admissionv1.AdmissionResponse {
	t.Helper()
	answers := make(chan *admissionv1.AdmissionResponse, 1)
	go func() {
		response, _ := ask(t, h, body)
		answers <- response
	}()
	select {
	case response := <-answers:
		if response == nil {
			t.Fatal("the request was refused as a whole")
		}
		return response
	case <-time.After(20 * time.Second):
		t.Fatal("no answer within 20 s")
		return nil
	}
}

func TestPodThatCannotBeReadIsAdmittedUnchanged(t *testing.T) {
	for why, cpu := range hostile {
		for _, list := range []string{"requests", "limits", "Requests"} {
			pod := `{"metadata":{"generateName":"web-"},"spec":{"containers":[{"name":"web","resources":{"` + list +
				`":{"cpu":` + cpu + `,"cpu":"1"}}}]}}`
			response := answered(t, newHandler(t, always(shop())), review(pods, pod))
			if !response.Allowed || response.Patch != nil || len(response.Warnings) != 1 || len(response.Warnings[0]) > 250 ||
				!strings.Contains(response.Warnings[0], "spec.containers[0].resources."+list+"[cpu]") {
				t.Errorf("%s in %s: allowed %t, patch %s, warnings %q", why, list, response.Allowed, response.Patch,
					response.Warnings)
			}
		}
	}
	// A text that is not a quantity may look like one.
	pod := `{"metadata":{"generateName":"web-","labels":{"commit":"4531e203"}},"spec":{"containers":[{"name":"web","args":["1e-999999999"],"resources":{}}]}}`
	if response := answered(t, newHandler(t, always(shop())), review(pods, pod)); len(operations(t, response)) == 0 {
		t.Errorf("a pod with a label that looks like a quantity is left alone: %v", response.Warnings)
	}
}

func bounded(cpu, finalizers string) string {
	return `{"metadata":{"name":"it","namespace":"default"` + finalizers + `},"spec":{"targetRef":{"kind":"Deployment","name":"web"},
		"resourcePolicy":{"containerPolicies":[{"containerName":"web","minAllowed":{"cpu":` + cpu + `}}]}}}`
}

func TestAutoscalerThatCannotBeReadIsRefused(t *testing.T) {
	h := newHandler(t, always(nil))
	for why, cpu := range hostile {
		create := review(vpas, bounded(cpu, ""))
		update := review(vpas, bounded(cpu, ""))
		update.Request.Operation = admissionv1.Update
		update.Request.OldObject = runtime.RawExtension{Raw: []byte(bounded(`"1"`, ""))}
		for _, r := range []*admissionv1.AdmissionReview{create, update} {
			response := answered(t, h, r)
			if response.Allowed || response.Result.Code != http.StatusUnprocessableEntity ||
				len(response.Result.Message) > 400 ||
				!strings.Contains(response.Result.Message,
					`spec.resourcePolicy.containerPolicies[0].minAllowed[cpu]: Invalid value: "`) {
				t.Errorf("%s of %s: %+v", r.Request.Operation, why, response.Result)
			}
		}
		repaired := review(vpas, bounded(`"1"`, ""))
		repaired.Request.Operation = admissionv1.Update
		repaired.Request.OldObject = runtime.RawExtension{Raw: []byte(bounded(cpu, ""))}
		if response := answered(t, h, repaired); !response.Allowed {
			t.Errorf("%s cannot be repaired: %+v", why, response.Result)
		}
	}
}

// For a stored object with any error, finalizers can be removed, and labels changed.
func TestStoredInvalidObjectCanBeDeletedAndLabelled(t *testing.T) {
	h := newHandler(t, always(nil))
	texts := map[string]string{"invalid": `"1.0005"`}
	for why, cpu := range hostile {
		texts[why] = cpu
	}
	for why, cpu := range texts {
		for what, c := range map[string]struct {
			before, after string
			allowed       bool
		}{
			"the finalizer of one that is deleted": {
				before: bounded(cpu, `,"deletionTimestamp":"2026-11-22T00:00:00Z","finalizers":["foregroundDeletion"]`),
				after:  bounded(cpu, `,"deletionTimestamp":"2026-11-22T00:00:00Z","finalizers":[]`), allowed: true,
			},
			"a label": {before: bounded(cpu, ""), after: bounded(cpu, `,"labels":{"a":"b"}`),
				allowed: true},
			"a label, written otherwise": {before: bounded(cpu, ""),
				after: strings.ReplaceAll(bounded(cpu, `,"labels":{"a":"b"}`), ":{", ": {"), allowed: true},
			"the spec": {before: bounded(cpu, ""),
				after: strings.ReplaceAll(bounded(cpu, ""), `"web"}`, `"other"}`)},
			"the spec of one without a spec": {before: `{"metadata":{}}`, after: bounded(cpu, "")},
		} {
			r := review(vpas, c.after)
			r.Request.Operation = admissionv1.Update
			r.Request.OldObject = runtime.RawExtension{Raw: []byte(c.before)}
			if response := answered(t, h, r); response.Allowed != c.allowed {
				t.Errorf("%s, %s: allowed %t, %+v", why, what, response.Allowed, response.Result)
			}
		}
	}
}
