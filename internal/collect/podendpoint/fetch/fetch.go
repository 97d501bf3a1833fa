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
	// smallBytes is what a body may have without being counted among the large ones.
	smallBytes = 64 << 10
	// readBytes is what most small pages have.
	readBytes = 8 << 10
	// maxReads is how often is read for one response: at 512 bytes each they are the largest page.
	maxReads = 8 << 10
	// What a body is divided into may have maxOverhead bytes, and an eighth of the body's: chunks of a
	// hundred bytes and more, or thirteen thousand smaller ones.
	maxOverhead      = 64 << 10
	overheadFraction = 8
)

// Config has bounds.
type Config struct {
	// Timeout bounds a whole request, with connecting, if the request has no timeout.
	Timeout time.Duration
	// MaxBytes bounds a body.
	MaxBytes int
	// MaxLargeBytes bounds the bodies that are being read, without those that are small. Beyond it, groups have equal
	// parts of half as many.
	MaxLargeBytes int64
	// MaxOpen is how many connections may be open. While there are more, they are closed after their
	// requests.
	MaxOpen int64
}

// Client makes requests. It may be used by many goroutines.
type Client struct {
	config  Config
	readers sync.Pool
	// deadlines are those of the requests under way.
	deadlines deadlines
	open      atomic.Int64
	large     large
}

// New makes a client.
func New(config Config) *Client {
	return &Client{
		config: config, readers: sync.Pool{New: func() any { return newReader() }}, large: large{groups: map[string]int64{}},
	}
}

// Open is how many connections there are.
func (c *Client) Open() int64 { return c.open.Load() }

// Connection is kept between requests to one pod. It is for one goroutine at a time. The zero
// value is none yet.
type Connection struct {
	conn net.Conn
	// tls is the configuration that it was made with.
	tls *tls.Config
}

// isQuiet reports whether nothing has arrived that no request asked for.
func (k *Connection) isQuiet() bool {
	if secure, isTLS := k.conn.(*tls.Conn); isTLS {
		return isQuiet(secure.NetConn())
	}
	return isQuiet(k.conn)
}

// Request is what is requested.
type Request struct {
	// Dial connects.
	Dial func(ctx context.Context) (net.Conn, error)
	// TLS is nil without TLS.
	TLS *tls.Config
	// ServerName is the name in the certificate if TLS has none.
	ServerName string
	// Host is the address as the header has it.
	Host string
	// Path begins with a slash.
	Path string
	// Timeout bounds the request; 0 for that of the client.
	Timeout time.Duration
	// Group is the tenant of the request: each has a part of MaxLargeBytes.
	Group string
	// Accept and Authorization are values of headers; Authorization may be empty.
	Accept, Authorization string
	// Buffer is where the body is appended to, nil for none. It is called once the pod responds: many
	// may be waited for at a time.
	Buffer func() []byte
}

// Response is what was received.
type Response struct {
	ContentType string
	Body        []byte
	// IsOpenEnded reports that only the end of the connection marks the end of the body, so that it may not be whole.
	IsOpenEnded bool
	// IsNew reports that the connection is new.
	IsNew bool
	// Reads is how often something was read, and Overhead how much that is not the body.
	Reads, Overhead int
}

// Get makes a request. With an error, too, the response has the buffer if it was taken.
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

// Close ends a connection. The next request makes another one.
func (c *Client) Close(k *Connection) {
	if k.conn != nil {
		conn := k.conn
		if secure, isTLS := conn.(*tls.Conn); isTLS {
			conn = secure.NetConn() // without a farewell, which could block
		}
		_ = conn.Close() // nothing is to be written any more
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

// connect makes a connection, with TLS if that is wanted.
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
	// The other requests of the moment go out first: by then the response is there.
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
	from.limit = int64(c.config.MaxBytes) + maxHeadBytes // of chunks, the sizes come on top
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
