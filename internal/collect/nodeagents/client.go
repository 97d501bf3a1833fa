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
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/klauspost/compress/gzip"

	"github.com/plimsoll-dev/plimsoll/internal/collect/cputime"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

const (
	// requestTimeout is how long one request may take, connecting included. An agent answers
	// within milliseconds; its node's kubelet stands in soon.
	requestTimeout = time.Second
	// keptBytes is how large a buffer may be to be used again.
	keptBytes = 1 << 20
	idle      = 90 * time.Second
)

// ErrNotReady says that there is no certificate yet to show.
var ErrNotReady = errors.New("there is no certificate for agents yet")

// errUntrusted stands for an error that repeats what is in the other side's certificate.
var errUntrusted = errors.New("its certificate is not of its node")

// errTooLarge is the reason of an answer that is longer than that of an agent can be.
var errTooLarge = errors.New("the answer is longer than what it was asked for")

// Credentials are what a client shows and signs with.
type Credentials struct {
	// Shown is the client's certificate, Authorities what agents are verified with, in PEM.
	Shown       *tls.Certificate
	Authorities []byte
}

// equal reports whether connections that were made with the one will do for the other.
func (c *Credentials) equal(other *Credentials) bool {
	return c != nil && slices.EqualFunc(c.Shown.Certificate, other.Shown.Certificate, bytes.Equal) &&
		bytes.Equal(c.Authorities, other.Authorities)
}

// Authority has a client's credentials, and signs certificates of agents.
type Authority interface {
	// Credentials are nil before there are any.
	Credentials() *Credentials
	// Sign is a certificate, in PEM, of a node's agent that has this key.
	Sign(now time.Time, node string, key crypto.PublicKey) ([]byte, error)
}

// Config is what a client needs.
type Config struct {
	Authority Authority
	// Review has the API server review the token of an agent's pod. It is the name of the node that
	// the pod is on.
	Review func(ctx context.Context, token string) (node string, err error)
	Log    logr.Logger
}

// Client requests samples. It may be used by many goroutines, for each node by one at a time.
type Client struct {
	config  Config
	store   *rate.Store
	buffers chan []byte

	// mu guards the following.
	mu sync.Mutex
	// http trusts the authorities of, and shows the certificate of, credentials.
	http        *http.Client
	credentials *Credentials
	// nodes are where the agents are, and what they know.
	nodes map[string]*agent
	// addresses is how many addresses there were.
	addresses int
}

// agent is one as the client knows it.
type agent struct {
	address string
	// host is the node with a number that differs with the address: connections are kept by it, and
	// one to an agent that was before goes unused.
	host string
	// key is that of the selection that the agent knows.
	key string
	// enrolled is when it was last to get a certificate.
	enrolled time.Time
}

// New makes a client whose samples go into a store.
func New(config Config, store *rate.Store) (*Client, error) {
	if config.Authority == nil || config.Review == nil || store == nil {
		return nil, errors.New("a client of agents needs an authority, reviews of tokens and a store")
	}
	return &Client{
		config: config, store: store, buffers: make(chan []byte, 2*runtime.NumCPU()), nodes: map[string]*agent{},
	}, nil
}

// Forget closes what is kept of a node.
func (c *Client) Forget(node string) {
	c.mu.Lock()
	delete(c.nodes, node)
	c.mu.Unlock()
	c.store.Forget(node)
}

// Scrape requests samples of the selected containers, and stores them. After an error the store is
// as it was.
func (c *Client) Scrape(ctx context.Context, target kubelet.Target, wanted *selection.Prepared) (rate.Round, error) {
	round := rate.Round{Node: target.Node}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, reading, err := c.fetch(ctx, target, wanted)
	if isUntrusted(err) {
		if err = c.enroll(ctx, target); err == nil {
			answer, reading, err = c.fetch(ctx, target, wanted)
		}
	}
	if err != nil {
		c.giveBack(answer)
		round.CPU = reading
		return round, fmt.Errorf("agent of node %s at %s: %w", target.Node, target.Address, explain(err))
	}
	parsing := cputime.Spend(func() { round, err = c.store.IngestOf(target.Node, time.Now(), answer, wanted.Has()) })
	c.giveBack(answer)
	round.CPU = reading + parsing
	return round, err
}

