package adapter

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/apiserver"
)

// Fault is the fault of a metric. Its parts can be combined; the zero value is a sound metric.
type Fault struct {
	// Delay comes before the answer, or before the failure.
	Delay time.Duration
	// Err, if not empty, is the message of an internal error, answered instead of a value.
	Err string
	// Body, if not nil, is the response as JSON: a list that does not decode. See [UndecodableList].
	Body []byte
	// Value, if not nil, replaces all values; it may be negative.
	Value *float64
	// Empty answers lists without items.
	Empty bool
	// Items adds this many items of objects that do not exist.
	Items int
}

// UndecodableList is a response that is JSON and of the right kind, with an invalid quantity. It is of
// custom.metrics.k8s.io/v1beta2, the version that HPAs request first, and of external.metrics.k8s.io/v1beta1.
func UndecodableList(external bool) []byte {
	group, kind := "custom.metrics.k8s.io/v1beta2", "MetricValueList"
	if external {
		group, kind = "external.metrics.k8s.io/v1beta1", "ExternalMetricValueList"
	}
	return fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{},"items":[{"value":"NaN"}]}`, kind, group)
}

// Faults are the present faults of all metrics. It is safe for concurrent use; its zero value has none.
type Faults struct {
	mu sync.RWMutex
	// guarded by mu
	metrics map[asked]Fault
}

// asked is a metric that is requested in a namespace; no namespace stands for all.
type asked struct{ namespace, metric string }

// Set sets the fault of a metric by its name; the zero value heals it.
func (f *Faults) Set(metric string, fault Fault) { f.SetIn("", metric, fault) }

// SetIn sets the fault of a metric for requests about one namespace, whatever it is elsewhere; the zero value
// heals it there. So tests side by side do not meet each other's faults.
func (f *Faults) SetIn(namespace, metric string, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.metrics == nil {
		f.metrics = map[asked]Fault{}
	}
	f.metrics[asked{namespace, metric}] = fault
}

// Clear heals everything.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.metrics = nil
}

func (f *Faults) of(namespace, metric string) Fault {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if fault, found := f.metrics[asked{namespace, metric}]; found {
		return fault
	}
	return f.metrics[asked{"", metric}]
}

// askedBy returns the metric of a path, empty for discovery and everything else, so that the API server considers the
// adapter available while a metric is down. A path of both groups ends with the metric's name.
func askedBy(urlPath string) asked {
	const apis, group, version = 1, 1, 1
	parts := strings.Split(strings.Trim(urlPath, "/"), "/")
	if len(parts) <= apis+group+version || parts[0] != "apis" {
		return asked{}
	}
	a := asked{metric: path.Base(urlPath)}
	if rest := parts[apis+group+version:]; rest[0] == "namespaces" && len(rest) > 2 {
		a.namespace = rest[1]
	}
	return a
}

// wrap applies the faults that are not about values. ctx is the server's.
func (f *Faults) wrap(ctx context.Context, sound http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := askedBy(r.URL.Path)
		fault := f.of(a.namespace, a.metric)
		if !wait(ctx, r.Context(), fault.Delay) {
			return
		}
		switch {
		case fault.Err != "":
			writeError(w, r, fault.Err)
		case fault.Body != nil:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(fault.Body)
		default:
			sound.ServeHTTP(w, r)
		}
	})
}

// writeError answers with a Status object, as an API server does.
func writeError(w http.ResponseWriter, r *http.Request, message string) {
	err := apierrors.NewInternalError(fmt.Errorf("%s", message))
	info, found := request.RequestInfoFrom(r.Context())
	if !found {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	groupVersion := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	responsewriters.ErrorNegotiated(err, apiserver.Codecs, groupVersion, w, r)
}

// wait is false if the server or the request ended first.
func wait(server, request context.Context, delay time.Duration) bool {
	if delay <= 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-request.Done():
		return false
	case <-server.Done():
		return false
	}
}

// distort takes samples away or adds some.
func (f Fault) distort(samples []sample) []sample {
	if f.Empty {
		samples = nil
	}
	for i := range f.Items {
		samples = append(samples, sample{name: fmt.Sprintf("ghost-%d", i), labels: map[string]string{}, value: 1})
	}
	return samples
}

func (f Fault) quantity(honest float64) resource.Quantity {
	if f.Value != nil {
		return milliQuantity(*f.Value)
	}
	return milliQuantity(honest)
}
