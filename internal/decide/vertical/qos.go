package vertical

// QoS is a pod's quality of service class. It cannot change while the pod lives.
type QoS uint8

// The classes.
const (
	QoSUnknown QoS = iota
	BestEffort
	Burstable
	Guaranteed
)

var qosClasses = [...]string{"", "BestEffort", "Burstable", "Guaranteed"}

// String returns the API's name.
func (q QoS) String() string { return qosClasses[q] }

// QoS returns the class of a pod with this container alone: Guaranteed if both resources are limited to what is
// requested, BestEffort if there is neither a request nor a limit (pkg/apis/core/v1/helper/qos/qos.go, v1.37).
func (r *Resized) QoS() QoS {
	bestEffort, guaranteed := true, true
	for resource := range Resource(Resources) {
		request, _ := r.Requests.Get(resource)
		limit, _ := r.Limits.Get(resource)
		bestEffort = bestEffort && request == 0 && limit == 0
		guaranteed = guaranteed && limit != 0 && request == limit
	}
	switch {
	case bestEffort:
		return BestEffort
	case guaranteed:
		return Guaranteed
	}
	return Burstable
}

// With returns the class of a pod that has the containers of both: the same, or Burstable. Unknown means no containers.
func (q QoS) With(other QoS) QoS {
	switch {
	case q == QoSUnknown, q == other:
		return other
	case other == QoSUnknown:
		return q
	}
	return Burstable
}