// fetch is the text of an answer, in a buffer to give back.
func (c *Client) fetch(ctx context.Context, target kubelet.Target, wanted *selection.Prepared) (
	answer []byte, cpu time.Duration, err error,
) {
	connected, a, err := c.connection(target)
	if err != nil {
		return nil, 0, err
	}
	response, err := c.ask(ctx, connected, a.host, wanted, a.key == wanted.Key)
	if err == nil && response.StatusCode == http.StatusPreconditionFailed {
		// The agent was started anew, or others have asked it for much.
		drain(response)
		response, err = c.ask(ctx, connected, a.host, wanted, false)
	}
	if err != nil {
		return nil, 0, err
	}
	defer drain(response)
	if response.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("it answered %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	buffer := c.take()
	cpu = cputime.Spend(func() { answer, err = read(buffer, response, wanted.MaxAnswerBytes()) })
	if err != nil {
		return answer, cpu, err
	}
	c.knows(target.Node, wanted.Key)
	return answer, cpu, ctx.Err()
}

// ask sends a request: with the selection's key if the agent knows that.
func (c *Client) ask(
	ctx context.Context, connected *http.Client, host string, wanted *selection.Prepared, isKnown bool,
) (*http.Response, error) {
	where := url.URL{Scheme: "https", Host: host, Path: selection.UsagePath}
	method, body := http.MethodPost, io.Reader(bytes.NewReader(wanted.Text))
	if isKnown {
		method, body = http.MethodGet, http.NoBody
		where.RawQuery = url.Values{selection.Parameter: {wanted.Key}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, where.String(), body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "gzip")
	return connected.Do(request)
}

// connection is how to reach agents now, and what is known of this one.
func (c *Client) connection(target kubelet.Target) (connected *http.Client, known agent, err error) {
	credentials := c.config.Authority.Credentials()
	if credentials == nil {
		return nil, agent{}, ErrNotReady
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.credentials.equal(credentials) {
		config, err := tlsConfig(credentials)
		if err != nil {
			return nil, agent{}, err
		}
		if c.http != nil {
			c.http.CloseIdleConnections()
		}
		c.http, c.credentials = newHTTP(config, c.dial), credentials
	}
	a := c.nodes[target.Node]
	if a == nil || a.address != target.Address {
		c.addresses++
		host := net.JoinHostPort(target.Node, strconv.Itoa(1+c.addresses%math.MaxUint16))
		a = &agent{address: target.Address, host: host}
		c.nodes[target.Node] = a
	}
	return c.http, *a, nil
}

// knows notes that an agent knows a selection.
func (c *Client) knows(node, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.nodes[node]; a != nil {
		a.key = key
	}
}

// dial connects to the agent of a node: connections are kept by the node's name, which is what the
// agent's certificate must have.
func (c *Client) dial(ctx context.Context, network, host string) (net.Conn, error) {
	node, _, err := net.SplitHostPort(host)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	a := c.nodes[node]
	c.mu.Unlock()
	if a == nil {
		return nil, errors.New("the node has no agent any more")
	}
	return (&net.Dialer{}).DialContext(ctx, network, a.address)
}

// newHTTP makes connections that are kept, one to each agent.
func newHTTP(config *tls.Config, dial func(ctx context.Context, network, host string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: config, DialContext: dial, TLSHandshakeTimeout: requestTimeout, DisableCompression: true,
			MaxIdleConnsPerHost: 1, IdleConnTimeout: idle, MaxResponseHeaderBytes: 16 << 10,
			WriteBufferSize: 2 << 10, ReadBufferSize: 1 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// unzippers are used again: each has a window of 32 kB and tables.
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
	limit := int64(min(maxBytes, text.DefaultMaxBytes))
	n, err := io.CopyN(into, body, limit+1)
	switch {
	case n > limit:
		return into.Bytes(), errTooLarge
	case errors.Is(err, io.EOF):
		return into.Bytes(), nil
	}
	return into.Bytes(), err
}

// drain lets a connection be used again, unless much is left.
func drain(response *http.Response) {
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
	_ = response.Body.Close()
}

func (c *Client) take() []byte {
	select {
	case b := <-c.buffers:
		return b[:0]
	default:
		return nil
	}
}

func (c *Client) giveBack(buffer []byte) {
	if cap(buffer) == 0 || cap(buffer) > keptBytes {
		return
	}
	select {
	case c.buffers <- buffer:
	default:
	}
}

// explain leaves out the URL, which is named already.
func explain(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s: %w", requestTimeout, context.DeadlineExceeded)
	case isUntrusted(err):
		return errUntrusted
	}
	return err
}
