package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	dialTimeout = 3 * time.Second
	keepAlive   = 30 * time.Second
	// idleTimeout ends the connections to nodes that are no longer scraped; it is longer than any pause between two
	// scrapes.
	idleTimeout = 90 * time.Second

	// Each kubelet has a connection, and each connection keeps both buffers. A request with its token fits into the one,
	// the head of a response into the other; longer reads bypass it.
	writeBufferBytes = 2 << 10
	readBufferBytes  = 1 << 10

	maxHeaderBytes = 64 << 10
	// drainBytes: read this much of an unwanted body so that the connection is used again.
	drainBytes = 4 << 10

	bearer = "Bearer "
)

// ErrTooLarge is wrapped by the error of a response beyond Options.MaxResponseBytes.
var ErrTooLarge = errors.New("the answer is too large")

// StatusError is a kubelet's answer other than 200.
type StatusError struct{ Code int }

// Error implements error.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("it answered %d %s", e.Code, http.StatusText(e.Code))
	switch e.Code {
	case http.StatusUnauthorized:
		return text + ": the kubelet does not accept the credentials (--kubelet-service-account)"
	case http.StatusForbidden:
		return text + ": the credentials need the permission to get nodes/metrics (--kubelet-service-account)"
	}
	return text
}

// Client requests metrics from kubelets. It is safe for concurrent use.
type Client struct {
	http    *http.Client
	options Options
	// tokens is nil if a client certificate, or nothing, authenticates Plimsoll.
	tokens Tokens
}

// NewClient takes the connection settings and, by default, the CA from the REST configuration; never the credentials of
// Plimsoll for the API server. It logs changes of the CA.
func NewClient(config *rest.Config, options Options, log logr.Logger) (*Client, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	transport, err := newTransport(kubeletConfig(config, &options), &options, log)
	if err != nil {
		return nil, fmt.Errorf("client of kubelets: %w", err)
	}
	return &Client{options: options, tokens: options.Authentication(), http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// kubeletConfig returns the configuration without the parts that concern the API server alone: Plimsoll's credentials
// for it, and whether it is verified.
func kubeletConfig(config *rest.Config, options *Options) *rest.Config {
	c := rest.AnonymousClientConfig(config)
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	t := &c.TLSClientConfig
	t.ServerName = ""
	t.NextProtos = []string{"http/1.1"}
	t.Insecure = options.InsecureTLS
	switch {
	case options.InsecureTLS:
		t.CAFile, t.CAData = "", nil
	case options.CertificateAuthority != "":
		t.CAFile, t.CAData = options.CertificateAuthority, nil
	}
	t.CertFile, t.KeyFile = options.ClientCertificate, options.ClientKey
	return c
}

// newTransport makes the transport for verified connections to kubelets.
func newTransport(c *rest.Config, options *Options, log logr.Logger) (http.RoundTripper, error) {
	var verified http.RoundTripper
	var err error
	if c.CAFile != "" && len(c.CAData) == 0 && !c.Insecure {
		build := func(ca []byte) (*http.Transport, error) {
			trusting := rest.CopyConfig(c)
			trusting.CAFile, trusting.CAData = "", ca
			return newConnections(trusting, options)
		}
		verified, err = newAuthority(c.CAFile, build, log)
	} else {
		verified, err = newConnections(c, options)
	}
	if err != nil {
		return nil, err
	}
	return rest.HTTPWrappersForConfig(c, verified)
}

func newConnections(c *rest.Config, options *Options) (*http.Transport, error) {
	tlsConfig, err := rest.TLSConfigFor(c)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	transport := &http.Transport{
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    options.RequestTimeout,
		DialContext:            dialer.DialContext,
		Proxy:                  http.ProxyFromEnvironment,
		DisableCompression:     true, // read decompresses the body as far as needed
		MaxIdleConnsPerHost:    1,
		WriteBufferSize:        writeBufferBytes,
		ReadBufferSize:         readBufferBytes,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	if c.Dial != nil {
		transport.DialContext = c.Dial
	}
	if c.Proxy != nil {
		transport.Proxy = c.Proxy
	}
	return transport, nil
}

// Get appends the kubelet's response to dst. It ends with ctx, and after the request timeout. Errors wrap *StatusError,
// ErrTooLarge, context.DeadlineExceeded or the error of the connection.
func (c *Client) Get(ctx context.Context, target Target, dst []byte) ([]byte, error) {
	answer, _, err := c.fetch(ctx, target, 0, func() []byte { return dst })
	if err != nil {
		return dst, err
	}
	return answer, nil
}

// Fetch implements Fetcher. A kubelet serves all containers of its node: it does not select.
func (c *Client) Fetch(
	ctx context.Context, target Target, _ *selection.Prepared, take func() []byte,
) (response []byte, cpu time.Duration, err error) {
	return c.fetch(ctx, target, rate.Families(), take)
}

// fetch requests only these families: the response may end after the last of them. The CPU is that of deciphering and
// decompressing. The request, and the handshake of a new connection, do not count.
func (c *Client) fetch(
	ctx context.Context, target Target, families text.Families, take func() []byte,
) (answer []byte, cpu time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.RequestTimeout)
	defer cancel()
	response, err := c.ask(ctx, target.Address)
	if err == nil {
		defer response.Body.Close()
		buffer := take()
		cpu = timing.CPUOf(func() { answer, err = c.answer(ctx, response, families, buffer) })
		if err != nil {
			answer = buffer
		}
	}
	if err != nil {
		return answer, cpu, fmt.Errorf("kubelet of node %s at %s: %w", target.Node, target.Address, c.explain(err))
	}
	return answer, cpu, nil
}

func (c *Client) ask(ctx context.Context, address string) (*http.Response, error) {
	where := url.URL{Scheme: "https", Host: address, Path: c.options.path()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/plain")
	if !c.options.DisableCompression {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	if c.tokens != nil {
		token, err := c.tokens.Token(ctx)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", bearer+token)
	}
	return c.http.Do(request)
}

func (c *Client) answer(
	ctx context.Context, response *http.Response, families text.Families, dst []byte,
) ([]byte, error) {
	if response.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, response.Body, drainBytes) // whatever this returns, the status is the error
		if response.StatusCode == http.StatusUnauthorized && c.tokens != nil {
			c.tokens.Refused(strings.TrimPrefix(response.Request.Header.Get("Authorization"), bearer))
		}
		return nil, &StatusError{Code: response.StatusCode}
	}
	answer, err := c.read(dst, response, families)
	if err == nil {
		// A server that detects the deadline before the connection is closed ends its response regularly, at any byte.
		err = ctx.Err()
	}
	return answer, err
}

// explain leaves out the URL, which is in the error already, and adds the setting that may help.
func (c *Client) explain(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s: %w", c.options.RequestTimeout, context.DeadlineExceeded)
	case isUntrusted(err):
		return fmt.Errorf(
			"%w (--kubelet-certificate-authority names the CA of the kubelets, --kubelet-preferred-address-types chooses "+
				"the address that its certificate must have)", err)
	}
	return err
}
