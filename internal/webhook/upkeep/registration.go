package upkeep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// Upstream's names.
const (
	// ConfigurationName is the MutatingWebhookConfiguration's.
	ConfigurationName = "vpa-webhook-config"
	// WebhookName is that of the one webhook in it.
	WebhookName = "vpa.k8s.io"
)

// fieldManager is the writer's name in managedFields.
const fieldManager = "plimsoll-admission-controller"

// namespaceLabel is the label of every namespace with its own name.
const namespaceLabel = "kubernetes.io/metadata.name"

// ErrMissing is returned if the API server sends requests to no server at all: its configuration is gone, and this
// server may not create another.
var ErrMissing = errors.New("creating one is not granted; apply config/vertical/webhook.yaml")

// Registration is the webhook configuration by which the API server finds the server.
type Registration struct {
	Client admissionclient.MutatingWebhookConfigurationInterface
	// URL is the server's address; without it, the Service's is used.
	URL                string
	Namespace, Service string
	TimeoutSeconds     int32
	// Fails keeps pods out while the server does not answer.
	Fails  bool
	Labels map[string]string
	// Only is the one namespace whose pods may be changed; empty for all.
	Only string
	// Ignored are further namespaces whose pods are left alone.
	Ignored []string

	// applied is the state of the API server as of the last Ensure.
	applied struct{ resourceVersion, authorities, path string }
	// pathSince is since when the API server has had the path, as far as that is known.
	pathSince time.Time
}

// Current returns the authorities that the API server trusts, and the path of its requests.
func (r *Registration) Current(ctx context.Context) (authorities []byte, path string, err error) {
	there, err := r.Client.Get(ctx, ConfigurationName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading %s: %w", ConfigurationName, err)
	}
	for i := range there.Webhooks {
		if there.Webhooks[i].Name == WebhookName {
			authorities, path = there.Webhooks[i].ClientConfig.CABundle, pathOf(&there.Webhooks[i].ClientConfig)
		}
	}
	return authorities, path, nil
}

// Ensure creates or updates the configuration: an existing one is updated in place, never deleted, so that there is no
// moment without it, and a missing one is created where that is granted. It writes nothing until another client has
// changed it.
func (r *Registration) Ensure(ctx context.Context, authorities []byte, path string) error {
	there, err := r.Client.Get(ctx, ConfigurationName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading %s: %w", ConfigurationName, err)
	}
	isMissing := err != nil
	if !isMissing && there.ResourceVersion == r.applied.resourceVersion && string(authorities) == r.applied.authorities &&
		path == r.applied.path {
		return nil
	}
	r.notePath(there, path)
	wanted := r.configuration(authorities, path)
	written, err := r.Client.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if apierrors.IsForbidden(err) {
		written, err = r.withoutPatch(ctx, there, wanted, err)
	}
	if isMissing && apierrors.IsForbidden(err) {
		return fmt.Errorf("there is no %s, and %w: %w", ConfigurationName, ErrMissing, err)
	}
	if err != nil {
		return fmt.Errorf("applying %s: %w", ConfigurationName, err)
	}
	r.applied.resourceVersion, r.applied.authorities, r.applied.path = written.ResourceVersion, string(authorities), path
	if !asksAt(written, path) {
		// The existing one may not be changed, and points here without the path.
		r.pathSince = time.Time{}
	}
	return nil
}

// notePath records since when the API server has had the path. A replica that starts uses the time at which a server
// last wrote the configuration; later writes do not matter.
func (r *Registration) notePath(there *admissionregistrationv1.MutatingWebhookConfiguration, path string) {
	now := time.Now()
	switch {
	case !asksAt(there, path):
		r.pathSince = now
	case r.pathSince.IsZero():
		r.pathSince = now
		for _, writer := range there.ManagedFields {
			if writer.Manager == fieldManager && writer.Time != nil {
				r.pathSince = writer.Time.Time
			}
		}
	}
}

// asksAt reports whether the API server sends requests to the path.
func asksAt(there *admissionregistrationv1.MutatingWebhookConfiguration, path string) bool {
	return there != nil && slices.ContainsFunc(there.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool {
		return w.Name == WebhookName && pathOf(&w.ClientConfig) == path
	})
}

// HasPath reports whether the API server has had the path for so long that every instance of it uses the path, and that
// no server of an older version, which would remove the path, is left.
func (r *Registration) HasPath(settled time.Duration) bool {
	return r.applied.path != "" && !r.pathSince.IsZero() && time.Since(r.pathSince) >= settled
}

