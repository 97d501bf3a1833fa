package status

import (
	"fmt"
	"strings"
	"time"
)

// FindingKind is a kind of problem of an object, or of its workload. Every finding is a condition of the object while
// it holds.
type FindingKind uint8

// The kinds.
const (
	// ConfigInvalid: a setting of the object is impossible; the others apply.
	ConfigInvalid FindingKind = iota
	// ConfigIneffective: a policy is for a container that no pod has, or all containers are left out.
	ConfigIneffective
	// TargetShared: another object changes pods of the same workload.
	TargetShared
	// MetricsMissing: containers run, and no source of metrics has their use.
	MetricsMissing
	// CPUContended: a container gets less CPU than it needs, which its use alone does not show.
	CPUContended
	// FindingKinds is how many there are.
	FindingKinds
)

// String returns the type of the condition.
func (k FindingKind) String() string {
	return [...]string{"ConfigInvalid", "ConfigIneffective", "TargetShared", "MetricsMissing", "CPUContended"}[k]
}

// Reason returns the condition's.
func (k FindingKind) Reason() string {
	return [...]string{"Invalid", "ContainerPolicies", "SeveralAutoscalers", "NoSamples", "LimitOrNode"}[k]
}

// Finding is the result of the check for one kind. A kind that was not checked has none, and its condition does not
// change.
type Finding struct {
	Kind FindingKind
	// Message describes the problem; empty if there is none.
	Message string
}

// FindShared returns the finding about a workload that several objects change; the first one takes precedence.
func FindShared(kind, name string, objects []string) Finding {
	f := Finding{Kind: TargetShared}
	if len(objects) > 1 {
		f.Message = fmt.Sprintf("%s %s has several VerticalPodAutoscalers: %s; %s%s", kind, name,
			strings.Join(objects, ", "), objects[0], applies)
	}
	return f
}

// applies ends the message about a shared workload.
const applies = " applies to its pods"

// AppliesOf is the object that applies by the message of FindShared; empty for another message.
func AppliesOf(message string) string {
	text, isShared := strings.CutSuffix(message, applies)
	if !isShared {
		return ""
	}
	return text[strings.LastIndex(text, " ")+1:]
}

const (
	// missingIntervals is the number of intervals without a sample from which metrics count as missing, and missingFor the
	// shortest time for that: the first sample of a pod takes a while.
	missingIntervals = 3
	missingFor       = time.Minute
)

// FindMissing returns the finding about containers without a sample for the time unmeasured. There should be one in
// every interval.
func FindMissing(unmeasured, interval time.Duration) Finding {
	f := Finding{Kind: MetricsMissing}
	if unmeasured > max(missingFor, missingIntervals*interval) {
		f.Message = "pods run, but neither their kubelets nor metrics.k8s.io report their usage: the recommendation is out " +
			"of date or missing"
	}
	return f
}
