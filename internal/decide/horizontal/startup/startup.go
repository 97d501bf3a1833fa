// Package startup measures how long new pods of a target take to become ready.
package startup

import (
	"slices"
	"time"
)

const (
	// size is the number of recorded times, and lifetime the time for which they are kept.
	size     = 20
	lifetime = 7 * 24 * time.Hour
	// longest bounds a time: a longer one counts as this. One beyond repaired is not a start-up, but a pod that was
	// repaired.
	longest, repaired = 15 * time.Minute, 40 * time.Minute
)

// Times are the last times from the creation of a pod until it was ready. The zero value has none.
type Times struct {
	list [size]taken
	// added is the number of times added so far.
	added int
}

type taken struct {
	// at is when the pod became ready, in seconds of the Unix epoch.
	at int64
	// seconds is rounded up.
	seconds int32
}

// Add records the start-up time of a pod that became ready then. The times of the API are whole seconds.
func (t *Times) Add(readyAt time.Time, took time.Duration) {
	if took < 0 || took > repaired {
		return
	}
	took = min(took, longest)
	t.list[t.added%size] = taken{at: readyAt.Unix(), seconds: int32((took + time.Second - 1) / time.Second)}
	t.added++
}

// Percentile90 returns the time that nine of ten pods did not exceed; 0 without any. A pod that was ready within the
// second of its creation counts as a second, to distinguish it from none.
func (t *Times) Percentile90(now time.Time) time.Duration {
	oldest := now.Add(-lifetime).Unix()
	var room [size]int32
	known := room[:0]
	for _, taken := range t.list[:min(t.added, size)] {
		if taken.at >= oldest {
			known = append(known, max(1, taken.seconds))
		}
	}
	if len(known) == 0 {
		return 0
	}
	slices.Sort(known)
	// The nearest rank: the smallest that 90 % of them do not exceed.
	return time.Duration(known[(len(known)*9+9)/10-1]) * time.Second
}
