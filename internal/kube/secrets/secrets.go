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
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// HostsAnnotation is the annotation of a Secret with the servers that may get it, separated by
// commas: HOST:PORT as the WorkloadAutoscaler has it, or pods for the pods of PodEndpoint metrics.
// With http:// before it, the server also gets the Secret where no authority of the system or of the
// Secret verifies the server's identity: over HTTP, and with insecureSkipVerify.
const HostsAnnotation = "plimsoll.dev/metric-hosts"

// Pods is the host of a Peer that is the pods of PodEndpoint metrics.
const Pods = "pods"

const (
	// timeout bounds one request to the API server.
	timeout = 5 * time.Second
	// maxAge is how long a Secret is kept, and maxFailureAge how long the failure to read it is.
	maxAge        = time.Minute
	maxFailureAge = 10 * time.Second
	// tidyAbove is the number of Secrets above which old ones are removed.
	tidyAbove = 64
	plaintext = "http://"
)

// ErrRefused is the reason of errors that another value of the object or the annotation would avoid.
var ErrRefused = errors.New("refused")

// Selector is one key of a Secret.
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
	client    corev1client.SecretsGetter
	isAllowed bool

	// mu guards the following.
	mu    sync.Mutex
	known map[key]*entry
}

type key struct{ namespace, name string }

// entry is a Secret. ready is closed when the rest is set.
type entry struct {
	ready chan struct{}
	read  time.Time
	// hosts are those of the annotation. Without any, data is nil.
	hosts []string
	data  map[string][]byte
	err   error
}

// New makes a Reader. If it is not allowed to, it reads nothing.
func New(client corev1client.SecretsGetter, isAllowed bool) (*Reader, error) {
	if client == nil {
		return nil, errors.New("secrets: a client is needed")
	}
	return &Reader{client: client, isAllowed: isAllowed, known: map[key]*entry{}}, nil
}

// Value is a copy of the value of the key, if the Secret's annotation permits that the peer gets it.
// Errors have nothing of the Secret but its name.
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
	e, err := r.entry(ctx, key{namespace, s.Name})
	if err != nil {
		return nil, err
	}
	if err := permits(e.hosts, to); err != nil {
		return nil, err
	}
	value, has := e.data[s.Key]
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

// hostsOf are the hosts of an annotation.
func hostsOf(annotation string) []string {
	var hosts []string
	for host := range strings.SplitSeq(annotation, ",") {
		if host = strings.ToLower(strings.TrimSpace(host)); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// entry is the Secret, from the API server unless it was read before. It is read once for all that
// wait for it.
func (r *Reader) entry(ctx context.Context, k key) (*entry, error) {
	r.mu.Lock()
	e, known := r.known[k]
	if !known || e.isOld(time.Now()) {
		r.tidy()
		e = &entry{ready: make(chan struct{})}
		r.known[k] = e
		go r.read(k, e)
	}
	r.mu.Unlock()
	select {
	case <-e.ready:
		return e, e.err
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the API server: %w", ctx.Err())
	}
}

// isOld reports whether the entry must be read again. One that is being read need not.
func (e *entry) isOld(now time.Time) bool {
	select {
	case <-e.ready:
	default:
		return false
	}
	most := maxAge
	if e.err != nil || len(e.hosts) == 0 {
		// Someone may be about to repair it.
		most = maxFailureAge
	}
	return now.Sub(e.read) >= most
}

// tidy removes old entries if there are many. It needs the lock.
func (r *Reader) tidy() {
	if len(r.known) < tidyAbove {
		return
	}
	now := time.Now()
	for k, e := range r.known {
		if e.isOld(now) {
			delete(r.known, k)
		}
	}
}

// read is not bound to the context of the first that waits: others wait, too.
func (r *Reader) read(k key, e *entry) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	defer close(e.ready)
	secret, err := r.client.Secrets(k.namespace).Get(ctx, k.name, metav1.GetOptions{})
	e.read = time.Now()
	switch {
	case apierrors.IsForbidden(err):
		e.err = fmt.Errorf("the controller may not read it (kubectl apply -k config/sources/secrets): %w", err)
	case err != nil:
		e.err = err
	default:
		e.take(secret)
	}
}

// take keeps the data of a Secret that may be used at all.
func (e *entry) take(secret *corev1.Secret) {
	if e.hosts = hostsOf(secret.Annotations[HostsAnnotation]); len(e.hosts) > 0 {
		e.data = secret.Data
	}
}
