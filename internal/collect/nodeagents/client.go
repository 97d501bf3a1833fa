package nodeagents

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/klauspost/compress/gzip"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// requestTimeout bounds one request, connecting included. An agent responds within milliseconds; its node's kubelet
	// replaces it soon.
	requestTimeout = time.Second
	idle           = 90 * time.Second
)

// Credentials are the certificate of a client, and its authorities.
type Credentials struct {
	// Shown is the client's certificate, Authorities the certificates that verify agents, in PEM.
	Shown       *tls.Certificate
	Authorities []byte
}

// equal reports whether connections made with the one are valid for the other.
func (c *Credentials) equal(other *Credentials) bool {
	return c != nil && slices.EqualFunc(c.Shown.Certificate, other.Shown.Certificate, bytes.Equal) &&
		bytes.Equal(c.Authorities, other.Authorities)
}

// Authority has a client's credentials, and signs certificates of agents.
type Authority interface {
	// Credentials returns nil before there are any.
	Credentials() *Credentials
	// Sign returns a certificate, in PEM, for a node's agent with this key.
	Sign(now time.Time, node string, key crypto.PublicKey) ([]byte, error)
}

// Config configures a Client.
type Config struct {
	Authority Authority
	// Review has the API server review the token of an agent's pod. It returns the name of the pod's node.
	Review func(ctx context.Context, token string) (node string, err error)
	Log    logr.Logger
}

// Client has a connection to each agent, and the agents' certificates, for all [Scraper]s that send requests to them.
// It is safe for concurrent use.
type Client struct {
	config Config

	// mu guards the following.
	mu sync.Mutex
	// http trusts the authorities of credentials, and shows their certificate.
	http        *http.Client
	credentials *Credentials
	// nodes holds the address and state of each node's agent.
	nodes map[string]*agent
	// addresses counts the addresses so far.
	addresses int
	// enrolling counts the agents that are getting a certificate, and nextEnrollment is the earliest time of the next.
	enrolling      int
	nextEnrollment time.Time
}

// agent is the client's state of an agent.
type agent struct {
	address string
	// host is the node with a number that changes with the address: connections are kept by it, so that one to an earlier
	// agent is not reused.
	host string
	// keys holds the key of the selection that the agent has of each scraper.
	keys map[*Scraper]string
	// enrolling is closed when the agent's enrollment has ended; nil without one.
	enrolling chan struct{}
	// began and ended are when it was last to get a certificate.
	began, ended time.Time
	// fruitless counts the certificates since its last response.
	fruitless int
	// refused is when it last had no valid certificate, and got none; zero once it has one.
	refused time.Time
	// connection is the newest.
	connection net.Conn
}

// close closes the agent's connection after the requests under way.
func (a *agent) close() {
	if connection := a.connection; connection != nil {
		time.AfterFunc(requestTimeout, func() { _ = connection.Close() })
	}
}

// New makes a Client. It connects to nothing yet.
func New(config Config) (*Client, error) {
	if config.Authority == nil || config.Review == nil {
		return nil, errors.New("a client of agents needs an authority and reviews of tokens")
	}
	return &Client{config: config, nodes: map[string]*agent{}}, nil
}

// leave records that a scraper no longer sends requests to a node. A node without scrapers is forgotten.
func (c *Client) leave(node string, by *Scraper) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.nodes[node]
	if a == nil {
		return
	}
	if delete(a.keys, by); len(a.keys) == 0 {
		a.close()
		delete(c.nodes, node)
	}
}

// request is a request to an agent.
type request struct {
	by     *Scraper
	target kubelet.Target
	path   string
	wanted *selection.Prepared
	// take returns a buffer for the response.
	take func() []byte
}

// fetch returns the text of a response, in a buffer to release. An agent without a certificate gets one first.
func (c *Client) fetch(ctx context.Context, r *request) (answer []byte, cpu time.Duration, err error) {
	began := time.Now()
	if err = c.mayConnect(r.target, began); err == nil {
		answer, cpu, err = c.try(ctx, r)
	}
	if isUntrusted(err) {
		if err = c.enroll(ctx, r.target, began); err == nil {
			answer, cpu, err = c.try(ctx, r)
		}
	}
	if err != nil {
		err = fmt.Errorf("agent of node %s at %s: %w", r.target.Node, r.target.Address, explain(err))
	}
	return answer, cpu, err
}

// try is fetch with the certificate that the agent has.
func (c *Client) try(ctx context.Context, r *request) (answer []byte, cpu time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	to, err := c.connection(r)
	if err != nil {
		return nil, 0, err
	}
	response, err := r.send(ctx, to)
	if err == nil && response.StatusCode == http.StatusPreconditionFailed {
		// The agent was restarted, or dropped the selection for those of others.
		drain(response)
		to.isKnown = false
		response, err = r.send(ctx, to)
	}
	if err != nil {
		return nil, 0, err
	}
	defer drain(response)
	if response.StatusCode != http.StatusOK {
		return nil, 0, own(fmt.Sprintf("it answered %d %s", response.StatusCode, http.StatusText(response.StatusCode)))
	}
	buffer := r.take()
	cpu = timing.CPUOf(func() { answer, err = read(buffer, response, r.wanted.MaxAnswerBytes()) })
	if err != nil {
		return answer, cpu, err
	}
	c.knows(r)
	return answer, cpu, ctx.Err()
}

