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

// Options are the flags about kubelets. Names and meaning are metrics-server's, so are the defaults, except two:
// UseNodeStatusPort is set, as in the manifests that metrics-server ships, and RequestTimeout is shorter.
type Options struct {
	// PreferredAddressTypes is --kubelet-preferred-address-types: the types of
	// addresses in a node's status, best first.
	PreferredAddressTypes []string
	// UseNodeStatusPort is --kubelet-use-node-status-port: the port in the node's status has precedence over Port.
	UseNodeStatusPort bool
	// Port is --kubelet-port.
	Port int
	// InsecureTLS is --kubelet-insecure-tls: any server is trusted, and receives the token. It is not inherited from the
	// REST configuration.
	InsecureTLS bool
	// CertificateAuthority is --kubelet-certificate-authority, a file; without it the CA of the REST configuration is
	// used. Files are read again as they change.
	CertificateAuthority string
	// ClientCertificate and ClientKey are --kubelet-client-certificate and
	// --kubelet-client-key, files. With them no token is sent.
	ClientCertificate, ClientKey string
	// TokenFile is --kubelet-token-file; it has precedence over Tokens.
	TokenFile string
	// Tokens returns the tokens for kubelets, those of --kubelet-service-account; nil for none.
	Tokens Tokens
	// RequestTimeout is --kubelet-request-timeout, the deadline of one scrape.
	RequestTimeout time.Duration
	// DisableCompression requests uncompressed responses: less CPU on both sides for about ten times the bytes.
	DisableCompression bool
	// MaxResponseBytes bounds an answer, uncompressed.
	MaxResponseBytes int
	// Path is the path to request; empty for /metrics/resource. It is not a flag.
	Path string
}

// Tokens authenticate Plimsoll to kubelets. A kubelet that receives a token can use it: it should permit nothing but
// reading nodes/metrics.
type Tokens interface {
	// Token returns a valid token.
	Token(ctx context.Context) (string, error)
	// Refused reports that a kubelet rejected this token.
	Refused(token string)
}

// Authentication returns the tokens to use; nil if a client certificate, or nothing, authenticates Plimsoll.
func (o *Options) Authentication() Tokens {
	switch {
	case o.ClientCertificate != "":
		return nil
	case o.TokenFile != "":
		return fileTokens{transport.NewCachedFileTokenSource(o.TokenFile)}
	}
	return o.Tokens
}

// fileTokens reads the token from a file, again every minute.
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

// Validate returns an error for options that cannot work.
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
			errors.New("--kubelet-certificate-authority has no effect with --kubelet-insecure-tls: use one of them"))
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
