package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers/azure"
	"github.com/kedacore/keda/v2/pkg/util"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

// KEDA's resolver logs that it cannot read a Secret, and gives the scaler an empty value, with which it may
// authenticate as nobody. Here that is an error, which says which object lacks what.

// triggerAuthentication is a TriggerAuthentication or a ClusterTriggerAuthentication.
type triggerAuthentication struct {
	spec kedav1alpha1.TriggerAuthenticationSpec
	// namespace is where its Secrets and ConfigMaps are.
	namespace string
}

// authentication returns the TriggerAuthentication of the job; nil if it names none. KEDA's resolver logs the error of
// one that it cannot get, and goes on without credentials.
func (b *Builder) authentication(ctx context.Context, j *job.Job) (*triggerAuthentication, error) {
	ref := j.Scaler.AuthenticationRef
	if ref == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	switch ref.Kind {
	case "", "TriggerAuthentication":
		object := &kedav1alpha1.TriggerAuthentication{}
		err := b.Client.Get(ctx, client.ObjectKey{Namespace: j.Namespace, Name: ref.Name}, object)
		return &triggerAuthentication{spec: object.Spec, namespace: j.Namespace}, err
	case "ClusterTriggerAuthentication":
		object := &kedav1alpha1.ClusterTriggerAuthentication{}
		if err := b.Client.Get(ctx, client.ObjectKey{Name: ref.Name}, object); err != nil {
			return nil, err
		}
		namespace, err := util.GetClusterObjectNamespace()
		return &triggerAuthentication{spec: object.Spec, namespace: namespace}, err
	}
	return nil, fmt.Errorf("kind: %q is not known", ref.Kind)
}

// usesEnvironment reports whether it names environment variables of the target.
func (c *triggerAuthentication) usesEnvironment() bool { return c != nil && len(c.spec.Env) > 0 }

// checkSpec returns an error for what no TriggerAuthentication may have.
func (b *Builder) checkSpec(c *triggerAuthentication) error {
	if n := len(b.values(c)); n > maxValues {
		return fmt.Errorf("it names %d values, more than %d", n, maxValues)
	}
	if v := c.spec.HashiCorpVault; v != nil {
		return checkVault(v.Address)
	}
	return nil
}

// checkVault refuses a Vault at a socket of the pod: the client connects to unix:// too.
func checkVault(address string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return fmt.Errorf("hashiCorpVault.address: %q: must be a URL with http or https", address)
	}
	return nil
}

// usesTarget returns the field that needs the pods of the target; empty if there is none.
func (c *triggerAuthentication) usesTarget() string {
	switch {
	case c == nil:
		return ""
	case c.usesEnvironment():
		return "env"
	case isOfTarget(c.spec.PodIdentity):
		return "podIdentity"
	case c.spec.AwsSecretManager != nil && isOfTarget(c.spec.AwsSecretManager.PodIdentity):
		return "awsSecretManager.podIdentity"
	}
	return ""
}

// isOfTarget reports whether the identity is that of the target's pods.
func isOfTarget(identity *kedav1alpha1.AuthPodIdentity) bool {
	return identity != nil &&
		(identity.Provider == kedav1alpha1.PodIdentityProviderAwsEKS || identity.IsWorkloadIdentityOwner())
}

// value is a value that a TriggerAuthentication names.
type value struct {
	// field is that of the TriggerAuthentication, and parameter that of the scaler.
	field, parameter string
	// why says why there is none.
	why func(context.Context) error
}

// values returns the values that it names, in the order in which KEDA's resolver reads them: a later one
// replaces an earlier one of the same parameter.
func (b *Builder) values(c *triggerAuthentication) []value {
	var all []value
	for _, e := range c.spec.Env {
		all = append(all, value{"env", e.Parameter, func(context.Context) error {
			return fmt.Errorf("the environment variable %s is not set, or empty", e.Name)
		}})
	}
	for _, e := range c.spec.ConfigMapTargetRef {
		all = append(all, value{"configMapTargetRef", e.Parameter, func(ctx context.Context) error {
			return b.whyConfigMap(ctx, c.namespace, e.Name, e.Key)
		}})
	}
	for _, e := range c.spec.SecretTargetRef {
		all = append(all, b.ofSecret("secretTargetRef", e.Parameter, c.namespace, kedav1alpha1.SecretKeyRef{
			Name: e.Name, Key: e.Key,
		}))
	}
	all = append(all, ofManagers(&c.spec)...)
	if o := c.spec.OAuth2; o != nil {
		all = append(all, b.ofSecret("oauth2.clientSecret", "clientSecret", c.namespace,
			o.ClientSecret.ValueFrom.SecretKeyRef))
	}
	if p := c.spec.AzureServicePrincipal; p != nil {
		all = append(all, b.ofServicePrincipal(c.namespace, p)...)
	}
	return all
}

