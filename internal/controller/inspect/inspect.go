// Package inspect serves the inputs of the next decision on an object, as a snapshot that can be explained, replayed
// and saved.
//
// It listens on the loopback address alone, so that clients need pods/portforward, which RBAC grants. It has no effect
// on decisions.
package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

const (
	// maxWaiting bounds the requests that wait for a decision at once.
	maxWaiting = 8
	// MaxWait is the longest wait for a decision: existing objects are decided well before.
	MaxWait = 20 * time.Second
	// writeTimeout leaves time to send a large snapshot.
	writeTimeout = MaxWait + 10*time.Second
)

// Source passes decisions to inspectors.
type Source interface {
	Inspect(object observe.Key, inspector controllerhorizontal.Inspector) (stop func())
	// NotDecided returns why Plimsoll does not act on an object; empty if it does.
	NotDecided(object observe.Key) string
	// Knows reports whether decisions are made on an object here.
	Knows(object observe.Key) bool
}

// VerticalSource returns the history of an object on the vertical side: the flags and the updater's part of a
// snapshot. It is nil for an object that is ignored.
type VerticalSource interface {
	UpdaterState(object types.NamespacedName) *snapshotvertical.Snapshot
}

// Sources has the controllers that the server reads. A controller that does not run in this process is nil.
type Sources struct {
	Horizontal Source
	Vertical   VerticalSource
	History    HistorySource
}

// Server serves HTTP on a loopback address.
type Server struct {
	address string
	// source, vertical and history may be nil.
	source   Source
	vertical VerticalSource
	history  HistorySource
	waiting  chan struct{}
	wait     time.Duration
	log      logr.Logger
}

// New checks that the address is a loopback one. It does not listen yet.
func New(address string, sources Sources, log logr.Logger) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("inspection address: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("inspection address %s: must be a loopback address, because its clients can read the "+
			"inputs of every decision", address)
	}
	return &Server{address: address, source: sources.Horizontal, vertical: sources.Vertical, history: sources.History,
		waiting: make(chan struct{}, maxWaiting), wait: MaxWait, log: log}, nil
}

// Start serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("inspection address: %w", err)
	}
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout:   writeTimeout,
		MaxHeaderBytes: 16 << 10,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	s.log.V(1).Info("serving inspection requests", "address", listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("inspection: %w", err)
	}
	return nil
}

// Handler serves these requests; RESOURCE is horizontalpodautoscalers or workloadautoscalers:
//
//   - GET /RESOURCE/NAMESPACE/NAME/snapshot: the inputs of the next decision, as a YAML document that plimsoll evaluate
//     reads. 409 with the reason for an object on which Plimsoll does not act; 504 where nothing is decided, as in a
//     replica that does not lead.
//   - GET /RESOURCE/NAMESPACE/NAME/history: the recorded load, as internal/loadhistory encodes it. The header
//     Plimsoll-History is since-start if the object's checkpoint was not read, and may have an earlier load. 404 if
//     there is none.
//   - GET /RESOURCE/NAMESPACE/NAME/metric-histories: the load of each metric, a list of loadhistory.EncodedMetric as
//     JSON.
//   - GET /verticalpodautoscalers/NAMESPACE/NAME/updater: the updater's state of an object, a VerticalSnapshot as JSON.
//     404 if there is none.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, kind := range s.horizontalKinds() {
		mux.HandleFunc("GET /"+kind.Resource()+"/{namespace}/{name}/snapshot", s.snapshot(kind))
		mux.HandleFunc("GET /"+kind.Resource()+"/{namespace}/{name}/history", s.historyOf(kind))
		mux.HandleFunc("GET /"+kind.Resource()+"/{namespace}/{name}/metric-histories", s.metricHistoriesOf(kind))
	}
	updater := "GET /" + observe.VerticalPodAutoscaler.Resource() + "/{namespace}/{name}/updater"
	mux.HandleFunc(updater, func(w http.ResponseWriter, r *http.Request) {
		if object, ok := objectOf(w, r); ok {
			s.remember(w, object)
		}
	})
	return mux
}

// horizontalKinds returns the kinds that are decided here; none if the horizontal side does not run.
func (s *Server) horizontalKinds() []observe.Kind {
	if s.source == nil {
		return nil
	}
	return []observe.Kind{observe.HorizontalPodAutoscaler, observe.WorkloadAutoscaler}
}

func (s *Server) snapshot(kind observe.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		object, ok := objectOf(w, r)
		if !ok {
			return
		}
		select {
		case s.waiting <- struct{}{}:
			defer func() { <-s.waiting }()
		default:
			http.Error(w, fmt.Sprintf("%d requests wait already; try again", maxWaiting), http.StatusTooManyRequests)
			return
		}
		s.answer(w, r, observe.Key{NamespacedName: object, Kind: kind})
	}
}

// objectOf returns the object of the request. It responds itself if the name is invalid.
func objectOf(w http.ResponseWriter, r *http.Request) (types.NamespacedName, bool) {
	object := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	if len(validation.IsDNS1123Label(object.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(object.Name)) > 0 {
		http.Error(w, "invalid name", http.StatusBadRequest)
		return object, false
	}
	return object, true
}

func (s *Server) remember(w http.ResponseWriter, object types.NamespacedName) {
	if s.vertical == nil {
		http.Error(w, "the vertical side does not run here", http.StatusNotFound)
		return
	}
	state := s.vertical.UpdaterState(object)
	if state == nil {
		http.Error(w, "the updater does not run here: another replica leads, or it is not switched on",
			http.StatusNotFound)
		return
	}
	answerJSON(w, state)
}

func answerJSON(w http.ResponseWriter, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // The client may be gone.
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, object observe.Key) {
	if why := s.source.NotDecided(object); why != "" {
		http.Error(w, fmt.Sprintf("plimsoll does not act on %s %s: %s", object.Kind, object.NamespacedName, why),
			http.StatusConflict)
		return
	}
	step, err := s.next(r.Context(), object)
	if err != nil {
		why := "there is no such object, or another replica leads"
		if s.source.Knows(object) {
			why = "this replica leads, and is late with its decisions; the last one is in the object's status"
		}
		http.Error(w, fmt.Sprintf("no decision on %s %s within %s: %s", object.Kind, object.NamespacedName, s.wait, why),
			http.StatusGatewayTimeout)
		return
	}
	var document bytes.Buffer
	if err := snapshothorizontal.Encode(&document, step); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(document.Bytes()) // The client may be gone.
}

// next waits for the next decision on the object.
func (s *Server) next(ctx context.Context, object observe.Key) (*snapshothorizontal.Step, error) {
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	received := make(chan *snapshothorizontal.Step, 1)
	stop := s.source.Inspect(object, func(step *snapshothorizontal.Step, _ *horizontal.Decision) {
		select {
		case received <- step:
		default: // next returns the first one
		}
	})
	defer stop()
	select {
	case step := <-received:
		return step, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
