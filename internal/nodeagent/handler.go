package nodeagent

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/klauspost/compress/gzip"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// maxSelections is the number of selections in memory: the controller and the recommender of an installation have one
// each, and one more each while pods come and go.
const maxSelections = 8

// smallestZipped is the shortest text that is compressed.
const smallestZipped = 1 << 10

// Handler serves requests of authenticated clients.
type Handler struct {
	samples *samples
	// pages pools buffers, zippers the compressors.
	pages, zippers sync.Pool

	// mu guards the following.
	mu         sync.Mutex
	selections map[string]*remembered
}

// remembered is a selection, with the labels of its containers.
type remembered struct {
	containers []selection.Container
	labels     []string
	used       time.Time
}

// NewHandler makes a Handler that reads this tree. It starts nothing.
func NewHandler(tree *cgroup.Tree, log logr.Logger) (*Handler, error) {
	if tree == nil {
		return nil, errors.New("an agent needs a tree of cgroups")
	}
	return &Handler{
		samples: newSamples(tree, log), selections: map[string]*remembered{},
		pages: sync.Pool{New: func() any { return &answer{} }},
		zippers: sync.Pool{New: func() any {
			z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // The level is valid.
			return z
		}},
	}, nil
}

// answer has the buffers of one request.
type answer struct {
	page   page
	usages []usage
	stalls []stalls
}

// ServeHTTP implements http.Handler: POST with a selection, or GET with the key of one that was posted before.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wanted, code, err := h.selected(w, r)
	if err != nil {
		http.Error(w, err.Error(), code)
		return
	}
	a, _ := h.pages.Get().(*answer)
	defer h.pages.Put(a)
	a.page.text = a.page.text[:0]
	switch r.URL.Path {
	case selection.UsagePath:
		a.usages = h.samples.usages(wanted.containers, a.usages[:0])
		a.page.usages(wanted.labels, a.usages)
	case selection.ContentionPath:
		a.stalls = h.samples.stalls(wanted.containers, a.stalls[:0])
		a.page.stalls(wanted, a.stalls)
	default:
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	h.write(w, r, a.page.text)
}

// selected returns the selection of the request, or an error with its status.
func (h *Handler) selected(w http.ResponseWriter, r *http.Request) (*remembered, int, error) {
	switch r.Method {
	case http.MethodGet:
		if known := h.known(r.URL.Query().Get(selection.Parameter)); known != nil {
			return known, 0, nil
		}
		return nil, http.StatusPreconditionFailed, errors.New("unknown selection: post it again")
	case http.MethodPost:
	default:
		return nil, http.StatusMethodNotAllowed, errors.New("use GET or POST")
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, selection.MaxBytes))
	if err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("reading the selection: %w", err)
	}
	key := selection.Key(text)
	if known := h.known(key); known != nil {
		return known, 0, nil
	}
	containers, err := selection.Decode(text)
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	for i := range containers {
		if err := (cgroup.Name{PodUID: containers[i].PodUID, ID: containers[i].ID}).Validate(); err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return h.remember(key, containers), 0, nil
}

func (h *Handler) known(key string) *remembered {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.selections[key]
	if known != nil {
		known.used = time.Now()
	}
	return known
}

// remember keeps a selection in place of the least recently used one.
func (h *Handler) remember(key string, containers []selection.Container) *remembered {
	added := &remembered{containers: containers, labels: make([]string, len(containers)), used: time.Now()}
	for i := range containers {
		added.labels[i] = labelsOf(&containers[i])
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.selections) >= maxSelections {
		oldest := ""
		for other, r := range h.selections {
			if oldest == "" || r.used.Before(h.selections[oldest].used) {
				oldest = other
			}
		}
		delete(h.selections, oldest)
	}
	h.selections[key] = added
	return added
}

// write sends a text, compressed if the client takes that.
func (h *Handler) write(w http.ResponseWriter, r *http.Request, text []byte) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if len(text) < smallestZipped || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = w.Write(text) // The client may be gone.
		return
	}
	header.Set("Content-Encoding", "gzip")
	z, _ := h.zippers.Get().(*gzip.Writer)
	defer h.zippers.Put(z)
	z.Reset(w)
	_, _ = z.Write(text)
	_ = z.Close()
}
