package status

import (
	"fmt"
	"strings"
	"time"
)

// FindingKind is what is wrong with an object, or with its workload. Every finding is a condition of the object as
// long as it is true.
type FindingKind uint8

// The kinds.
const (
	// ConfigInvalid: the object asks for what cannot be done; the rest of it is done.
	ConfigInvalid FindingKind = iota
	// TargetShared: another object changes pods of the same workload.
	TargetShared
	// MetricsMissing: containers run, and no source of metrics says what they use.
	MetricsMissing
	// CPUContended: a container does not get the CPU that it wants, which use alone does
	// not show.
	CPUContended
	// FindingKinds is how many there are.
	FindingKinds
)

// String is the type of the condition.
func (k FindingKind) String() string {
	return [...]string{"ConfigInvalid", "TargetShared", "MetricsMissing", "CPUContended"}[k]
}

// Reason is the condition's.
func (k FindingKind) Reason() string {
	return [...]string{"Invalid", "SeveralAutoscalers", "NoSamples", "LimitOrNode"}[k]
}

// Finding is the result of the check for one kind. A kind that was not checked has none,
// and its condition stays as it is.
type Finding struct {
	Kind FindingKind
	// Message says what is wrong; empty if nothing is.
	Message string
}

// FindShared is the finding about a workload that these objects change, of which the first
// one wins.
func FindShared(kind, name string, objects []string) Finding {
	f := Finding{Kind: TargetShared}
	if len(objects) > 1 {
		f.Message = fmt.Sprintf("%s %s has several: %s; %s%s", kind, name, strings.Join(objects, ", "), objects[0], applies)
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
	// missingIntervals without a sample are too many, and missingFor is how long they take
	// at least: a pod that has just started is measured after a while.
	missingIntervals = 3
	missingFor       = time.Minute
)

// FindMissing is the finding about containers that were last measured, or needed not be, so
// long ago. They should be in every interval.
func FindMissing(unmeasured, interval time.Duration) Finding {
	f := Finding{Kind: MetricsMissing}
	if unmeasured > max(missingFor, missingIntervals*interval) {
		f.Message = "pods run, but neither their kubelets nor metrics.k8s.io report their usage: the recommendation is out " +
			"of date or missing"
	}
	return f
}
