package kubelet

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
)

// Options are the flags about kubelets. Names and meaning are metrics-server's,
// so are the defaults, but for two: UseNodeStatusPort is set, as in the manifests
// that metrics-server ships, and RequestTimeout is shorter.
type Options struct {
	// PreferredAddressTypes is --kubelet-preferred-address-types: the types of
	// addresses in a node's status, best first.
	PreferredAddressTypes []string
	// UseNodeStatusPort is --kubelet-use-node-status-port: the port that the node's
	// status names goes before Port.
	UseNodeStatusPort bool
	// Port is --kubelet-port.
	Port int
	// InsecureTLS is --kubelet-insecure-tls: whoever answers is believed, and is
	// sent the token.
	InsecureTLS bool
	// CertificateAuthority is --kubelet-certificate-authority, a file; without it
	// the CA of the REST configuration counts. Files are read anew as they change.
	CertificateAuthority string
	// ClientCertificate and ClientKey are --kubelet-client-certificate and
	// --kubelet-client-key, files.
	ClientCertificate, ClientKey string
	// RequestTimeout is --kubelet-request-timeout, the deadline of one scrape.
	RequestTimeout time.Duration
	// DisableCompression asks for answers as they are: less CPU on both sides for
	// some ten times the bytes on the way.
	DisableCompression bool
	// MaxResponseBytes bounds an answer, uncompressed.
	MaxResponseBytes int
	// Path is what is asked for; empty for /metrics/resource. It is no flag.
	Path string
}

func (o *Options) path() string {
	if o.Path == "" {
		return "/metrics/resource"
	}
	return o.Path
}

// DefaultOptions are the flags' defaults.
func DefaultOptions() Options {
	return Options{
		PreferredAddressTypes: []string{
			string(corev1.NodeHostName), string(corev1.NodeInternalDNS), string(corev1.NodeInternalIP),
			string(corev1.NodeExternalDNS), string(corev1.NodeExternalIP),
		},
		UseNodeStatusPort: true,
		Port:              10250,
		RequestTimeout:    5 * time.Second,
		MaxResponseBytes:  text.DefaultMaxBytes,
	}
}

// Validate finds what cannot be meant.
func (o *Options) Validate() error {
	var found []error
	if len(o.PreferredAddressTypes) == 0 {
		found = append(found, errors.New("--kubelet-preferred-address-types names none"))
	}
	if o.Port < 1 || o.Port > 65535 {
		found = append(found, fmt.Errorf("--kubelet-port=%d is no port", o.Port))
	}
	if o.InsecureTLS && o.CertificateAuthority != "" {
		found = append(found, errors.New("--kubelet-certificate-authority verifies what --kubelet-insecure-tls does not look at: use one of them"))
	}
	if (o.ClientCertificate == "") != (o.ClientKey == "") {
		found = append(found, errors.New("--kubelet-client-certificate and --kubelet-client-key go together"))
	}
	if o.RequestTimeout <= 0 {
		found = append(found, fmt.Errorf("--kubelet-request-timeout=%s is not positive", o.RequestTimeout))
	}
	if o.MaxResponseBytes <= 0 {
		found = append(found, fmt.Errorf("a largest answer of %d bytes is not positive", o.MaxResponseBytes))
	}
	return errors.Join(found...)
}
