package read

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// ownConfiguration is Plimsoll's, and upstream's.
const ownConfiguration = "vpa-webhook-config"

// webhookConfiguration is a mutating or a validating one.
type webhookConfiguration struct {
	Metadata meta      `json:"metadata"`
	Webhooks []webhook `json:"webhooks"`
}

type webhook struct {
	Name          string `json:"name"`
	FailurePolicy string `json:"failurePolicy"`
	ClientConfig  struct {
		CABundle []byte `json:"caBundle"`
		Service  *struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"service"`
	} `json:"clientConfig"`
	Rules             []rule                `json:"rules"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
}

// rule says about which requests a webhook is asked.
type rule struct {
	APIGroups  []string `json:"apiGroups"`
	Resources  []string `json:"resources"`
	Operations []string `json:"operations"`
}

func (r *rule) has(group string, resources ...string) bool {
	// CONNECT is about exec, attach and port-forward.
	if !slices.ContainsFunc(r.Operations, func(operation string) bool { return operation != "CONNECT" }) {
		return false
	}
	if !slices.Contains(r.APIGroups, group) && !slices.Contains(r.APIGroups, "*") {
		return false
	}
	return slices.ContainsFunc(r.Resources, func(resource string) bool {
		return resource == "*" || resource == "*/*" || slices.Contains(resources, resource)
	})
}

func (w *webhook) isAsked(group string, resources ...string) bool {
	return slices.ContainsFunc(w.Rules, func(r rule) bool { return r.has(group, resources...) })
}

func (w *webhook) facts(kind, configuration string) doctor.Webhook {
	read := doctor.Webhook{
		Configuration: doctor.Object{Kind: kind, Name: configuration}, Name: w.Name,
		Fails: w.FailurePolicy != "Ignore", IsOwn: configuration == ownConfiguration,
		IsAskedAboutPods: w.isAsked("", "pods"),
		IsAskedAboutAutoscalers: w.isAsked("autoscaling", "horizontalpodautoscalers", "horizontalpodautoscalers/status") ||
			w.isAsked("autoscaling.k8s.io", "verticalpodautoscalers") ||
			w.isAsked("plimsoll.dev", "workloadautoscalers", "workloadautoscalers/status") ||
			w.isAsked("apps", "deployments/scale", "statefulsets/scale"),
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
				func(c *webhookConfiguration) {
					for i := range c.Webhooks {
						w := c.Webhooks[i].facts(kind.name, c.Metadata.Name)
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

// namespace is what is used of one.
type namespace struct {
	Metadata meta `json:"metadata"`
}

// selecting are the webhooks that are asked about some namespace that there is. Where namespaces may not be listed, all
// are taken to be.
func (r *reader) selecting(ctx context.Context, all []doctor.Webhook) []doctor.Webhook {
	if !slices.ContainsFunc(all, func(w doctor.Webhook) bool { return w.Namespaces != nil }) {
		return all
	}
	what := request{verb: "list", resource: "namespaces", isOfCluster: true}
	read := reading(ctx, r, what, func(ctx context.Context) (found []labels.Set, err error) {
		err = list(ctx, r.api, "/api/v1/namespaces", nil, func(n *namespace) { found = append(found, n.Metadata.Labels) })
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

// serviceOf is what is used of a Service.
type serviceOf struct {
	Spec struct {
		Type string `json:"type"`
	} `json:"spec"`
}

// endpointSlice is what is used of one.
type endpointSlice struct {
	Endpoints []struct {
		Conditions struct {
			Ready *bool `json:"ready"`
		} `json:"conditions"`
	} `json:"endpoints"`
}

func (r *reader) endpoints(ctx context.Context, w *doctor.Webhook) {
	namespace, name, _ := strings.Cut(w.Service, "/")
	what := request{verb: "get", resource: "services", namespace: namespace, name: name}
	service := reading(ctx, r, what, func(ctx context.Context) (found serviceOf, err error) {
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
	w.IsExternal = service.Value.Spec.Type == "ExternalName"
	what = request{verb: "list", group: "discovery.k8s.io", resource: "endpointslices", namespace: namespace}
	ready := reading(ctx, r, what, func(ctx context.Context) (ready int, err error) {
		err = list(ctx, r.api, "/apis/discovery.k8s.io/v1/namespaces/"+url.PathEscape(namespace)+"/endpointslices",
			url.Values{"labelSelector": {"kubernetes.io/service-name=" + name}}, func(s *endpointSlice) {
				for i := range s.Endpoints {
					// Without the condition an endpoint counts as ready.
					if is := s.Endpoints[i].Conditions.Ready; is == nil || *is {
						ready++
					}
				}
			})
		return ready, err
	})
	w.ReadyEndpoints, w.Unread = ready.Value, ready.Unread
}
