package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxHeadBytes = 64 << 10
	// smallBytes is the largest body that does not count in MaxLargeBytes.
	smallBytes = 64 << 10
	// readBytes is the size of the buffer: most small pages fit.
	readBytes = 8 << 10
	// maxReads is the maximum of reads for one response: at 512 bytes each they are the largest page.
	maxReads = 8 << 10
	// The framing of a body may have maxOverhead bytes, and an eighth of the body's: chunks of a hundred bytes and more,
	// or thirteen thousand smaller ones.
	maxOverhead      = 64 << 10
	overheadFraction = 8
)

// Config configures a Client.
type Config struct {
	// Timeout bounds a whole request, connecting included, if the request has no timeout.
	Timeout time.Duration
	// MaxBytes bounds a body.
	MaxBytes int
	// MaxLargeBytes bounds the bodies that are being read, without small ones. Beyond it, groups have equal parts of half
	// as many.
	MaxLargeBytes int64
	// MaxOpen is the maximum of open connections. Above it, connections are closed after their requests.
	MaxOpen int64
}

// Client makes requests. It is safe for concurrent use.
type Client struct {
	config  Config
	readers sync.Pool
	// deadlines has the deadlines of the requests under way.
	deadlines deadlines
	open      atomic.Int64
	large     large
}

// New makes a Client. It connects to nothing yet.
func New(config Config) *Client {
	return &Client{
		config: config, readers: sync.Pool{New: func() any { return newReader() }}, large: large{groups: map[string]int64{}},
	}
}

// Open returns the number of connections.
func (c *Client) Open() int64 { return c.open.Load() }

// Connection is kept between requests to one pod. It is for one goroutine at a time. The zero value is not connected.
type Connection struct {
	conn net.Conn
	// tls is the TLS configuration of the connection.
	tls *tls.Config
}

// isQuiet reports whether no unsolicited bytes have arrived.
func (k *Connection) isQuiet() bool {
	if secure, isTLS := k.conn.(*tls.Conn); isTLS {
		return isQuiet(secure.NetConn())
	}
	return isQuiet(k.conn)
}

// Request is a request for a page.
type Request struct {
	// Dial connects.
	Dial func(ctx context.Context) (net.Conn, error)
	// TLS is nil without TLS.
	TLS *tls.Config
	// ServerName is the name in the certificate if TLS has none.
	ServerName string
	// Host is the address in the Host header.
	Host string
	// Path begins with a slash.
	Path string
	// Timeout bounds the request; 0 for that of the client.
	Timeout time.Duration
	// Group is the tenant of the request: each has a part of MaxLargeBytes.
	Group string
	// Accept and Authorization are values of headers; Authorization may be empty.
	Accept, Authorization string
	// Buffer returns the buffer for the body, nil for a new one. It is called at the start of the response, because many
	// requests may be waiting at a time.
	Buffer func() []byte
}

// Response is a response that was received.
type Response struct {
	ContentType string
	Body        []byte
	// IsOpenEnded reports that only the end of the connection marks the end of the body, so that it may not be whole.
	IsOpenEnded bool
	// IsNew reports that the connection is new.
	IsNew bool
	// Reads counts the reads, and Overhead the bytes outside the body.
	Reads, Overhead int
}

// Get makes a request. After an error, too, the response has the buffer if it was taken.
func (c *Client) Get(ctx context.Context, k *Connection, r *Request) (Response, error) {
	timeout := cmp.Or(r.Timeout, c.config.Timeout)
	deadline := time.Now().Add(timeout)
	var response Response
	if !r.isValid() {
		return response, errRequest
	}
	if k.conn != nil && !k.isQuiet() {
		c.Close(k)
	}
	isKept := k.conn != nil && k.tls == r.TLS
	err := c.get(ctx, k, r, deadline, &response)
	if isKept && errors.Is(err, errUnanswered) && ctx.Err() == nil {
		// The pod may close a connection that waits at any time.
		c.Close(k)
		response = Response{}
		err = c.get(ctx, k, r, deadline, &response)
	}
	if err != nil {
		c.Close(k)
		return response, explain(ctx, timeout, err)
	}
	if c.open.Load() > c.config.MaxOpen {
		c.Close(k)
	}
	return response, nil
}

