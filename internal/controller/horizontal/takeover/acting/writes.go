package acting

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// FieldManager is Plimsoll's name in managedFields. Other installations in the cluster add
// a slash and something of their own, and so find each other.
const FieldManager = "plimsoll"

// Write is a write of an object's status: by which field manager, and when by the API server's
// clock. The zero Write is none.
type Write struct {
	By string
	At time.Time
}

// Writes are the newest writes of an object's status.
type Writes struct {
	// Own is when this installation wrote it; zero if it did not.
	Own time.Time
	// Other is the newest write of another controller. Junior is that of an installation of
	// Plimsoll that leaves the object to this one.
	Other, Junior Write
}

// WritesOf reads them from managedFields, for the installation of this name. Those that were there before are left out.
//
// Whether a write is new is decided by comparing with what was there before, not with a clock of this machine: the
// times in managedFields count whole seconds, and an entry keeps its time when parts of it go over to Plimsoll.
func WritesOf(fields, before []metav1.ManagedFieldsEntry, own string) Writes {
	var w Writes
	for i := range fields {
		entry := &fields[i]
		if entry.Subresource != "status" || entry.Time == nil || has(before, entry) {
			continue
		}
		if entry.Manager == own {
			w.Own = timing.Later(w.Own, entry.Time.Time)
			continue
		}
		of := &w.Other
		if isJunior(entry.Manager, own) {
			of = &w.Junior
		}
		if entry.Time.After(of.At) {
			*of = Write{By: entry.Manager, At: entry.Time.Time}
		}
	}
	return w
}

func has(entries []metav1.ManagedFieldsEntry, entry *metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == entry.Manager && e.Subresource == entry.Subresource && e.Time.Equal(entry.Time)
	})
}

// last is the newest write of any other controller.
func (w *Writes) last() Write {
	if w.Junior.At.After(w.Other.At) {
		return w.Junior
	}
	return w.Other
}

// isJunior reports whether a writer is another Plimsoll that leaves objects to this one. Of two
// Plimsolls that find each other one has to go on, or both would stop and come back together.
func isJunior(manager, own string) bool {
	return strings.HasPrefix(manager, FieldManager+"/") && own < manager
}

// isInstallation reports whether a writer is a Plimsoll.
func isInstallation(manager string) bool {
	return manager == FieldManager || strings.HasPrefix(manager, FieldManager+"/")
}
