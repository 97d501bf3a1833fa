package prometheushistory

import (
	"fmt"
	"io"
	"net/http"
)

// maxResponseBytes bounds a response: a day of minutes takes less than 100 kB.
const maxResponseBytes = 4 << 20

// bounded refuses long responses.
type bounded struct{ next http.RoundTripper }

// RoundTrip is that of the transport, with a body that ends in an error when it is too long.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: maxResponseBytes}
	return response, nil
}

// boundedBody fails after left more bytes.
type boundedBody struct {
	io.ReadCloser
	left int
}

// Read fails beyond the limit.
func (b *boundedBody) Read(p []byte) (int, error) {
	// One byte more shows that the limit is exceeded.
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if n > b.left {
		b.left = 0
		return 0, fmt.Errorf("the response has more than %d MiB", maxResponseBytes>>20)
	}
	b.left -= n
	return n, err
}
