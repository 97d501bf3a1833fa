package keda

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// The kinds of the objects that refer to a trigger's credentials: one in the ScaledObject's namespace, and a
// cluster-wide one, whose Secrets are in KEDA's namespace.
const (
	AuthenticationKind        = "TriggerAuthentication"
	ClusterAuthenticationKind = "ClusterTriggerAuthentication"
)

// Their resources in the API.
const (
	AuthenticationResource        = "triggerauthentications"
	ClusterAuthenticationResource = "clustertriggerauthentications"
)

// Reference names one of them.
type Reference struct{ Kind, Name string }

func (r Reference) String() string { return r.Kind + " " + r.Name }

// referenceOf reads a trigger's authenticationRef; without a name there is none.
func referenceOf(raw map[string]any) Reference {
	name, _ := raw["name"].(string)
	kind, _ := raw["kind"].(string)
	if kind == "" {
		kind = AuthenticationKind
	}
	return Reference{kind, name}
}

// References returns those of a ScaledObject's triggers.
func References(object *unstructured.Unstructured) []Reference {
	triggers, _, _ := unstructured.NestedSlice(object.Object, "spec", "triggers")
	var references []Reference
	for _, each := range triggers {
		t, _ := each.(map[string]any)
		raw, _ := t["authenticationRef"].(map[string]any)
		if reference := referenceOf(raw); reference.Name != "" && !slices.Contains(references, reference) {
			references = append(references, reference)
		}
	}
	return references
}

// parameters refer to the credentials of a trigger, by KEDA's name for each.
type parameters map[string]plimsollv1alpha1.SecretKeySelector

// parameters reads the TriggerAuthentication of a trigger. It is not whole if a parameter is not in a Secret, which is
// then lost.
func (r *reader) parameters() (found parameters, isWhole bool) {
	at := r.at + ".authenticationRef"
	to := referenceOf(r.trigger.AuthenticationRef)
	object := r.Authentications[to]
	switch {
	case to.Name == "":
		return nil, true
	case object == nil && r.IsFromFiles:
		r.lack(at, "the %s is not in the files: add its manifest, or migrate from the cluster", to)
		r.instead = fmt.Sprintf("the %s is not in the files", to)
		return nil, false
	case object == nil:
		r.Lose(at, "the %s cannot be read: it is not there, or you may not get it", to)
		return nil, false
	}
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	isWhole = true
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		if field != "secretTargetRef" {
			isWhole = false
			r.lack(at, "%s: spec.%s: Plimsoll reads credentials only from Secrets", to, field)
		}
	}
	references, _, _ := unstructured.NestedSlice(spec, "secretTargetRef")
	found = parameters{}
	for _, each := range references {
		reference, _ := each.(map[string]any)
		parameter, _ := reference["parameter"].(string)
		secret, _ := reference["name"].(string)
		key, _ := reference["key"].(string)
		found[parameter] = plimsollv1alpha1.SecretKeySelector{Name: secret, Key: key}
	}
	return found, isWhole
}

// first returns the first existing parameter.
func (p parameters) first(names ...string) (selector plimsollv1alpha1.SecretKeySelector, ok bool) {
	for _, name := range names {
		if selector, ok = p[name]; ok {
			return selector, true
		}
	}
	return selector, false
}

// take returns the first existing parameter and marks it as used.
func (r *reader) take(p parameters, names ...string) (selector plimsollv1alpha1.SecretKeySelector, ok bool) {
	if selector, ok = p.first(names...); !ok {
		r.Lose(r.at+".authenticationRef", "it has no parameter %s in a Secret", names[0])
	}
	return selector, ok
}

// credentials reads how a prometheus trigger authenticates.
func (r *reader) credentials(
	to *plimsollv1alpha1.PrometheusMetricSource, server *url.URL,
) {
	p, isWhole := r.parameters()
	modes := r.trigger.Metadata["authModes"]
	if modes == "" {
		modes = r.trigger.Metadata["authMode"]
	}
	if _, isSecret := p.first("authModes", "authMode"); modes == "" && isSecret {
		r.lack(r.at+".authenticationRef", "authModes is in a Secret: write it into the trigger's metadata")
		return
	}
	if modes == "" || !isWhole {
		return // Without a mode KEDA uses no credentials.
	}
	for mode := range strings.SplitSeq(modes, ",") {
		r.mode(strings.TrimSpace(mode), p, to)
	}
	ca, hasCA := p.first("ca")
	if hasCA {
		r.trust(tlsOf(&to.TLSConfig), ca)
	}
	if to.TLSConfig != nil && server.Scheme != "https" {
		r.Note(r.at+".authenticationRef", "its certificates have no effect: the server is requested over http")
		to.TLSConfig = nil
	}
	r.noteSecrets(to, server)
}

