package kubelet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
)

// unzippers are pooled: each has a window of 32 kB and tables.
var unzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// read appends the response's body to dst, decompressed, at least up to the end of the families. Decompressing is most
// of the cost of a scrape here.
func (c *Client) read(dst []byte, response *http.Response, families text.Families) ([]byte, error) {
	body, end := io.Reader(response.Body), end(families)
	if response.Header.Get("Content-Encoding") == "gzip" {
		z, _ := unzippers.Get().(*gzip.Reader)
		defer unzippers.Put(z)
		if err := z.Reset(body); err != nil {
			return nil, fmt.Errorf("decompressing: %w", err)
		}
		body = z
	}
	answer, err := readUntil(dst, body, c.options.MaxResponseBytes, end)
	if err == nil {
		// A connection can be reused after its response was read to the end. A longer rest is not awaited.
		_, _ = io.CopyN(io.Discard, response.Body, int64(c.options.MaxResponseBytes))
	}
	return answer, err
}

// end returns a function that finds the end of the wanted families in a response; for all families it finds none.
func end(families text.Families) func([]byte) (int, bool) {
	if families == 0 {
		return func([]byte) (int, bool) { return 0, false }
	}
	cut := text.Cut{Families: families}
	return cut.In
}

// readUntil appends to dst up to the end that is found, or everything, at most maxBytes.
func readUntil(dst []byte, from io.Reader, maxBytes int, end func([]byte) (int, bool)) ([]byte, error) {
	start := len(dst)
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, max(4<<10, len(dst)/2))
		}
		n, err := from.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if at, found := end(dst[start:]); found {
			return dst[:start+at], nil
		}
		switch {
		case len(dst)-start > maxBytes:
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, maxBytes)
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return nil, err
		}
	}
}
