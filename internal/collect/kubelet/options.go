package kubelet

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/transport"

	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
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
	// sent the token. It is not inherited from the REST configuration.
	InsecureTLS bool
	// CertificateAuthority is --kubelet-certificate-authority, a file; without it
	// the CA of the REST configuration counts. Files are read anew as they change.
	CertificateAuthority string
	// ClientCertificate and ClientKey are --kubelet-client-certificate and
	// --kubelet-client-key, files. With them no token is sent.
	ClientCertificate, ClientKey string
	// TokenFile is --kubelet-token-file; it goes before Tokens.
	TokenFile string
	// Tokens are what kubelets are sent, those of --kubelet-service-account; nil for none.
	Tokens Tokens
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

// Tokens authenticate Plimsoll to kubelets. A kubelet that is sent a token has it: it
// should be good for nothing but reading nodes/metrics.
type Tokens interface {
	// Token is one that is valid now.
	Token(ctx context.Context) (string, error)
	// Refused says that a kubelet did not know this one.
	Refused(token string)
}

// Authentication are the tokens that count; nil where a client certificate, or
// nothing, authenticates Plimsoll.
func (o *Options) Authentication() Tokens {
	switch {
	case o.ClientCertificate != "":
		return nil
	case o.TokenFile != "":
		return fileTokens{transport.NewCachedFileTokenSource(o.TokenFile)}
	}
	return o.Tokens
}

// fileTokens are from a file, read anew every minute.
type fileTokens struct {
	file transport.ResettableTokenSource
}

// Token implements Tokens.
func (f fileTokens) Token(context.Context) (string, error) {
	token, err := f.file.Token()
	if err != nil {
		return "", fmt.Errorf("--kubelet-token-file: %w", err)
	}
	return token.AccessToken, nil
}

// Refused implements Tokens: the file is read again at once.
func (f fileTokens) Refused(string) { f.file.ResetTokenOlderThan(time.Now()) }

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
		MaxResponseBytes:  page.DefaultMaxBytes,
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
		found = append(found,
			errors.New("--kubelet-certificate-authority verifies what --kubelet-insecure-tls does not look at: use one of them"))
	}
	if (o.ClientCertificate == "") != (o.ClientKey == "") {
		found = append(found, errors.New("--kubelet-client-certificate and --kubelet-client-key go together"))
	}
	if o.TokenFile != "" && o.ClientCertificate != "" {
		found = append(found, errors.New("--kubelet-token-file and --kubelet-client-certificate exclude each other"))
	}
	if o.RequestTimeout <= 0 {
		found = append(found, fmt.Errorf("--kubelet-request-timeout=%s is not positive", o.RequestTimeout))
	}
	if o.MaxResponseBytes <= 0 {
		found = append(found, fmt.Errorf("a largest answer of %d bytes is not positive", o.MaxResponseBytes))
	}
	return errors.Join(found...)
}
