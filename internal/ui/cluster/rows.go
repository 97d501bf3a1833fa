package cluster

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

const (
	// mostCounts is the number of changes of a count kept for each row.
	mostCounts = 60
	// mostRemoved bounds the list of deleted rows in a delta. A page with an older revision gets all rows.
	mostRemoved = 10_000
)

// rows has the present autoscalers, and the revisions of their changes.
type rows struct {
	mu sync.Mutex
	// guarded by mu
	revision int64
	byID     map[string]*kept
	removed  []gone
	// ready has the number of ready pods of targets, and of has the rows of each target.
	ready map[target]int32
	of    map[target]map[string]bool
	// forgotten is the newest revision whose removals are no longer kept.
	forgotten int64
}

// kept is a row, and the revision of its last change.
type kept struct {
	row view.Row
	// seen has the observed counts and loads; the row has only the desired counts.
	seen     []view.Count
	revision int64
}

type gone struct {
	id       string
	revision int64
}

// target identifies a target: its namespace, and kind and name as in a row.
type target struct{ namespace, name string }

func newRows() *rows {
	return &rows{byID: map[string]*kept{}, ready: map[target]int32{}, of: map[target]map[string]bool{}}
}

// set sets a row that is new or may have changed.
func (r *rows) set(row *view.Row, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.byID[row.ID]
	next := &kept{}
	row.Counts = nil
	if before != nil {
		row.Counts, next.seen = before.row.Counts, before.seen
	}
	next.seen = withCount(next.seen, row, now)
	if n := len(next.seen); n > 0 {
		row.Counts = withDesired(row.Counts, next.seen[n-1])
	}
	r.pointLocked(row, before)
	r.revision++
	next.row, next.revision = *row, r.revision
	r.byID[row.ID] = next
}

// pointLocked records a row's target, and sets the number of its ready pods.
func (r *rows) pointLocked(row *view.Row, before *kept) {
	to := target{row.Namespace, row.Target}
	if before != nil && before.row.Target != row.Target {
		r.unpointLocked(&before.row)
	}
	if r.of[to] == nil {
		r.of[to] = map[string]bool{}
	}
	r.of[to][row.ID] = true
	row.Ready = nil
	if n, ok := r.ready[to]; ok {
		row.Ready = &n
	}
}

func (r *rows) unpointLocked(row *view.Row) {
	from := target{row.Namespace, row.Target}
	if delete(r.of[from], row.ID); len(r.of[from]) == 0 {
		delete(r.of, from)
	}
}

// setReady sets the number of ready pods of a target; nil if it is no longer known.
func (r *rows) setReady(of target, n *int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, ok := r.ready[of]
	switch {
	case n == nil && !ok, n != nil && ok && *n == before:
		return
	case n == nil:
		delete(r.ready, of)
	default:
		r.ready[of] = *n
	}
	for id := range r.of[of] {
		next := *r.byID[id]
		next.row.Ready = n
		r.revision++
		next.revision = r.revision
		r.byID[id] = &next
	}
}

// withDesired appends a count if the desired count differs, which is all that the overview shows. It does not change
// the list in place, because readers share it.
func withDesired(counts []view.Count, next view.Count) []view.Count {
	n := len(counts)
	if n > 0 && counts[n-1].Desired == next.Desired {
		return counts
	}
	return append(slices.Clone(counts[max(0, n+1-mostCounts):]), view.Count{
		At: next.At, Desired: next.Desired, Current: next.Current,
	})
}

// withCount appends the desired count if it or the load differs. It does not change the list in place, because readers
// share it.
func withCount(counts []view.Count, row *view.Row, now time.Time) []view.Count {
	if row.Desired == nil || row.Current == nil {
		return counts
	}
	next := view.Count{At: now.UnixMilli(), Desired: *row.Desired, Current: *row.Current}
	if row.Load != nil {
		next.Ratio = row.Load.Ratio
	}
	if n := len(counts); n > 0 && isSame(&counts[n-1], &next) {
		return counts
	}
	from := max(0, len(counts)+1-mostCounts)
	return append(slices.Clone(counts[from:]), next)
}

func isSame(a, b *view.Count) bool {
	return a.Desired == b.Desired && a.Current == b.Current && (a.Ratio == nil) == (b.Ratio == nil) &&
		(a.Ratio == nil || *a.Ratio == *b.Ratio)
}

func (r *rows) remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID[id] == nil {
		return
	}
	r.unpointLocked(&r.byID[id].row)
	delete(r.byID, id)
	r.revision++
	r.removed = append(r.removed, gone{id, r.revision})
	if extra := len(r.removed) - mostRemoved; extra > 0 {
		r.forgotten = r.removed[extra-1].revision
		r.removed = slices.Delete(r.removed, 0, extra)
	}
}

// row returns a row, with all observed counts and loads.
func (r *rows) row(id string) (view.Row, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.byID[id]; k != nil {
		row := k.row
		row.Counts = k.seen
		return row, true
	}
	return view.Row{}, false
}

// since adds the changes after a revision: everything after 0, or after one that is too old or from another process.
func (r *rows) since(revision int64, into *view.Overview) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if revision < r.forgotten || revision > r.revision {
		revision = 0
	}
	into.Revision, into.IsWhole = r.revision, revision == 0
	into.Rows, into.Removed = []view.Row{}, []string{}
	for _, k := range r.byID {
		if k.revision > revision {
			into.Rows = append(into.Rows, k.row)
		}
	}
	slices.SortFunc(into.Rows, func(a, b view.Row) int { return strings.Compare(a.ID, b.ID) })
	if into.IsWhole {
		return
	}
	for _, g := range r.removed {
		if g.revision > revision && r.byID[g.id] == nil {
			into.Removed = append(into.Removed, g.id)
		}
	}
}
