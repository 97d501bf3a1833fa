// Package secrets reads credentials for servers of metrics from Secrets.
//
// Authors of WorkloadAutoscalers may name a Secret that they may not read, and choose the server. So
// a Secret is used only for servers that its own annotation names.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/kube/getcache"
)

// HostsAnnotation is the annotation of a Secret with the servers that may get it, separated by commas: HOST:PORT as the
// WorkloadAutoscaler has it, or pods for the pods of PodEndpoint metrics. With http:// before it, the server also gets
// the Secret if no authority of the system or of the Secret verifies the server's identity: over HTTP, and with
// insecureSkipVerify.
const HostsAnnotation = "plimsoll.dev/metric-hosts"

// Pods is the host of a Peer that stands for the pods of PodEndpoint metrics.
const Pods = "pods"

const (
	// age is the age at which a Secret is read again, failureAge that of an unusable one: an administrator may be about to
	// repair it.
	age, failureAge = 40 * time.Second, 10 * time.Second
	plaintext       = "http://"
)

// ErrRefused is wrapped by errors that another value of the object or the annotation would avoid.
var ErrRefused = errors.New("refused")

// errNoHosts is the reason why a Secret without hosts in its annotation is not kept.
var errNoHosts = fmt.Errorf("its annotation %s names no host: %w", HostsAnnotation, getcache.ErrUnusable)

// Selector names one key of a Secret.
type Selector struct{ Name, Key string }

// Peer gets the value.
type Peer struct {
	// Host is HOST:PORT, or Pods.
	Host string
	// IsVerified reports that the peer must prove its identity before it gets the value: that TLS is
	// used, and the certificate is checked by an authority of the system or of the same Secret.
	IsVerified bool
}

// Reader reads Secrets. It may be used by many goroutines.
type Reader struct {
	isAllowed bool
	secrets   *getcache.Cache[*secret]
}

// secret is a Secret that names hosts.
type secret struct {
	hosts []string
	data  map[string][]byte
}

// bytes is the memory that the Secret needs.
func (s *secret) bytes() int {
	bytes := 0
	for name, value := range s.data {
		bytes += len(name) + len(value)
	}
	for _, host := range s.hosts {
		bytes += len(host)
	}
	return bytes
}

// New makes a Reader. If it is not allowed to, it reads nothing.
func New(client corev1client.SecretsGetter, isAllowed bool) (*Reader, error) {
	if client == nil {
		return nil, errors.New("secrets: a client is needed")
	}
	secrets, err := getcache.New(getcache.Config[*secret]{
		Get:   func(ctx context.Context, key getcache.Key) (*secret, error) { return read(ctx, client, key) },
		Bytes: (*secret).bytes, Age: age, FailureAge: failureAge,
	})
	if err != nil {
		return nil, err
	}
	return &Reader{isAllowed: isAllowed, secrets: secrets}, nil
}

// Value returns a copy of the value of the key, if the Secret's annotation permits the peer. Errors contain only the
// Secret's name.
func (r *Reader) Value(ctx context.Context, namespace string, s Selector, to Peer) ([]byte, error) {
	value, err := r.value(ctx, namespace, s, to)
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", namespace, s.Name, err)
	}
	return value, nil
}

func (r *Reader) value(ctx context.Context, namespace string, s Selector, to Peer) ([]byte, error) {
	switch {
	case !r.isAllowed:
		return nil, fmt.Errorf("%w: Secrets are not read (--metric-secrets)", ErrRefused)
	case len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(s.Name)) > 0:
		return nil, fmt.Errorf("%w: not the name of a Secret", ErrRefused)
	}
	found, err := r.secrets.Get(ctx, getcache.Key{Namespace: namespace, Name: s.Name})
	switch {
	case errors.Is(err, errNoHosts):
		return nil, permits(nil, to)
	case err != nil:
		return nil, err
	}
	if err := permits(found.hosts, to); err != nil {
		return nil, err
	}
	value, has := found.data[s.Key]
	if !has {
		return nil, fmt.Errorf("it has no key %q", s.Key)
	}
	return slices.Clone(value), nil
}

// permits reports why the hosts of the annotation do not permit the peer; nil if they do.
func permits(hosts []string, to Peer) error {
	host := strings.ToLower(to.Host)
	isNamed := slices.Contains(hosts, host)
	isNamedForPlaintext := slices.Contains(hosts, plaintext+host)
	switch {
	case host == "" || strings.ContainsAny(host, "/, ") || !isNamed && !isNamedForPlaintext:
		return fmt.Errorf("%w: its annotation %s does not name %s", ErrRefused, HostsAnnotation, to.Host)
	case !to.IsVerified && !isNamedForPlaintext:
		return fmt.Errorf("%w: nothing verifies the identity of %s by an authority of the system or of this Secret, "+
			"so the annotation %s must have %s%s", ErrRefused, to.Host, HostsAnnotation, plaintext, to.Host)
	}
	return nil
}

func hostsOf(annotation string) []string {
	var hosts []string
	for host := range strings.SplitSeq(annotation, ",") {
		if host = strings.ToLower(strings.TrimSpace(host)); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// read reads the Secret. A Secret without hosts is an error, so that it is not kept.
func read(ctx context.Context, client corev1client.SecretsGetter, key getcache.Key) (*secret, error) {
	object, err := client.Secrets(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("the controller may not read it (kubectl apply -k config/sources/secrets): %w", err)
	case err != nil:
		return nil, err
	}
	hosts := hostsOf(object.Annotations[HostsAnnotation])
	if len(hosts) == 0 {
		return nil, errNoHosts
	}
	return &secret{hosts: hosts, data: object.Data}, nil
}
