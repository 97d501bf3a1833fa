// Package condition has status conditions, and sets them in lists. Conditions are the same in the status of a
// HorizontalPodAutoscaler and of a VerticalPodAutoscaler; only their types in the API differ.
package condition

import (
	"cmp"
	"slices"
	"time"
)

// Status is a condition's status, as the API writes it.
type Status string

// The statuses.
const (
	True    Status = "True"
	False   Status = "False"
	Unknown Status = "Unknown"
)

// StatusOf returns True or False.
func StatusOf(isTrue bool) Status {
	if isTrue {
		return True
	}
	return False
}

// Condition is a condition of an object's status.
type Condition struct {
	Type            string
	Status          Status
	Reason, Message string
	// Since is the time of the last change of Status: lastTransitionTime.
	Since time.Time
	// Transitioned renews Since even if the status is the same: it changed and changed back.
	Transitioned bool
}

// IsSame reports whether both are equal, except for Since, which changes only with the status.
func (c *Condition) IsSame(other *Condition) bool {
	return c.Type == other.Type && c.Status == other.Status && c.Reason == other.Reason && c.Message == other.Message
}

// List accesses a list of conditions, which has each type once.
type List[C any] struct {
	// Type is an element's; Read and Write translate from and to elements.
	Type  func(*C) string
	Read  func(*C) Condition
	Write func(Condition) C
	// IsSorted lists are in the order of their types. In others a condition stays where
	// it was first set.
	IsSorted bool
}

// Sorted are conditions in the order of their types, Unsorted those in the order in
// which they were first set.
var (
	Sorted   = List[Condition]{Type: typeOf, Read: read, Write: write, IsSorted: true}
	Unsorted = List[Condition]{Type: typeOf, Read: read, Write: write}
)

func typeOf(c *Condition) string { return c.Type }

func read(c *Condition) Condition { return *c }

func write(c Condition) Condition { return c }

// Set sets the condition of its type. A condition with the same status keeps its time. It reports whether anything but
// the time has changed.
func (l *List[C]) Set(all []C, c Condition) ([]C, bool) {
	i := l.find(all, c.Type)
	if i < 0 {
		return slices.Insert(all, l.placeOf(all, c.Type), l.Write(c)), true
	}
	before := l.Read(&all[i])
	if before.Status == c.Status && !c.Transitioned {
		c.Since = before.Since
		if before.IsSame(&c) {
			return all, false
		}
	}
	all[i] = l.Write(c)
	return all, true
}

// Remove removes all conditions of this type: other writers may have added several.
func (l *List[C]) Remove(all []C, kind string) (remaining []C, isChanged bool) {
	for i := l.find(all, kind); i >= 0; i = l.find(all, kind) {
		all, isChanged = slices.Delete(all, i, i+1), true
	}
	return all, isChanged
}

// IsTrue reports whether the condition of this type is there and True.
func (l *List[C]) IsTrue(all []C, kind string) bool {
	i := l.find(all, kind)
	return i >= 0 && l.Read(&all[i]).Status == True
}

// Sort sorts conditions, which others may have written, by their types.
func (l *List[C]) Sort(all []C) {
	slices.SortStableFunc(all, func(a, b C) int { return cmp.Compare(l.Type(&a), l.Type(&b)) })
}

func (l *List[C]) find(all []C, kind string) int {
	for i := range all {
		if l.Type(&all[i]) == kind {
			return i
		}
	}
	return -1
}

func (l *List[C]) placeOf(all []C, kind string) int {
	if l.IsSorted {
		for i := range all {
			if l.Type(&all[i]) > kind {
				return i
			}
		}
	}
	return len(all)
}