// Close closes a connection. The next request makes another one.
func (c *Client) Close(k *Connection) {
	if k.conn != nil {
		conn := k.conn
		if secure, isTLS := conn.(*tls.Conn); isTLS {
			conn = secure.NetConn() // without a farewell, which could block
		}
		_ = conn.Close() // no data remains to be written
		c.open.Add(-1)
	}
	*k = Connection{}
}

// get connects unless there is a connection, and makes one request.
func (c *Client) get(ctx context.Context, k *Connection, r *Request, deadline time.Time, response *Response) error {
	if k.conn != nil && k.tls != r.TLS {
		c.Close(k) // the certificates are others
	}
	if k.conn == nil {
		response.IsNew = true
		if err := c.connect(ctx, k, r, deadline); err != nil {
			return err
		}
	}
	conn := k.conn
	from, _ := c.readers.Get().(*reader)
	defer c.readers.Put(from)
	c.deadlines.begin(ctx, &from.flight, conn, deadline)
	isReusable := false
	defer func() {
		if c.deadlines.end(&from.flight) || !isReusable {
			c.Close(k)
		}
	}()
	var err error
	isReusable, err = c.exchange(conn, from, r, response)
	return err
}

// connect makes a connection, with TLS if that is configured.
func (c *Client) connect(ctx context.Context, k *Connection, r *Request, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	conn, err := r.Dial(ctx)
	if err != nil {
		return err
	}
	c.open.Add(1)
	k.conn, k.tls = conn, r.TLS
	if r.TLS == nil {
		return nil
	}
	config := r.TLS
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName = r.ServerName
	}
	secure := tls.Client(conn, config)
	k.conn = secure
	return explainTLS(secure.HandshakeContext(ctx))
}

func (c *Client) exchange(conn net.Conn, from *reader, r *Request, response *Response) (isReusable bool, err error) {
	from.begin(conn)
	defer func() {
		response.Reads, response.Overhead = from.reads, max(0, from.bytes-len(response.Body))
		from.end()
	}()
	from.request = r.append(from.request[:0])
	if _, err := conn.Write(from.request); err != nil {
		return false, unanswered(err)
	}
	// The other requests that are due now go out first: meanwhile the response arrives.
	runtime.Gosched()
	head, err := from.final()
	if err != nil {
		return false, err
	}
	if err := c.read(from, &head, r, response); err != nil {
		return false, err
	}
	return !head.isLast && from.buffered.Buffered() == 0, nil
}

func (c *Client) read(from *reader, head *head, r *Request, response *Response) error {
	switch {
	case head.status != http.StatusOK:
		return &StatusError{Code: head.status}
	case head.encoding != "" && !strings.EqualFold(head.encoding, "identity"):
		return errEncoded
	case head.length > int64(c.config.MaxBytes):
		return c.tooLarge()
	}
	response.ContentType, response.IsOpenEnded = head.contentType, head.isOpenEnded
	from.limit = int64(c.config.MaxBytes) + maxHeadBytes // the sizes of chunks come on top
	if r.Buffer != nil {
		response.Body = r.Buffer()
	}
	large := reservation{from: &c.large, group: r.Group}
	defer large.release()
	start, before := len(response.Body), from.bytes
	for {
		if len(response.Body) == cap(response.Body) {
			more := max(readBytes, len(response.Body)-start)
			if !large.grow(int64(len(response.Body)-start+more), c.config.MaxLargeBytes) {
				return ErrBusy
			}
			response.Body = slices.Grow(response.Body, more)
		}
		n, err := head.body.Read(response.Body[len(response.Body):cap(response.Body)])
		response.Body = response.Body[:len(response.Body)+n]
		size := len(response.Body) - start
		switch {
		case size > c.config.MaxBytes:
			return c.tooLarge()
		case from.bytes-before-size > maxOverhead+size/overheadFraction:
			return ErrPieces
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(from.failed, ErrTooLarge):
			return c.tooLarge()
		case err != nil:
			return plain("reading the page", cmp.Or(from.failed, err))
		}
	}
}

func (c *Client) tooLarge() error {
	return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, c.config.MaxBytes)
}