// mode converts one of the ways to authenticate.
func (r *reader) mode(mode string, p parameters, to *plimsollv1alpha1.PrometheusMetricSource) {
	switch mode {
	case "":
	case "bearer":
		if token, ok := r.take(p, "bearerToken", "token"); ok {
			to.Authorization = &plimsollv1alpha1.Authorization{Credentials: token}
		}
	case "basic":
		user, hasUser := r.take(p, "username")
		password, hasPassword := r.take(p, "password")
		if hasUser && hasPassword {
			to.BasicAuth = &plimsollv1alpha1.BasicAuth{Username: user, Password: password}
		}
	case "tls":
		cert, hasCert := r.take(p, "cert")
		key, hasKey := r.take(p, "key")
		if hasCert && hasKey {
			config := tlsOf(&to.TLSConfig)
			config.Cert, config.Key = &plimsollv1alpha1.SecretSource{Secret: cert}, &plimsollv1alpha1.SecretSource{Secret: key}
		}
	default:
		r.lack(r.at+".metadata.authModes", "%q: a metric of type Prometheus has bearer, basic and tls", mode)
	}
}

// tlsOf returns the config, which it creates if needed.
func tlsOf(config **plimsollv1alpha1.TLSConfig) *plimsollv1alpha1.TLSConfig {
	if *config == nil {
		*config = &plimsollv1alpha1.TLSConfig{}
	}
	return *config
}

// trust converts the authorities, unless any certificate is accepted.
func (r *reader) trust(config *plimsollv1alpha1.TLSConfig, ca plimsollv1alpha1.SecretKeySelector) {
	if config.InsecureSkipVerify {
		r.Note(r.at+".authenticationRef", "the CA in Secret %s is without effect beside unsafeSsl", ca.Name)
		return
	}
	config.CA = &plimsollv1alpha1.SecretSource{Secret: ca}
}

// scalerTLS reads how the certificate of a scaler is verified; nil if the connection is not encrypted.
func (r *reader) scalerTLS(address string) *plimsollv1alpha1.TLSConfig {
	p, _ := r.parameters()
	ca, hasCA := p.first("caCert")
	_, hasCert := p.first("tlsClientCert")
	if !r.isSet("enableTLS", false) && !hasCA && !hasCert {
		return nil
	}
	config := &plimsollv1alpha1.TLSConfig{InsecureSkipVerify: r.isSet("unsafeSsl", false)}
	if hasCA {
		r.trust(config, ca)
	}
	if hasCert {
		cert, _ := r.take(p, "tlsClientCert")
		if key, ok := r.take(p, "tlsClientKey"); ok {
			config.Cert, config.Key = &plimsollv1alpha1.SecretSource{Secret: cert}, &plimsollv1alpha1.SecretSource{Secret: key}
		}
	}
	r.noteSecretsOf(secretsOfTLS(config), address, config)
	return config
}

func secretsOfTLS(config *plimsollv1alpha1.TLSConfig) []string {
	var names []string
	if config == nil {
		return nil
	}
	for _, source := range []*plimsollv1alpha1.SecretSource{config.CA, config.Cert, config.Key} {
		if source != nil {
			names = append(names, source.Secret.Name)
		}
	}
	return names
}

func (r *reader) noteSecrets(p *plimsollv1alpha1.PrometheusMetricSource, server *url.URL) {
	names := secretsOfTLS(p.TLSConfig)
	if p.Authorization != nil {
		names = append(names, p.Authorization.Credentials.Name)
	}
	if p.BasicAuth != nil {
		names = append(names, p.BasicAuth.Username.Name, p.BasicAuth.Password.Name)
	}
	config := p.TLSConfig
	if config == nil && server.Scheme == "https" {
		config = &plimsollv1alpha1.TLSConfig{}
	}
	r.noteSecretsOf(names, hostPort(server), config)
}

// noteSecretsOf notes the annotations that Plimsoll requires on the Secrets. The config is nil without TLS.
func (r *reader) noteSecretsOf(names []string, address string, config *plimsollv1alpha1.TLSConfig) {
	to := referenceOf(r.trigger.AuthenticationRef)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if to.Kind == ClusterAuthenticationKind {
			r.Note(r.at+".authenticationRef", "%s: KEDA reads the Secret %s in its own namespace, Plimsoll in the "+
				"object's: copy it there", to, name)
		}
		r.Note(r.at+".authenticationRef", "Plimsoll's controller needs --metric-secrets and the permission to get the "+
			"Secret %s, and that Secret the annotation %s: %s", name, secretHosts, annotationFor(name, address, config))
	}
}

// annotationFor returns the annotation that the Secret needs for a server at HOST:PORT.
func annotationFor(secret, address string, config *plimsollv1alpha1.TLSConfig) string {
	tls := sources.TLSOf(config)
	if host, _, err := net.SplitHostPort(address); err == nil && config != nil && tls.IsProof(secret, host) {
		return address
	}
	return "http://" + address
}