// destination is the current connection to an agent, and whether the agent has the selection.
type destination struct {
	http    *http.Client
	host    string
	isKnown bool
}

// send sends a request: with the selection's key if the agent has it.
func (r *request) send(ctx context.Context, to destination) (*http.Response, error) {
	where := url.URL{Scheme: "https", Host: to.host, Path: r.path}
	method, body := http.MethodPost, io.Reader(bytes.NewReader(r.wanted.Text))
	if to.isKnown {
		method, body = http.MethodGet, http.NoBody
		where.RawQuery = url.Values{selection.Parameter: {r.wanted.Key}}.Encode()
	}
	sent, err := http.NewRequestWithContext(ctx, method, where.String(), body)
	if err != nil {
		return nil, err
	}
	sent.Header.Set("Accept-Encoding", "gzip")
	return to.http.Do(sent)
}

// connection returns the destination of a request.
func (c *Client) connection(r *request) (to destination, err error) {
	credentials := c.config.Authority.Credentials()
	if credentials == nil {
		return to, ErrNotReady
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.credentials.equal(credentials) {
		config, err := tlsConfig(credentials)
		if err != nil {
			return to, err
		}
		if c.http != nil {
			c.http.CloseIdleConnections()
		}
		c.http, c.credentials = newHTTP(config, c.dial), credentials
		for _, a := range c.nodes {
			a.refused = time.Time{} // Its certificate may be valid now.
		}
	}
	a := c.nodes[r.target.Node]
	if a == nil || a.address != r.target.Address {
		if a != nil {
			a.close()
		}
		c.addresses++
		host := net.JoinHostPort(r.target.Node, strconv.Itoa(1+c.addresses%math.MaxUint16))
		a = &agent{address: r.target.Address, host: host, keys: map[*Scraper]string{}}
		c.nodes[r.target.Node] = a
	}
	key := a.keys[r.by]
	a.keys[r.by] = key
	return destination{http: c.http, host: a.host, isKnown: key == r.wanted.Key}, nil
}

// knows records that an agent has a selection.
func (c *Client) knows(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.nodes[r.target.Node]
	if a == nil || a.address != r.target.Address {
		return
	}
	a.fruitless, a.refused = 0, time.Time{}
	if _, isUsed := a.keys[r.by]; isUsed {
		a.keys[r.by] = r.wanted.Key
	}
}

// dial connects to the agent of a node: connections are kept by the node's name, which the agent's certificate must
// have.
func (c *Client) dial(ctx context.Context, network, host string) (net.Conn, error) {
	node, _, err := net.SplitHostPort(host)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	a := c.nodes[node]
	c.mu.Unlock()
	if a == nil {
		return nil, errGone
	}
	// The transport continues to connect after the request has ended.
	connection, err := (&net.Dialer{Timeout: requestTimeout}).DialContext(ctx, network, a.address)
	if err == nil {
		c.mu.Lock()
		a.connection = connection
		c.mu.Unlock()
	}
	return connection, err
}

// newHTTP keeps one connection to each agent: requests to one agent wait for each other.
func newHTTP(config *tls.Config, dial func(ctx context.Context, network, host string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: config, DialContext: dial, TLSHandshakeTimeout: requestTimeout, DisableCompression: true,
			MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, IdleConnTimeout: idle, MaxResponseHeaderBytes: 16 << 10,
			WriteBufferSize: 2 << 10, ReadBufferSize: 1 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// unzippers are pooled: each has a window of 32 kB and tables.
var unzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// read appends an answer's body to dst, decompressed.
func read(dst []byte, response *http.Response, maxBytes int) ([]byte, error) {
	body := io.Reader(response.Body)
	if response.Header.Get("Content-Encoding") == "gzip" {
		z, _ := unzippers.Get().(*gzip.Reader)
		defer unzippers.Put(z)
		if err := z.Reset(body); err != nil {
			return dst, fmt.Errorf("decompressing: %w", err)
		}
		body = z
	}
	into := bytes.NewBuffer(dst)
	limit := int64(min(maxBytes, page.DefaultMaxBytes))
	n, err := io.CopyN(into, body, limit+1)
	switch {
	case n > limit:
		return into.Bytes(), errTooLarge
	case errors.Is(err, io.EOF):
		return into.Bytes(), nil
	}
	return into.Bytes(), err
}

// drain reads the rest of a response so that its connection is reused, unless much is left.
func drain(response *http.Response) {
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
	_ = response.Body.Close()
}
