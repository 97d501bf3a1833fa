package scaler

import (
	"strconv"
	"sync"

	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
)

// Metric is a metric of an object.
type Metric struct {
	Name  string
	Value float64
	// Target is the value for each replica. If it is 0, the key metricThreshold of the scaler's
	// metadata has it, as with the scaler of KEDA's own tests.
	Target float64
}

// State is the scaler's state of an object.
type State struct {
	IsActive bool
	Metrics  []Metric
}

// object identifies an object of calls.
type object struct{ namespace, name string }

func objectOf(ref *pb.ScaledObjectRef) object { return object{ref.GetNamespace(), ref.GetName()} }

// states are those of all objects, with the open streams.
type states struct {
	// mu guards the following.
	mu      sync.Mutex
	objects map[object]State
	streams map[object]map[chan bool]struct{}
	calls   map[Call]int
}

func newStates() *states {
	return &states{objects: map[object]State{}, streams: map[object]map[chan bool]struct{}{}, calls: map[Call]int{}}
}

func (s *states) set(o object, state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[o] = state
}

// of is the state of an object: its own, or that of all objects without one.
func (s *states) of(call Call, ref *pb.ScaledObjectRef) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[call]++
	if state, isSet := s.objects[objectOf(ref)]; isSet {
		return state
	}
	return s.objects[object{}]
}

// open adds a stream. It is removed by the function.
func (s *states) open(ref *pb.ScaledObjectRef) (<-chan bool, func()) {
	// A push does not wait for streams. More than this many pushes at once are not needed by any test.
	const pending = 64
	stream, o := make(chan bool, pending), objectOf(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[o] == nil {
		s.streams[o] = map[chan bool]struct{}{}
	}
	s.streams[o][stream] = struct{}{}
	return stream, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams[o], stream)
	}
}

// push is the number of streams that get it.
func (s *states) push(o object, isActive bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	pushed := 0
	for stream := range s.streams[o] {
		select {
		case stream <- isActive:
			pushed++
		default:
		}
	}
	return pushed
}

func (s *states) called(call Call) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[call]
}

// spec is the metric as the protocol has it. Older scalers have whole numbers only.
func (m *Metric) spec(metadata map[string]string) *pb.MetricSpec {
	target := m.Target
	if threshold, err := strconv.ParseFloat(metadata["metricThreshold"], 64); target == 0 && err == nil {
		target = threshold
	}
	spec := &pb.MetricSpec{MetricName: m.Name}
	if isWhole(target) {
		spec.TargetSize = int64(target)
	} else {
		spec.TargetSizeFloat = target
	}
	return spec
}

func (m *Metric) value() *pb.MetricValue {
	value := &pb.MetricValue{MetricName: m.Name}
	if isWhole(m.Value) {
		value.MetricValue = int64(m.Value)
	} else {
		value.MetricValueFloat = m.Value
	}
	return value
}

func isWhole(f float64) bool { return f == float64(int64(f)) }
