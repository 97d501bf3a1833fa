package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/admit"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
	"github.com/plimsoll-dev/plimsoll/internal/panics"
)

// Matcher finds the VerticalPodAutoscaler that applies to a new pod; nil if there is none. It reads only caches. An
// error means that the result is unknown now.
type Matcher interface {
	Match(pod *corev1.Pod) (*vpav1.VerticalPodAutoscaler, error)
}

// Config configures a Handler.
type Config struct {
	Matcher Matcher
	// Ranges returns the LimitRanges of a namespace, from a cache.
	Ranges func(namespace string) *bounds.Ranges
	// Warnings returns warnings for the owner of an object that is created or updated; nil for none.
	Warnings func(*vpav1.VerticalPodAutoscaler) []string
	// Ignores reports whether pods of a namespace are left alone.
	Ignores  func(namespace string) bool
	Options  admit.Options
	Features validation.Features
	Metrics  *Metrics
	Log      logr.Logger
}

// Handler answers AdmissionReviews.
type Handler struct{ cfg Config }

var _ http.Handler = (*Handler)(nil)

// NewHandler makes a Handler.
func NewHandler(cfg Config) (*Handler, error) {
	if cfg.Matcher == nil || cfg.Ranges == nil || cfg.Metrics == nil {
		return nil, errors.New("webhook: a matcher, LimitRanges and metrics are needed")
	}
	if cfg.Warnings == nil {
		cfg.Warnings = func(*vpav1.VerticalPodAutoscaler) []string { return nil }
	}
	if cfg.Ignores == nil {
		cfg.Ignores = func(string) bool { return false }
	}
	return &Handler{cfg: cfg}, nil
}

// answer is the response and its labels for metrics.
type answer struct {
	response *admissionv1.AdmissionResponse
	status   status
	resource string
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	a, code := h.answer(w, r)
	h.cfg.Metrics.observe(a, time.Since(began))
	if code != http.StatusOK {
		http.Error(w, http.StatusText(code), code)
		return
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: admissionv1.SchemeGroupVersion.String()},
		Response: a.response,
	})
	if err != nil {
		h.cfg.Log.Error(err, "encoding the response failed")
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(body); err != nil {
		h.cfg.Log.V(1).Info("the API server did not wait for the response", "err", err.Error())
	}
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) (answer, int) {
	failed := answer{status: statusError, resource: resourceUnknown}
	if r.Header.Get("Content-Type") != "application/json" {
		h.cfg.Metrics.unchanged(Unreadable)
		return failed, http.StatusUnsupportedMediaType
	}
	body, err := readBody(w, r)
	if err != nil {
		h.cfg.Metrics.unchanged(Unreadable)
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return failed, http.StatusRequestEntityTooLarge
		}
		return failed, http.StatusBadRequest
	}
	request, err := parseReview(body)
	if err != nil {
		h.cfg.Metrics.unchanged(Unreadable)
		return failed, http.StatusBadRequest
	}
	return h.review(r.Context(), request), http.StatusOK
}

// review serves a request. After any failure the pod is admitted unchanged.
func (h *Handler) review(ctx context.Context, request *admissionv1.AdmissionRequest) (a answer) {
	defer func() {
		if cause := recover(); cause != nil {
			panics.Report(cause, h.cfg.Log, func() { h.cfg.Metrics.unchanged(Panicked) }, "Admitting unchanged after a panic",
				"resource", request.Resource.Resource, "namespace", request.Namespace, "name", request.Name)
			a = answer{response: admitted(request), status: statusError, resource: resourceOf(request)}
		}
	}()
	switch resourceOf(request) {
	case resourcePod:
		return h.reviewPod(ctx, request)
	case resourceVPA:
		return h.reviewAutoscaler(request)
	}
	h.cfg.Metrics.unchanged(Unreadable)
	return answer{response: admitted(request), status: statusError, resource: resourceUnknown}
}

func resourceOf(request *admissionv1.AdmissionRequest) string {
	switch (metav1.GroupResource{Group: request.Resource.Group, Resource: request.Resource.Resource}) {
	case metav1.GroupResource{Resource: "pods"}:
		return resourcePod
	case metav1.GroupResource{Group: vpav1.SchemeGroupVersion.Group, Resource: vpav1.VerticalPodAutoscalers}:
		return resourceVPA
	}
	return resourceUnknown
}

func admitted(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
}

// patched returns a response with a patch, or without one if it is empty.
func (h *Handler) patched(request *admissionv1.AdmissionRequest, p patch) answer {
	a := answer{response: admitted(request), status: statusSkipped, resource: resourceOf(request)}
	if len(p) == 0 {
		return a
	}
	body, err := json.Marshal(p)
	if err != nil {
		h.cfg.Log.Error(err, "encoding a patch failed", "namespace", request.Namespace, "name", request.Name)
		h.cfg.Metrics.unchanged(Unwritable)
		a.status = statusError
		return a
	}
	kind := admissionv1.PatchTypeJSONPatch
	a.response.Patch, a.response.PatchType, a.status = body, &kind, statusApplied
	return a
}
