package read

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// ownConfiguration is Plimsoll's, and upstream's.
const ownConfiguration = "vpa-webhook-config"

func has(r *admissionregistrationv1.RuleWithOperations, group string, resources ...string) bool {
	isOfObjects := func(operation admissionregistrationv1.OperationType) bool {
		return operation != admissionregistrationv1.Connect // about exec, attach and port-forward
	}
	if !slices.ContainsFunc(r.Operations, isOfObjects) {
		return false
	}
	if !slices.Contains(r.APIGroups, group) && !slices.Contains(r.APIGroups, "*") {
		return false
	}
	return slices.ContainsFunc(r.Resources, func(resource string) bool {
		return resource == "*" || resource == "*/*" || slices.Contains(resources, resource)
	})
}

func webhookFacts(w *admissionregistrationv1.ValidatingWebhook, kind, configuration string) doctor.Webhook {
	isAsked := func(group string, resources ...string) bool {
		return slices.ContainsFunc(w.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
			return has(&r, group, resources...)
		})
	}
	read := doctor.Webhook{
		Configuration: doctor.Object{Kind: kind, Name: configuration}, Name: w.Name,
		Fails: ptr.Deref(w.FailurePolicy, admissionregistrationv1.Fail) != admissionregistrationv1.Ignore,
		IsOwn: configuration == ownConfiguration, IsAskedAboutPods: isAsked("", "pods"),
		IsAskedAboutAutoscalers: isAsked("autoscaling", "horizontalpodautoscalers", "horizontalpodautoscalers/status") ||
			isAsked("autoscaling.k8s.io", "verticalpodautoscalers") ||
			isAsked("plimsoll.dev", "workloadautoscalers", "workloadautoscalers/status") ||
			isAsked("apps", "deployments/scale", "statefulsets/scale"),
		Authority: authorityOf(w.ClientConfig.CABundle), Namespaces: w.NamespaceSelector,
	}
	if s := w.ClientConfig.Service; s != nil {
		read.Service = s.Namespace + "/" + s.Name
	}
	return read
}

// authorityOf reads the certificates that the API server trusts.
func authorityOf(bundle []byte) doctor.Authority {
	if len(bundle) == 0 {
		return doctor.Authority{IsMissing: true}
	}
	var read doctor.Authority
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err == nil && certificate.NotAfter.After(read.Expires) {
			read.Expires = certificate.NotAfter
		}
	}
	read.IsUnreadable = read.Expires.IsZero()
	return read
}

// webhooks reads those that are asked about pods or autoscalers, and whether anything is behind their Services.
func (r *reader) webhooks(ctx context.Context) {
	for _, kind := range []struct{ name, resource string }{
		{"MutatingWebhookConfiguration", "mutatingwebhookconfigurations"},
		{"ValidatingWebhookConfiguration", "validatingwebhookconfigurations"},
	} {
		what := request{verb: "list", group: "admissionregistration.k8s.io", resource: kind.resource, isOfCluster: true}
		read := reading(ctx, r, what, func(ctx context.Context) ([]doctor.Webhook, error) {
			var all []doctor.Webhook
			err := list(ctx, r.api, "/apis/admissionregistration.k8s.io/v1/"+kind.resource, nil,
				func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { // a mutating one has these fields too
					for i := range c.Webhooks {
						w := webhookFacts(&c.Webhooks[i], kind.name, c.Name)
						if w.IsAskedAboutPods || w.IsAskedAboutAutoscalers {
							all = append(all, w)
						}
					}
				})
			return all, err
		})
		r.facts.Webhooks.Value = append(r.facts.Webhooks.Value, read.Value...)
		if read.Unread != nil {
			r.facts.Webhooks.Unread = read.Unread
		}
	}
	r.facts.Webhooks.Value = r.selecting(ctx, r.facts.Webhooks.Value)
	each(r.facts.Webhooks.Value, func(_ int, w *doctor.Webhook) {
		if w.Service != "" {
			r.endpoints(ctx, w)
		}
	})
}

// selecting are the webhooks that are asked about some namespace that there is. Where namespaces may not be listed, all
// are taken to be.
func (r *reader) selecting(ctx context.Context, all []doctor.Webhook) []doctor.Webhook {
	if !slices.ContainsFunc(all, func(w doctor.Webhook) bool { return w.Namespaces != nil }) {
		return all
	}
	what := request{verb: "list", resource: "namespaces", isOfCluster: true}
	read := reading(ctx, r, what, func(ctx context.Context) (found []labels.Set, err error) {
		err = list(ctx, r.api, "/api/v1/namespaces", nil, func(n *corev1.Namespace) { found = append(found, n.Labels) })
		return found, err
	})
	if read.Unread != nil {
		return all
	}
	return slices.DeleteFunc(all, func(w doctor.Webhook) bool {
		selector, err := metav1.LabelSelectorAsSelector(w.Namespaces)
		return err == nil && w.Namespaces != nil &&
			!slices.ContainsFunc(read.Value, func(of labels.Set) bool { return selector.Matches(of) })
	})
}

func (r *reader) endpoints(ctx context.Context, w *doctor.Webhook) {
	namespace, name, _ := strings.Cut(w.Service, "/")
	what := request{verb: "get", resource: "services", namespace: namespace, name: name}
	service := reading(ctx, r, what, func(ctx context.Context) (found corev1.Service, err error) {
		err = r.api.get(ctx, "/api/v1/namespaces/"+url.PathEscape(namespace)+"/services/"+url.PathEscape(name), nil, &found)
		w.HasService = err == nil
		if isUnserved(err) {
			err = nil
		}
		return found, err
	})
	if w.Unread = service.Unread; w.Unread != nil || !w.HasService {
		return
	}
	w.IsExternal = service.Value.Spec.Type == corev1.ServiceTypeExternalName
	what = request{verb: "list", group: "discovery.k8s.io", resource: "endpointslices", namespace: namespace}
	ready := reading(ctx, r, what, func(ctx context.Context) (ready int, err error) {
		err = list(ctx, r.api, "/apis/discovery.k8s.io/v1/namespaces/"+url.PathEscape(namespace)+"/endpointslices",
			url.Values{"labelSelector": {"kubernetes.io/service-name=" + name}}, func(s *discoveryv1.EndpointSlice) {
				for i := range s.Endpoints {
					// Without the condition an endpoint counts as ready.
					if ptr.Deref(s.Endpoints[i].Conditions.Ready, true) {
						ready++
					}
				}
			})
		return ready, err
	})
	w.ReadyEndpoints, w.Unread = ready.Value, ready.Unread
}
