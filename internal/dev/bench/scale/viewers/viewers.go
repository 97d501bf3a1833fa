// Package viewers simulates browsers with open pages of plimsoll ui: each polls its autoscaler as the page's script
// does, every two seconds. A real browser would take the processors from the measurement.
package viewers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/procfs"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

// name is that of plimsoll ui and of its log.
const name = "plimsoll-ui"

// printed is the address that plimsoll ui prints.
var printed = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?token=\S+`)

// every is the period of a page's requests, as in internal/ui/web/static/main.js.
const every = 2 * time.Second

// askTimeout is longer than plimsoll ui takes for an answer at most.
const askTimeout = time.Minute

// Object is the autoscaler of a page.
type Object struct{ Kind, Namespace, Name string }

// Config selects the pages to open.
type Config struct {
	// Program is the command line of Plimsoll's program, without arguments.
	Program []string
	// Inspection is the address of the controller's history.
	Inspection string
	Objects    []Object
}

// Viewers poll pages until Close.
type Viewers struct {
	program *devcluster.Program
	process procfs.Proc

	client *http.Client
	base   *url.URL
	cancel context.CancelFunc
	asking sync.WaitGroup

	mu  sync.Mutex
	sum Seen // guarded by mu
}

// Seen counts the responses to the pages so far.
type Seen struct {
	// Answers have all about an object. Lacking are those without an explanation or without a history, and Failures
	// those that were none; Why is the last of these.
	Answers, Lacking, Failures int
	Why                        string
	// Bytes are those of the responses as they were sent, compressed.
	Bytes int64
	// Took has the duration of each response, in order.
	Took []time.Duration

	// At is the time of the measurement of plimsoll ui's CPU and resident memory.
	At                        time.Time
	CPUSeconds, ResidentBytes float64
}

// Start runs plimsoll ui as an administrator of the cluster does, and opens its pages.
func Start(ctx context.Context, cluster *devcluster.Cluster, c Config) (*Viewers, error) {
	address, before := "", 0
	log := cluster.LogPath(name)
	if text, err := os.ReadFile(log); err == nil {
		before = len(text)
	}
	program, err := cluster.StartProgram(ctx, name, append(slices.Clone(c.Program),
		"ui", "--no-browser", "--kubeconfig="+cluster.KubeconfigPath(), "--controller-address="+c.Inspection,
	), func(context.Context) error {
		text, err := os.ReadFile(log)
		if err != nil {
			return fmt.Errorf("the log of plimsoll ui: %w", err)
		}
		if address = string(printed.Find(text[min(len(text), before):])); address == "" {
			return errors.New("plimsoll ui has not printed its address")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("viewers: %w", err)
	}
	process, err := procfs.NewProc(program.PID())
	if err == nil {
		var v *Viewers
		if v, err = open(ctx, address, c.Objects); err == nil {
			v.program, v.process = program, process
			return v, nil
		}
	}
	program.Stop(ctx)
	return nil, fmt.Errorf("viewers: %w", err)
}

// open opens a page of each object, at the address that plimsoll ui has printed.
func open(ctx context.Context, address string, objects []Object) (*Viewers, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("viewers: %w", err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, fmt.Errorf("viewers: %w", err)
	}
	v := &Viewers{client: &http.Client{Jar: jar, Timeout: askTimeout}, base: base}
	// The token of the address becomes a cookie.
	if _, err := v.ask(ctx, base); err != nil {
		return nil, err
	}
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	v.cancel = cancel
	for i, object := range objects {
		late := every * time.Duration(i) / time.Duration(len(objects))
		v.asking.Go(func() { v.look(asking, object, late) })
	}
	return v, nil
}

// Close closes all pages and ends plimsoll ui. Without viewers it does nothing.
func (v *Viewers) Close(ctx context.Context) {
	if v == nil {
		return
	}
	v.cancel()
	v.asking.Wait()
	v.client.CloseIdleConnections()
	if v.program != nil {
		v.program.Stop(ctx)
	}
}

// Look returns the responses so far, and their cost for plimsoll ui; nothing without viewers.
func (v *Viewers) Look() (Seen, error) {
	if v == nil {
		return Seen{}, nil
	}
	stat, err := v.process.Stat()
	if err != nil {
		return Seen{}, fmt.Errorf("viewers: plimsoll ui: %w", err)
	}
	seen := v.seen()
	seen.At, seen.CPUSeconds, seen.ResidentBytes = time.Now(), stat.CPUTime(), float64(stat.ResidentMemory())
	return seen, nil
}

func (v *Viewers) seen() Seen {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sum
}

// look is a page: it reads the overview once, and then polls its object. It makes no request while another is under
// way.
func (v *Viewers) look(ctx context.Context, object Object, late time.Duration) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(late):
	}
	if _, err := v.ask(ctx, v.base.JoinPath("/api/overview")); err != nil {
		v.failed(ctx, err)
	}
	at := v.base.JoinPath("/api/object")
	at.RawQuery = url.Values{
		"kind": {object.Kind}, "namespace": {object.Namespace}, "name": {object.Name}, "last": {"1h"},
	}.Encode()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		v.once(ctx, at)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (v *Viewers) once(ctx context.Context, at *url.URL) {
	began := time.Now()
	body, err := v.ask(ctx, at)
	took := time.Since(began)
	if err != nil {
		v.failed(ctx, err)
		return
	}
	isWhole, err := isWhole(body)
	if err != nil {
		v.failed(ctx, err)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sum.Answers++
	v.sum.Bytes += int64(len(body))
	v.sum.Took = append(v.sum.Took, took)
	if !isWhole {
		v.sum.Lacking++
	}
}

func (v *Viewers) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sum.Failures++
	v.sum.Why = err.Error()
}

// ask returns the response, compressed as it comes.
func (v *Viewers) ask(ctx context.Context, at *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("viewers: %w", err)
	}
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := v.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("viewers: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("viewers: %s: %w", at.Path, err)
	}
	return body, nil
}

// isWhole reports whether an answer has an explanation and a history.
func isWhole(body []byte) (bool, error) {
	var object struct {
		Lines   []json.RawMessage `json:"lines"`
		History *struct {
			Points []json.RawMessage `json:"points"`
		} `json:"history"`
	}
	text, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		err = json.NewDecoder(text).Decode(&object)
	}
	if err != nil {
		return false, fmt.Errorf("viewers: an answer: %w", err)
	}
	return len(object.Lines) > 0 && object.History != nil && len(object.History.Points) > 0, nil
}
