// Package inspect serves the inputs of the next decision on an object, as a snapshot that can be explained, replayed
// and saved.
//
// It listens on the loopback address alone, so that clients need pods/portforward, which RBAC grants. It changes
// nothing and delays no decision.
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
	// maxWaiting is how many may wait for a decision at once.
	maxWaiting = 8
	// MaxWait is how long one waits: an object that is there is decided well before.
	MaxWait = 20 * time.Second
	// writeTimeout leaves time to send a large snapshot.
	writeTimeout = MaxWait + 10*time.Second
)

// Source passes decisions to inspectors.
type Source interface {
	Inspect(object observe.Key, inspector controllerhorizontal.Inspector) (stop func())
	// NotDecided says why Plimsoll does not act on an object; empty if it does.
	NotDecided(object observe.Key) string
}

// VerticalSource returns the history of an object on the vertical side: the flags and the updater's part of a
// snapshot. It is nil for an object that is ignored.
type VerticalSource interface {
	UpdaterState(object types.NamespacedName) *snapshotvertical.Snapshot
}

// Sources are what the server knows from. What does not run here is nil.
type Sources struct {
	Horizontal Source
	Vertical   VerticalSource
	History    HistorySource
}

// Server answers on a loopback address.
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

// New checks that the address is a loopback one. It listens on nothing yet.
func New(address string, sources Sources, log logr.Logger) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("inspection address: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("inspection address %s: must be a loopback address, as whoever reaches it sees what "+
			"every object is decided on", address)
	}
	return &Server{address: address, source: sources.Horizontal, vertical: sources.Vertical, history: sources.History,
		waiting: make(chan struct{}, maxWaiting), wait: MaxWait, log: log}, nil
}

// Start answers until ctx ends.
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

// Handler answers GET /RESOURCE/NAMESPACE/NAME/snapshot with a YAML document that plimsoll
// evaluate reads; RESOURCE is horizontalpodautoscalers or workloadautoscalers. An object on
// which Plimsoll does not act is a 409 that says why. Elsewhere than in the leader nothing is
// decided: 504. GET /RESOURCE/NAMESPACE/NAME/history is answered with the object's recorded load, as
// internal/loadhistory encodes it, with a header Plimsoll-History: since-start where its checkpoint was
// not read and may have what was before; 404 if there is none. GET /RESOURCE/NAMESPACE/NAME/metric-histories
// is answered with the load by each metric, a list of loadhistory.EncodedMetric as JSON. GET
// /verticalpodautoscalers/NAMESPACE/NAME/updater is answered with what the vertical side
// remembers of an object, a VerticalSnapshot as JSON; 404 if that is nothing.
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

// horizontalKinds are the kinds that are decided here; none where the horizontal side does not run.
func (s *Server) horizontalKinds() []observe.Kind {
	if s.source == nil {
		return nil
	}
	return []observe.Kind{observe.HorizontalPodAutoscaler, observe.WorkloadAutoscaler}
}

// snapshot answers with the inputs of the next decision on an object of the kind.
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
			http.Error(w, fmt.Sprintf("%d others wait already; try again", maxWaiting), http.StatusTooManyRequests)
			return
		}
		s.answer(w, r, observe.Key{NamespacedName: object, Kind: kind})
	}
}

// objectOf is the object that is asked about. An answer is given where none can be.
func objectOf(w http.ResponseWriter, r *http.Request) (types.NamespacedName, bool) {
	object := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	if len(validation.IsDNS1123Label(object.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(object.Name)) > 0 {
		http.Error(w, "no such name can be", http.StatusBadRequest)
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
		http.Error(w, fmt.Sprintf("no decision on %s %s within %s: there is no such object, or another replica leads",
			object.Kind, object.NamespacedName, s.wait), http.StatusGatewayTimeout)
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

// next is what the next decision on the object is made of.
func (s *Server) next(ctx context.Context, object observe.Key) (*snapshothorizontal.Step, error) {
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	told := make(chan *snapshothorizontal.Step, 1)
	stop := s.source.Inspect(object, func(step *snapshothorizontal.Step, _ *horizontal.Decision) {
		select {
		case told <- step:
		default: // an earlier one is taken
		}
	})
	defer stop()
	select {
	case step := <-told:
		return step, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
