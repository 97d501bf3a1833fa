package status

import (
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// meaningful is the relative change of a number that is worth a write: usage is never twice the same.
const meaningful = 0.02

// Urgent reports whether the statuses differ in the fields that people and programs wait for: counts, the generation,
// conditions, which metrics there are. It ignores messages and numbers, and conditions that measurement noise can
// toggle.
func Urgent(before, after *observehorizontal.Status) bool {
	if countsDiffer(before, after) ||
		len(before.Conditions) != len(after.Conditions) || len(before.Metrics) != len(after.Metrics) {
		return true
	}
	for i := range after.Conditions {
		if b, a := &before.Conditions[i], &after.Conditions[i]; turns(b, a) && !isNoise(b, a) {
			return true
		}
	}
	for i := range after.Metrics {
		if before.Metrics[i].Type != after.Metrics[i].Type {
			return true
		}
	}
	return false
}

// countsDiffer reports whether the statuses differ in the replica counts, in the time of the last scaling, or in the
// generation.
func countsDiffer(before, after *observehorizontal.Status) bool {
	return before.CurrentReplicas != after.CurrentReplicas || before.DesiredReplicas != after.DesiredReplicas ||
		!equality.Semantic.DeepEqual(before.LastScaleTime, after.LastScaleTime) ||
		!equality.Semantic.DeepEqual(before.ObservedGeneration, after.ObservedGeneration)
}

// Turned reports whether the statuses differ in a condition, or in which metrics have values. If Urgent is false for
// them, it is a condition that measurement noise toggles, at the edge of the tolerance or of a limit.
func Turned(before, after *observehorizontal.Status) bool {
	if len(before.Conditions) != len(after.Conditions) {
		return true
	}
	for i := range after.Conditions {
		if turns(&before.Conditions[i], &after.Conditions[i]) {
			return true
		}
	}
	return !slices.EqualFunc(before.Metrics, after.Metrics,
		func(b, a observehorizontal.MetricValue) bool { return b.Type == a.Type })
}

// Part is a part of a status, with its value: a condition, or whether a metric has values.
type Part struct{ Name, Value string }

// Turns returns the parts in which two statuses differ urgently, with both values. areAll is false if something else
// differs urgently, such as a replica count, which measurements do not toggle back and forth.
func Turns(before, after *observehorizontal.Status) (was, is []Part, areAll bool) {
	if countsDiffer(before, after) || len(before.Conditions) != len(after.Conditions) {
		return nil, nil, false
	}
	add := func(name, b, a string) { was, is = append(was, Part{name, b}), append(is, Part{name, a}) }
	for i := range after.Conditions {
		b, a := &before.Conditions[i], &after.Conditions[i]
		if !turns(b, a) || isNoise(b, a) {
			continue
		}
		if b.Type != a.Type || b.Status == a.Status && b.Reason == a.Reason {
			return nil, nil, false
		}
		add(a.Type, string(b.Status)+" "+b.Reason, string(a.Status)+" "+a.Reason)
	}
	if b, a := len(before.Metrics), len(after.Metrics); b != a {
		add("currentMetrics", strconv.Itoa(b), strconv.Itoa(a))
		return was, is, true
	}
	for i := range after.Metrics {
		if b, a := before.Metrics[i].Type, after.Metrics[i].Type; b != a {
			add("currentMetrics "+strconv.Itoa(i), string(b), string(a))
		}
	}
	return was, is, true
}

// ValuesDiffer reports whether a number of a metric that both statuses have differs meaningfully.
func ValuesDiffer(before, after *observehorizontal.Status) bool {
	if len(before.Metrics) != len(after.Metrics) {
		return false
	}
	for i := range after.Metrics {
		b, a := &before.Metrics[i], &after.Metrics[i]
		if b.Type == a.Type && hasMoved(b, a) {
			return true
		}
	}
	return false
}

func turns(b, a *condition.Condition) bool {
	return b.Type != a.Type || b.Status != a.Status || b.Reason != a.Reason ||
		!b.Since.Equal(a.Since)
}

// isNoise reports whether measurement noise can toggle the condition: whether a limit binds, and the reason why scaling
// is possible. A change to impossible is never noise.
func isNoise(b, a *condition.Condition) bool {
	if b.Type != a.Type {
		return false
	}
	isPossible := b.Status == condition.True && a.Status == condition.True &&
		(b.Reason == statusreport.AnotherAutoscaler) == (a.Reason == statusreport.AnotherAutoscaler)
	return a.Type == statusreport.ScalingLimited || a.Type == statusreport.AbleToScale && isPossible
}

// Moved reports whether statuses without urgent differences differ meaningfully: in a message, or by more than 2 % in a
// number.
func Moved(before, after *observehorizontal.Status) bool {
	for i := range after.Conditions {
		if before.Conditions[i].Message != after.Conditions[i].Message {
			return true
		}
	}
	for i := range after.Metrics {
		if hasMoved(&before.Metrics[i], &after.Metrics[i]) {
			return true
		}
	}
	return false
}

func hasMoved(b, a *observehorizontal.MetricValue) bool {
	return differs(quantity(b.Value), quantity(a.Value)) || differs(quantity(b.AverageValue), quantity(a.AverageValue)) ||
		differs(percent(b.AverageUtilization), percent(a.AverageUtilization))
}

// number is an optional number of a status.
type number struct {
	value   float64
	isKnown bool
}

func quantity(q *resource.Quantity) number {
	if q == nil {
		return number{}
	}
	return number{value: q.AsApproximateFloat64(), isKnown: true}
}

func percent(p *int32) number {
	if p == nil {
		return number{}
	}
	return number{value: float64(*p), isKnown: true}
}

func differs(before, after number) bool {
	return before.isKnown != after.isKnown ||
		math.Abs(after.value-before.value) > meaningful*math.Abs(before.value)
}