// pathOf returns the path of requests, without the slash that stands for none.
func pathOf(c *admissionregistrationv1.WebhookClientConfig) string {
	path := ""
	switch {
	case c.Service != nil:
		path = ptr.Deref(c.Service.Path, "")
	case c.URL != nil:
		// The API server has validated it.
		if where, err := url.Parse(*c.URL); err == nil {
			path = where.Path
		}
	}
	return strings.TrimSuffix(path, "/")
}

// withoutPatch works with the permissions in upstream's manifests, which grant only create: an existing configuration
// is kept if it points here.
func (r *Registration) withoutPatch(
	ctx context.Context, there *admissionregistrationv1.MutatingWebhookConfiguration,
	wanted *apply.MutatingWebhookConfigurationApplyConfiguration, forbidden error,
) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	raw, err := json.Marshal(wanted)
	if err == nil {
		err = json.Unmarshal(raw, configuration)
	}
	if err != nil {
		return nil, err
	}
	if there == nil || there.Name == "" {
		return r.Client.Create(ctx, configuration, metav1.CreateOptions{FieldManager: fieldManager})
	}
	if len(there.Webhooks) == 1 && leadsHere(&there.Webhooks[0].ClientConfig, &configuration.Webhooks[0].ClientConfig) {
		return there, nil
	}
	return nil, forbidden
}

// leadsHere reports whether two configurations name the same server, whatever the path.
func leadsHere(a, b *admissionregistrationv1.WebhookClientConfig) bool {
	base := func(c *admissionregistrationv1.WebhookClientConfig) string {
		return strings.TrimSuffix(ptr.Deref(c.URL, ""), pathOf(c))
	}
	if !bytes.Equal(a.CABundle, b.CABundle) || base(a) != base(b) || (a.Service == nil) != (b.Service == nil) {
		return false
	}
	return a.Service == nil || a.Service.Namespace == b.Service.Namespace && a.Service.Name == b.Service.Name
}

func (r *Registration) configuration(
	authorities []byte, path string,
) *apply.MutatingWebhookConfigurationApplyConfiguration {
	client := apply.WebhookClientConfig().WithCABundle(authorities...)
	if r.URL != "" {
		client.WithURL(r.URL + path)
	} else {
		service := apply.ServiceReference().WithNamespace(r.Namespace).WithName(r.Service)
		if path != "" {
			service.WithPath(path)
		}
		client.WithService(service)
	}
	policy := admissionregistrationv1.Ignore
	if r.Fails {
		policy = admissionregistrationv1.Fail
	}
	configuration := apply.MutatingWebhookConfiguration(ConfigurationName)
	if len(r.Labels) > 0 {
		configuration.WithLabels(r.Labels)
	}
	return configuration.WithWebhooks(apply.MutatingWebhook().
		WithName(WebhookName).
		WithAdmissionReviewVersions("v1").
		WithSideEffects(admissionregistrationv1.SideEffectClassNone).
		WithFailurePolicy(policy).
		WithTimeoutSeconds(r.TimeoutSeconds).
		WithNamespaceSelector(r.namespaces()).
		WithClientConfig(client).
		WithRules(
			apply.RuleWithOperations().WithOperations(admissionregistrationv1.Create).
				WithAPIGroups("").WithAPIVersions("v1").WithResources("pods"),
			apply.RuleWithOperations().WithOperations(admissionregistrationv1.Create, admissionregistrationv1.Update).
				WithAPIGroups(vpav1.SchemeGroupVersion.Group).WithAPIVersions("*").WithResources(vpav1.VerticalPodAutoscalers),
		))
}

// namespaces selects those whose pods may be changed: never that of the server, whose own pods must start without it.
func (r *Registration) namespaces() *applymeta.LabelSelectorApplyConfiguration {
	selector := applymeta.LabelSelector()
	if r.Only != "" {
		selector.WithMatchExpressions(applymeta.LabelSelectorRequirement().
			WithKey(namespaceLabel).WithOperator(metav1.LabelSelectorOpIn).WithValues(r.Only))
	}
	if ignored := r.IgnoredNamespaces(); len(ignored) > 0 {
		selector.WithMatchExpressions(applymeta.LabelSelectorRequirement().
			WithKey(namespaceLabel).WithOperator(metav1.LabelSelectorOpNotIn).WithValues(ignored...))
	}
	return selector
}

// IgnoredNamespaces returns the namespaces whose pods are left alone.
func (r *Registration) IgnoredNamespaces() []string {
	ignored := slices.Clone(r.Ignored)
	if r.Namespace != "" {
		ignored = append(ignored, r.Namespace)
	}
	slices.Sort(ignored)
	return slices.Compact(ignored)
}
