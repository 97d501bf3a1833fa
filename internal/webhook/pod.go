package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/admit"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

func (h *Handler) reviewPod(ctx context.Context, request *admissionv1.AdmissionRequest) answer {
	skipped := answer{response: admitted(request), status: statusSkipped, resource: resourcePod}
	if h.cfg.Ignores(request.Namespace) {
		return skipped
	}
	failed := answer{response: admitted(request), status: statusError, resource: resourcePod}
	pod, err := parsePod(request.Object.Raw)
	if err != nil {
		h.cfg.Log.Error(err, "admitting a pod unchanged: it cannot be read", "namespace", request.Namespace)
		h.cfg.Metrics.unchanged(Unreadable)
		failed.response.Warnings = []string{"no recommendation is applied: the pod cannot be read: " + err.Error()}
		return failed
	}
	vpa, err := h.match(ctx, pod.matched(request.Namespace))
	if err != nil {
		reason := OwnerUnknown
		if errors.Is(err, ownership.ErrNotFound) {
			reason = OwnerMissing
		}
		h.cfg.Log.Info("admitting a pod unchanged: its owner is still unknown",
			"namespace", request.Namespace, "pod", pod.Metadata.Name+pod.Metadata.GenerateName, "err", err.Error())
		h.cfg.Metrics.unchanged(reason)
		return failed
	}
	if vpa == nil {
		return skipped
	}
	decision := admit.Decide(policyOf(vpa), pod.observed(), h.cfg.Ranges(request.Namespace), h.cfg.Options)
	p, err := pod.patch(decision)
	if err != nil {
		h.cfg.Log.Error(err, "admitting a pod unchanged", "namespace", request.Namespace)
		h.cfg.Metrics.unchanged(Unwritable)
		return failed
	}
	if decision.Refused != "" {
		return h.inadmissible(request, pod, decision.Refused, p)
	}
	h.cfg.Log.V(1).Info("patching a pod", "namespace", request.Namespace,
		"pod", pod.Metadata.Name+pod.Metadata.GenerateName, "vpa", vpa.Name, "updates", decision.Updates)
	return h.patched(request, p)
}

// inadmissible answers with a pod that does not get all that is recommended, as the API server
// would refuse it.
func (h *Handler) inadmissible(request *admissionv1.AdmissionRequest, pod *newPod, why string, p patch) answer {
	h.cfg.Log.Info("leaving out the part of the patch that the API server would refuse", "namespace", request.Namespace,
		"pod", pod.Metadata.Name+pod.Metadata.GenerateName, "reason", why)
	h.cfg.Metrics.unchanged(Inadmissible)
	a := h.patched(request, p)
	a.response.Warnings = []string{why + "; the API server would refuse the pod"}
	return a
}

const (
	// catchUp is how long a pod waits for an owner that is not in the cache: workload and pods are often created within
	// moments, and the watch may be late. The API server waits for seconds.
	catchUp = 300 * time.Millisecond
	// catchUpTurn is the period of reading the cache meanwhile.
	catchUpTurn = 10 * time.Millisecond
)

// match finds the object of a pod, within catchUp at most.
func (h *Handler) match(ctx context.Context, pod *corev1.Pod) (*vpav1.VerticalPodAutoscaler, error) {
	vpa, err := h.cfg.Matcher.Match(pod)
	if !errors.Is(err, ownership.ErrNotFound) {
		return vpa, err
	}
	ctx, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	turns := time.NewTicker(catchUpTurn)
	defer turns.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, err
		case <-turns.C:
		}
		if vpa, err = h.cfg.Matcher.Match(pod); !errors.Is(err, ownership.ErrNotFound) {
			return vpa, err
		}
	}
}

func policyOf(vpa *vpav1.VerticalPodAutoscaler) admit.Policy {
	return admit.Policy{
		Name:            vpa.Name,
		Mode:            observevertical.ModeOf(&vpa.Spec),
		Containers:      observevertical.PoliciesOf(&vpa.Spec),
		Recommended:     vpa.Status.Recommendation != nil,
		Recommendations: observevertical.RecommendationsOf(&vpa.Status),
		LittleHistory:   observevertical.HasLittleHistory(&vpa.Status),
		Boost:           observevertical.BoostOf(vpa.Spec.StartupBoost),
	}
}

func (pod *newPod) observed() admit.Pod {
	containers := make([]admit.Container, len(pod.Spec.Containers))
	of := admit.Pod{Containers: containers}
	if whole := pod.Spec.Resources; whole != nil {
		of.Resources = vertical.Resized{Requests: whole.Requests.amounts(), Limits: whole.Limits.amounts()}
	}
	of.InitContainers = make(vertical.InitContainers, len(pod.Spec.InitContainers))
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		of.InitContainers[i] = vertical.InitContainer{
			Name: c.Name, Sidecar: c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways,
			Resized: vertical.Resized{Requests: c.Resources.Requests.amounts(), Limits: c.Resources.Limits.amounts()},
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		containers[i].Name = c.Name
		containers[i].Requests, containers[i].Limits = c.Resources.Requests.amounts(), c.Resources.Limits.amounts()
		// A container with claims on devices is not bare: replacing its resources would remove the claims.
		containers[i].Bare = c.Resources.isBare()
	}
	return of
}

// patch converts a decision to a patch, in upstream's order.
func (pod *newPod) patch(decision admit.Decision) (patch, error) {
	var p patch
	if !pod.Metadata.Annotations {
		p.add("/metadata/annotations", map[string]string{})
	}
	for i, change := range decision.Changes {
		c := &pod.Spec.Containers[i]
		if change.Boosted {
			before, err := c.before()
			if err != nil {
				return nil, err
			}
			p.annotate(observevertical.AnnotationBoostPrefix+c.Name, before)
		}
		at := containerPath(i) + "/resources"
		if c.Resources.isBare() {
			p.add(at, corev1.ResourceRequirements{})
		}
		p.set(at+"/requests", c.Resources.Requests == nil, change.Requests)
		p.set(at+"/limits", c.Resources.Limits == nil, change.Limits)
	}
	if decision.Updates != "" {
		p.annotate(observevertical.AnnotationUpdates, decision.Updates)
	}
	if decision.Refused != "" {
		p.annotate(observevertical.AnnotationNotUpdated, decision.Refused)
	}
	p.annotate(observevertical.AnnotationObserved, decision.Observed)
	return p, nil
}

// before returns the CPU and memory that a container has without its boost, in the format that the updater reads to end
// the boost.
func (c *newContainer) before() (string, error) {
	type resources struct {
		Requests resourceList `json:"requests"`
		Limits   resourceList `json:"limits"`
	}
	before := resources{Requests: c.Resources.Requests, Limits: c.Resources.Limits}
	for _, list := range []*resourceList{&before.Requests, &before.Limits} {
		if *list == nil {
			*list = resourceList{}
		}
	}
	text, err := json.Marshal(before)
	return string(text), err
}

// escape escapes a key for a JSON pointer (RFC 6901).
var escape = strings.NewReplacer("~", "~0", "/", "~1")
