package nodeagents

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
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
	// enrollGap is the time after a certificate in which an agent gets no other: an agent that always shows another one
	// must not keep the API server busy.
	enrollGap = 30 * time.Second
	// An agent that got maxFruitless certificates without responding with them waits for fruitlessGap.
	maxFruitless = 2
	fruitlessGap = 30 * time.Minute
	// maxEnrolling is the number of agents that get a certificate at a time, and enrollmentsPerSecond the rate: the API
	// server reviews a token for each.
	maxEnrolling         = 8
	enrollmentsPerSecond = 20
	enrollmentGap        = time.Second / enrollmentsPerSecond
	// reviewTimeout bounds an enrollment.
	reviewTimeout = 10 * time.Second
	maxTokenBytes = 16 << 10
)

// The reasons for not giving a certificate.
var (
	errTooSoon   = own("its certificate is not of its node, and it got one a short while ago")
	errFruitless = own("it got two certificates, and shows none that is valid: it gets another after half an hour")
	errBusy      = own("it has no certificate of its node, and others get theirs now")
	errOtherNode = own("the token that it shows is not of a pod on this node")
)

// tlsConfig verifies agents: their certificates must name their nodes.
func tlsConfig(credentials *Credentials) (*tls.Config, error) {
	roots := x509.NewCertPool()
	if credentials.Shown == nil || !roots.AppendCertsFromPEM(credentials.Authorities) {
		return nil, ErrNotReady
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots, NextProtos: []string{"http/1.1"},
		// The agent may name only one of several authorities to clients: the certificate is shown anyway.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return credentials.Shown, nil },
	}, nil
}

// enroll gives an agent a certificate, if it proves that it is on its node. A request without a certificate waits for
// an enrollment under way. Where many agents have none, as after an installation, most fail at once and try later: a
// waiting request holds a slot that other agents need. It ends with ctx.
func (c *Client) enroll(ctx context.Context, target kubelet.Target, found time.Time) error {
	c.mu.Lock()
	a, credentials, now := c.nodes[target.Node], c.credentials, time.Now()
	switch {
	case a != nil && a.enrolling != nil:
		done := a.enrolling
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case a != nil && a.ended.After(found):
		c.mu.Unlock()
		return nil
	case a == nil:
		c.mu.Unlock()
		return errTooSoon
	}
	if err := c.refusesLocked(a, now); err != nil {
		a.refused = now
		c.mu.Unlock()
		return err
	}
	c.nextEnrollment = c.nextEnrollment.Add(enrollmentGap)
	c.enrolling++
	done := make(chan struct{})
	a.began, a.enrolling = now, done
	c.mu.Unlock()
	err := c.exchange(ctx, target, credentials)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enrolling--
	a.ended, a.enrolling = time.Now(), nil
	if err == nil {
		a.fruitless++
		a.refused = time.Time{}
	}
	close(done)
	return err
}

// refusesLocked returns the reason why an agent gets no certificate now.
func (c *Client) refusesLocked(a *agent, now time.Time) error {
	if earliest := now.Add(-maxEnrolling * enrollmentGap); c.nextEnrollment.Before(earliest) {
		c.nextEnrollment = earliest
	}
	switch isSoon := !a.began.IsZero() && now.Sub(a.began) < a.enrollGap(); {
	case isSoon && a.fruitless >= maxFruitless:
		return errFruitless
	case isSoon:
		return errTooSoon
	case c.enrolling >= maxEnrolling || c.nextEnrollment.After(now):
		return errBusy
	}
	return nil
}

// mayConnect returns the reason to skip the handshake with an agent: it has just had no valid certificate, and would
// get none. From time to time it permits one, as the agent may have got a certificate elsewhere.
func (c *Client) mayConnect(target kubelet.Target, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.nodes[target.Node]
	if a == nil || a.address != target.Address || a.enrolling != nil || a.refused.IsZero() ||
		now.Sub(a.refused) >= enrollGap {
		return nil
	}
	return c.refusesLocked(a, now)
}

// enrollGap is the time in which the agent gets no other certificate.
func (a *agent) enrollGap() time.Duration {
	if a.fruitless >= maxFruitless {
		return fruitlessGap
	}
	return enrollGap
}

// exchange has an agent's token reviewed, and gives it a certificate.
func (c *Client) exchange(ctx context.Context, target kubelet.Target, credentials *Credentials) error {
	config, err := tlsConfig(credentials)
	if err != nil {
		return err
	}
	// The server receives no secret, and must prove its identity below.
	config.InsecureSkipVerify = true
	unverified := newHTTP(config, func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: requestTimeout}).DialContext(ctx, network, target.Address)
	})
	defer unverified.CloseIdleConnections()
	token, key, err := c.proof(ctx, unverified, target.Node)
	if err != nil {
		return &described{fmt.Errorf("asking for its token: %w", explain(err))}
	}
	node, err := c.review(ctx, token)
	switch {
	case err != nil:
		return &described{fmt.Errorf("reviewing its token: %w", err)}
	case node != target.Node:
		return errOtherNode
	}
	signed, err := c.config.Authority.Sign(time.Now(), target.Node, key)
	if err != nil {
		return &described{err}
	}
	if err := put(ctx, unverified, target.Node, signed); err != nil {
		return &described{fmt.Errorf("giving it a certificate: %w", explain(err))}
	}
	c.config.Log.Info("the agent of a node has a certificate of it", "node", target.Node)
	return nil
}

// review may take longer than an agent.
func (c *Client) review(ctx context.Context, token string) (node string, err error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	return c.config.Review(ctx, token)
}

// proof returns the agent's token, and the key that the connection proves.
func (c *Client) proof(ctx context.Context, unverified *http.Client, node string) (string, crypto.PublicKey, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := newRequest(ctx, node, http.MethodGet, selection.TokenPath, nil)
	if err != nil {
		return "", nil, err
	}
	response, err := unverified.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer drain(response)
	token, err := io.ReadAll(io.LimitReader(response.Body, maxTokenBytes))
	switch {
	case err != nil:
		return "", nil, err
	case response.StatusCode != http.StatusOK || len(token) == 0:
		return "", nil, own(fmt.Sprintf("it answered %d without one", response.StatusCode))
	}
	return string(token), response.TLS.PeerCertificates[0].PublicKey, nil
}

func put(ctx context.Context, unverified *http.Client, node string, certificate []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := newRequest(ctx, node, http.MethodPut, selection.CertificatePath, certificate)
	if err != nil {
		return err
	}
	response, err := unverified.Do(request)
	if err != nil {
		return err
	}
	defer drain(response)
	if response.StatusCode != http.StatusNoContent {
		return own(fmt.Sprintf("it answered %d", response.StatusCode))
	}
	return nil
}

func newRequest(ctx context.Context, node, method, path string, body []byte) (*http.Request, error) {
	where := url.URL{Scheme: "https", Host: node, Path: path}
	return http.NewRequestWithContext(ctx, method, where.String(), bytes.NewReader(body))
}
