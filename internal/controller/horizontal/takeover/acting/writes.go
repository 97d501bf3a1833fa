package acting

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// FieldManager is Plimsoll's name in managedFields. Other installations in the cluster append a slash and a name of
// their own, so that each recognizes the others.
const FieldManager = "plimsoll"

// Write is a write of an object's status: the field manager, and the time by the API server's clock. The zero Write
// means none.
type Write struct {
	By string
	At time.Time
}

// Writes are the newest writes of an object's status.
type Writes struct {
	// Own is when this installation wrote it; zero if it did not.
	Own time.Time
	// Other is the newest write of another controller. Junior is that of an installation of Plimsoll that must leave the
	// object to this one.
	Other, Junior Write
}

// WritesOf reads the writes from managedFields, except those in before, for the installation of this name.
//
// It compares with before rather than with this machine's clock to find new writes: the times in managedFields are
// whole seconds, and an entry keeps its time when Plimsoll takes over parts of it.
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

// last returns the newest write of any other controller.
func (w *Writes) last() Write {
	if w.Junior.At.After(w.Other.At) {
		return w.Junior
	}
	return w.Other
}

// isJunior reports whether a writer is another Plimsoll that must leave objects to this one. One of two Plimsolls has
// to continue, or both would stop and resume together.
func isJunior(manager, own string) bool {
	return strings.HasPrefix(manager, FieldManager+"/") && own < manager
}

func isInstallation(manager string) bool {
	return manager == FieldManager || strings.HasPrefix(manager, FieldManager+"/")
}
