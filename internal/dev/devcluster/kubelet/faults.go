package kubelet

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// NodeFault is the fault of a node's endpoint, on all of its paths. The zero value is a sound node.
type NodeFault struct {
	// Delay comes before the answer, or before the failure.
	Delay time.Duration
	// HangUp ends the connection without an answer, as a kubelet that is gone.
	HangUp bool
	// Status, if not 0, is all that is answered, for example 500.
	Status int
	// Body, if not nil, is answered instead of the metrics: text that no decoder takes.
	Body []byte
}

// PodFault is the fault of the metrics of a pod. The zero value is a sound pod.
type PodFault struct {
	// Missing leaves the pod out of both endpoints.
	Missing bool
	// Value, if not nil, replaces the CPU and memory of the pod and its containers in /metrics/resource. It may be
	// NaN, infinite or negative, which the types of /stats/summary cannot express.
	Value *float64
}

// Faults are the present faults of all nodes and pods. It is safe for concurrent use; its zero value has none.
type Faults struct {
	mu sync.RWMutex
	// guarded by mu
	nodes map[string]NodeFault
	pods  map[types.NamespacedName]PodFault
}

// SetNode sets a node's fault; the zero value heals it.
func (f *Faults) SetNode(node string, fault NodeFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes == nil {
		f.nodes = map[string]NodeFault{}
	}
	f.nodes[node] = fault
}

// SetPod sets a pod's fault; the zero value heals it.
func (f *Faults) SetPod(namespace, pod string, fault PodFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: pod}
	if fault == (PodFault{}) {
		delete(f.pods, key)
		return
	}
	if f.pods == nil {
		f.pods = map[types.NamespacedName]PodFault{}
	}
	f.pods[key] = fault
}

// Clear heals everything.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes, f.pods = nil, nil
}

func (f *Faults) node(name string) NodeFault {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.nodes[name]
}

func (f *Faults) pod(ref stats.PodReference) PodFault {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.pods[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]
}

// wrap applies a node's fault before the sound handler.
func (f *Faults) wrap(node string, sound http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault := f.node(node)
		if timing.Pause(r.Context(), fault.Delay) != nil {
			return
		}
		switch {
		case fault.HangUp:
			panic(http.ErrAbortHandler) // net/http's way to close a connection without an answer
		case fault.Status != 0:
			http.Error(w, http.StatusText(fault.Status), fault.Status)
		case fault.Body != nil:
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_, _ = w.Write(fault.Body)
		default:
			sound.ServeHTTP(w, r)
		}
	})
}

// value is the honest one unless the pod lies.
func (f *Faults) value(pod stats.PodReference, honest float64) float64 {
	if lie := f.pod(pod).Value; lie != nil {
		return *lie
	}
	return honest
}

// without leaves missing pods out of a copy of s.
func (f *Faults) without(s *stats.Summary) *stats.Summary {
	kept := *s
	kept.Pods = make([]stats.PodStats, 0, len(s.Pods))
	for i := range s.Pods {
		if !f.pod(s.Pods[i].PodRef).Missing {
			kept.Pods = append(kept.Pods, s.Pods[i])
		}
	}
	return &kept
}
