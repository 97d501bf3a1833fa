package inspect

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// HistorySource has the recorded load of objects.
type HistorySource interface {
	// EncodedHistory returns an object's history as internal/loadhistory encodes it; nil if there is none. It is not whole
	// if the object's checkpoint may have more.
	EncodedHistory(object observe.Key) (encoded []byte, isWhole bool, err error)
	// EncodedMetricHistories returns the object's load by each metric; none for an unknown object or a single metric.
	EncodedMetricHistories(object observe.Key) ([]loadhistory.EncodedMetric, error)
}

// historyHeader is set to sinceStart if the object's checkpoint was not read, and may have an earlier load.
const (
	historyHeader = "Plimsoll-History"
	sinceStart    = "since-start"
)

// recordedOf returns the object whose history is requested. It responds itself if this process keeps no histories.
func (s *Server) recordedOf(w http.ResponseWriter, r *http.Request) (types.NamespacedName, bool) {
	object, ok := objectOf(w, r)
	if ok && s.history == nil {
		http.Error(w, "no history of loads is kept here", http.StatusNotFound)
		return object, false
	}
	return object, ok
}

// historyOf serves the recorded load of an object of the kind, without waiting.
func (s *Server) historyOf(kind observe.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		object, ok := s.recordedOf(w, r)
		if !ok {
			return
		}
		encoded, isWhole, err := s.history.EncodedHistory(observe.Key{NamespacedName: object, Kind: kind})
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case encoded == nil:
			http.Error(w, fmt.Sprintf("there is no history of %s %s here: this controller does not scale it, has "+
				"made no decision on it yet, or does not lead", kind, object), http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", "application/octet-stream")
			if !isWhole {
				w.Header().Set(historyHeader, sinceStart)
			}
			_, _ = w.Write(encoded) // The client may be gone.
		}
	}
}

func (s *Server) metricHistoriesOf(kind observe.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		object, ok := s.recordedOf(w, r)
		if !ok {
			return
		}
		all, err := s.history.EncodedMetricHistories(observe.Key{NamespacedName: object, Kind: kind})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answerJSON(w, all)
	}
}
