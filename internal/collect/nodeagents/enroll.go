package nodeagents

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

const (
	// enrollGap is how long an agent gets no other certificate after one: one that shows another
	// each time must not keep the API server busy.
	enrollGap = 30 * time.Second
	// enrollTimeout is how long that may take, the API server's review included.
	enrollTimeout = 10 * time.Second
	maxTokenBytes = 16 << 10
)

// The reasons for not giving a certificate.
var (
	errTooSoon   = errors.New("its certificate is not of its node, and it got one a short while ago")
	errOtherNode = errors.New("the token that it shows is not of a pod on this node")
)

// tlsConfig verifies agents: their certificates must name their nodes.
func tlsConfig(credentials *Credentials) (*tls.Config, error) {
	roots := x509.NewCertPool()
	if credentials.Shown == nil || !roots.AppendCertsFromPEM(credentials.Authorities) {
		return nil, ErrNotReady
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots, NextProtos: []string{"http/1.1"},
		// The authority that it names to clients may be one of several: the certificate is shown anyway.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return credentials.Shown, nil },
	}, nil
}

// isUntrusted tells that an agent has no certificate of its node, or none that is valid any more.
func isUntrusted(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted)
}

// enroll gives an agent a certificate, if it proves that it is on its node. A request that finds none while another has
// one made waits for that.
func (c *Client) enroll(ctx context.Context, target kubelet.Target, found time.Time) error {
	c.mu.Lock()
	a, credentials, now := c.nodes[target.Node], c.credentials, time.Now()
	switch {
	case a != nil && a.enrolling != nil:
		done := a.enrolling
		c.mu.Unlock()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case a != nil && a.ended.After(found):
		c.mu.Unlock()
		return nil
	case a == nil || !a.began.IsZero() && now.Sub(a.began) < enrollGap:
		c.mu.Unlock()
		return errTooSoon
	}
	done := make(chan struct{})
	a.began, a.enrolling = now, done
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		a.ended, a.enrolling = time.Now(), nil
		c.mu.Unlock()
		close(done)
	}()
	return c.exchange(ctx, target, credentials)
}

// exchange has an agent's token reviewed, and gives it a certificate for that.
func (c *Client) exchange(ctx context.Context, target kubelet.Target, credentials *Credentials) error {
	// The API server may take longer than an agent.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enrollTimeout)
	defer cancel()
	config, err := tlsConfig(credentials)
	if err != nil {
		return err
	}
	// Whoever answers sees no secret, and has to prove below who he is.
	config.InsecureSkipVerify = true
	own := newHTTP(config, func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: enrollTimeout}).DialContext(ctx, network, target.Address)
	})
	defer own.CloseIdleConnections()
	token, key, err := c.proof(ctx, own, target.Node)
	if err != nil {
		return fmt.Errorf("asking for its token: %w", err)
	}
	node, err := c.config.Review(ctx, token)
	switch {
	case err != nil:
		return fmt.Errorf("reviewing its token: %w", err)
	case node != target.Node:
		return errOtherNode
	}
	signed, err := c.config.Authority.Sign(time.Now(), target.Node, key)
	if err != nil {
		return err
	}
	if err := put(ctx, own, target.Node, signed); err != nil {
		return fmt.Errorf("giving it a certificate: %w", err)
	}
	c.config.Log.Info("the agent of a node has a certificate of it", "node", target.Node)
	return nil
}

// proof is the agent's token, and the key that it has proved to have by that connection.
func (c *Client) proof(ctx context.Context, own *http.Client, node string) (string, crypto.PublicKey, error) {
	request, err := newRequest(ctx, node, http.MethodGet, selection.TokenPath, nil)
	if err != nil {
		return "", nil, err
	}
	response, err := own.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer drain(response)
	token, err := io.ReadAll(io.LimitReader(response.Body, maxTokenBytes))
	switch {
	case err != nil:
		return "", nil, err
	case response.StatusCode != http.StatusOK || len(token) == 0:
		return "", nil, fmt.Errorf("it answered %d without one", response.StatusCode)
	}
	return string(token), response.TLS.PeerCertificates[0].PublicKey, nil
}

func put(ctx context.Context, own *http.Client, node string, certificate []byte) error {
	request, err := newRequest(ctx, node, http.MethodPut, selection.CertificatePath, certificate)
	if err != nil {
		return err
	}
	response, err := own.Do(request)
	if err != nil {
		return err
	}
	defer drain(response)
	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("it answered %d", response.StatusCode)
	}
	return nil
}

func newRequest(ctx context.Context, node, method, path string, body []byte) (*http.Request, error) {
	where := url.URL{Scheme: "https", Host: node, Path: path}
	return http.NewRequestWithContext(ctx, method, where.String(), bytes.NewReader(body))
}