// ofManagers returns the values that are in a secret manager.
func ofManagers(spec *kedav1alpha1.TriggerAuthenticationSpec) []value {
	var all []value
	add := func(field, parameter, name string) {
		all = append(all, value{field, parameter, func(context.Context) error {
			return fmt.Errorf("%s is empty, or cannot be read: the log of plimsoll-scalers has the reason", name)
		}})
	}
	if m := spec.HashiCorpVault; m != nil {
		for _, s := range m.Secrets {
			add("hashiCorpVault", s.Parameter, "the key "+s.Key+" of "+s.Path)
		}
	}
	if m := spec.AzureKeyVault; m != nil {
		for _, s := range m.Secrets {
			add("azureKeyVault", s.Parameter, "the secret "+s.Name)
		}
	}
	if m := spec.GCPSecretManager; m != nil {
		for _, s := range m.Secrets {
			add("gcpSecretManager", s.Parameter, "the secret "+s.ID)
		}
	}
	if m := spec.AwsSecretManager; m != nil {
		for _, s := range m.Secrets {
			add("awsSecretManager", s.Parameter, "the secret "+s.Name)
		}
	}
	return all
}

func (b *Builder) ofServicePrincipal(namespace string, p *kedav1alpha1.AzureServicePrincipal) []value {
	const field = "azureServicePrincipal."
	var all []value
	if s := p.ClientSecret; s != nil {
		all = append(all, b.ofSecret(field+"clientSecret", azure.ServicePrincipalClientSecretKey, namespace,
			s.ValueFrom.SecretKeyRef))
	}
	if s := p.ClientCertificate; s != nil {
		all = append(all, b.ofSecret(field+"clientCertificate", azure.ServicePrincipalClientCertificateKey, namespace,
			s.ValueFrom.SecretKeyRef))
	}
	if s := p.ClientCertificatePassword; s != nil {
		all = append(all, b.ofSecret(field+"clientCertificatePassword",
			azure.ServicePrincipalClientCertificatePasswordKey, namespace, s.ValueFrom.SecretKeyRef))
	}
	return all
}

func (b *Builder) ofSecret(field, parameter, namespace string, ref kedav1alpha1.SecretKeyRef) value {
	return value{field, parameter, func(ctx context.Context) error {
		object := &corev1.Secret{}
		if err := b.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, object); err != nil {
			return err
		}
		return whyEmpty("Secret", ref.Name, ref.Key, slices.Collect(maps.Keys(object.Data)))
	}}
}

func (b *Builder) whyConfigMap(ctx context.Context, namespace, name, key string) error {
	object := &corev1.ConfigMap{}
	if err := b.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return err
	}
	return whyEmpty("ConfigMap", name, key, slices.Collect(maps.Keys(object.Data)))
}

func whyEmpty(kind, name, key string, keys []string) error {
	if !slices.Contains(keys, key) {
		return fmt.Errorf("%s %q has no key %q", kind, name, key)
	}
	return fmt.Errorf("the key %q of %s %q is empty", key, kind, name)
}

// checkParameters returns an error if a value that it names is empty.
func (b *Builder) checkParameters(ctx context.Context, c *triggerAuthentication, parameters map[string]string) error {
	if c == nil {
		return nil
	}
	for _, v := range slices.Backward(b.values(c)) {
		if isEmpty(parameters[v.parameter]) {
			return fmt.Errorf("%s: %s: %w", v.field, v.parameter, v.why(ctx))
		}
	}
	return nil
}

// isEmpty reports whether the scaler would have no value: KEDA trims them.
func isEmpty(value string) bool { return strings.TrimSpace(value) == "" }

// fromEnv ends the keys of metadata whose values are the names of environment variables.
const fromEnv = "FromEnv"

// variables returns the keys of the metadata that name environment variables, in order.
func variables(metadata map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(metadata)), func(key string) bool {
		return len(key) <= len(fromEnv) || !strings.HasSuffix(key, fromEnv)
	})
}

// named returns the environment variables that the metadata names. The scaler reads no others.
func named(metadata, environment map[string]string) map[string]string {
	all := map[string]string{}
	for _, key := range variables(metadata) {
		if text, ok := environment[metadata[key]]; ok {
			all[metadata[key]] = text
		}
	}
	return all
}

// checkVariables returns an error if a variable that the metadata names is empty.
func checkVariables(metadata, environment map[string]string, template *corev1.PodTemplateSpec) error {
	for _, key := range variables(metadata) {
		if name := metadata[key]; isEmpty(environment[name]) {
			return fmt.Errorf("metadata: %s: %w", key, whyNoVariable(name, template))
		}
	}
	return nil
}

// whyNoVariable says why the first container of the target has no value of a variable.
func whyNoVariable(name string, template *corev1.PodTemplateSpec) error {
	switch {
	case name == "":
		return errors.New("it names no environment variable")
	case template == nil || len(template.Spec.Containers) == 0:
		return fmt.Errorf("the target has no container with the environment variable %s", name)
	}
	container := &template.Spec.Containers[0]
	for _, v := range slices.Backward(container.Env) {
		if v.Name != name || v.ValueFrom == nil {
			continue
		}
		switch from := v.ValueFrom; {
		case from.SecretKeyRef != nil:
			return fmt.Errorf("the environment variable %s is empty: Secret %q, key %q", name, from.SecretKeyRef.Name,
				from.SecretKeyRef.Key)
		case from.ConfigMapKeyRef != nil:
			return fmt.Errorf("the environment variable %s is empty: ConfigMap %q, key %q", name,
				from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key)
		}
		return fmt.Errorf("the environment variable %s is neither a value nor of a Secret or ConfigMap", name)
	}
	return fmt.Errorf("the container %s of the target has no environment variable %s, or an empty one",
		container.Name, name)
}
