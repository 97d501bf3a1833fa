package fairqueue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pushed pushes items of these names in this order.
func pushed(q *Queue[string], names ...string) {
	for _, name := range names {
		q.Push(&Item[string]{Of: name}, 0)
	}
}

// next starts what may run, in one text.
func next(q *Queue[string]) string {
	var started []string
	for name, ok := q.Next(); ok; name, ok = q.Next() {
		started = append(started, name)
	}
	return strings.Join(started, " ")
}

// TestTurns: namespaces take turns, in each its objects, and the items of an object go in order.
func TestTurns(t *testing.T) {
	q := New[string](nil, 100)
	a, b := New(q, 100), New(q, 100)
	a1, a2 := New(a, 100), New(a, 100)
	pushed(a1, "a/1/1", "a/1/2", "a/1/3")
	pushed(a2, "a/2/1", "a/2/2")
	pushed(b, "b/1", "b/2")
	if got, want := next(q), "a/1/1 b/1 a/2/1 b/2 a/1/2 a/2/2 a/1/3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestTurnsAfterAPause: a queue that was empty has its turn after those that wait, however seldom it has items.
func TestTurnsAfterAPause(t *testing.T) {
	q := New[string](nil, 1)
	a, b := New(q, 1), New(q, 1)
	pushed(a, "a/1", "a/2", "a/3")
	var order []string
	for i := range 4 {
		if i == 1 {
			pushed(b, "b/1")
		}
		name, _ := q.Next()
		order = append(order, name)
		if strings.HasPrefix(name, "a") {
			a.Done()
		} else {
			b.Done()
		}
	}
	if want := []string{"a/1", "a/2", "b/1", "a/3"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
}

// TestLimits: a queue above its limit leaves its turn to the others, and has it when something of it is done.
func TestLimits(t *testing.T) {
	q := New[string](nil, 3)
	a, b := New(q, 1), New(q, 3)
	pushed(a, "a/1", "a/2")
	pushed(b, "b/1", "b/2", "b/3")
	if got := next(q); got != "a/1 b/1 b/2" {
		t.Errorf("%s began", got)
	}
	b.Done()
	if got := next(q); got != "b/3" {
		t.Errorf("%s began after one of b", got)
	}
	a.Done()
	if got := next(q); got != "a/2" {
		t.Errorf("%s began after one of a", got)
	}
	if a.TryStart() || q.TryStart() {
		t.Error("the limit is exceeded by one")
	}
	b.Done()
	if a.TryStart() || !b.TryStart() || q.Running() != 3 {
		t.Errorf("%d run", q.Running())
	}
}

// TestKeepsRoom: a few queues with much to do leave half of what is free to the next.
func TestKeepsRoom(t *testing.T) {
	q := New[string](nil, 16)
	q.KeepsRoom = true
	var counts []int
	for range 6 {
		below := New(q, 100)
		pushed(below, slices.Repeat([]string{"x"}, 20)...)
		next(q)
		counts = append(counts, below.Running())
	}
	if want := []int{5, 4, 2, 2, 1, 1}; !slices.Equal(counts, want) {
		t.Errorf("they run %d, want %d", counts, want)
	}
}

// TestRanks: a lower rank goes first; of two that are equal, the one that was pushed first.
func TestRanks(t *testing.T) {
	q := New[string](nil, 10)
	for _, rank := range []int64{3, 1, 2, 1} {
		q.Push(&Item[string]{Of: fmt.Sprint(rank, "-", q.Waiting())}, rank)
	}
	if got, want := next(q), "1-1 1-3 2-2 3-0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestMoveTo: a queue takes what waits and what runs with it, and has its turn last.
func TestMoveTo(t *testing.T) {
	q := New[string](nil, 10)
	quick, slow := New(q, 2), New(q, 1)
	a, b := New(quick, 10), New(slow, 10)
	pushed(b, "b/1")
	pushed(a, "a/1", "a/2", "a/3")
	if got := next(q); got != "b/1 a/1 a/2" {
		t.Errorf("%s began", got)
	}
	pushed(b, "b/2")
	a.MoveTo(slow)
	if quick.Running() != 0 || quick.Waiting() != 0 || slow.Running() != 3 || slow.Waiting() != 2 || q.Running() != 3 {
		t.Errorf("%d and %d run, %d and %d wait", quick.Running(), slow.Running(), quick.Waiting(), slow.Waiting())
	}
	a.Done()
	a.Done()
	b.Done()
	if got := next(q); got != "b/2" {
		t.Errorf("%s began", got)
	}
}

func TestDrain(t *testing.T) {
	q := New[string](nil, 10)
	a := New(q, 10)
	pushed(a, "a/1", "a/2")
	if drained := a.Drain(); !slices.Equal(drained, []string{"a/1", "a/2"}) || !q.IsIdle() || len(q.turns) > 0 {
		t.Errorf("%q are taken out, %d wait", drained, q.Waiting())
	}
}

// twin is a queue that is written plainly: it looks at everything each time.
type twin struct {
	*Queue[int]

	below []*twin
	items []*Item[int]
	// turn is when it had its last turn, or began to wait.
	turn int
}

func (w *twin) waiting() int {
	n := len(w.items)
	for _, below := range w.below {
		n += below.waiting()
	}
	return n
}

// next is the item that is next, and the queues that it comes from; nil if there is none.
func (w *twin) next() (*Item[int], []*twin) {
	if w.running >= w.Limit {
		return nil, nil
	}
	if len(w.items) > 0 {
		return slices.MinFunc(w.items, func(a, b *Item[int]) int {
			if a.Before(b) {
				return -1
			}
			return 1
		}), []*twin{w}
	}
	inTurn := slices.SortedFunc(slices.Values(w.below), func(a, b *twin) int { return a.turn - b.turn })
	for _, below := range inTurn {
		if i, path := below.next(); i != nil {
			return i, append(path, w)
		}
	}
	return nil, nil
}

// tree is a queue with others below it, some of which have some too. It is with its plain twin.
type tree struct {
	top    *twin
	leaves []*twin
	paths  map[*twin][]*twin // to the top
	clock  int
	// running are the queues of what runs.
	running []*twin
}

func drawTree(t *rapid.T) *tree {
	limit := rapid.IntRange(0, 6)
	all := &tree{top: &twin{Queue: New[int](nil, limit.Draw(t, "limit"))}, paths: map[*twin][]*twin{}}
	for range rapid.IntRange(1, 4).Draw(t, "namespaces") {
		namespace := &twin{Queue: New(all.top.Queue, limit.Draw(t, "limit"))}
		all.top.below = append(all.top.below, namespace)
		for range rapid.IntRange(1, 3).Draw(t, "objects") {
			object := &twin{Queue: New(namespace.Queue, limit.Draw(t, "limit"))}
			namespace.below = append(namespace.below, object)
			all.leaves = append(all.leaves, object)
			all.paths[object] = []*twin{object, namespace, all.top}
		}
	}
	return all
}

// push adds an item, which gives the queues a turn that had none.
func (a *tree) push(at *twin, rank int64) {
	a.clock++
	for _, w := range a.paths[at] {
		if w.waiting() == 0 {
			w.turn = a.clock
		}
	}
	i := &Item[int]{Of: a.clock}
	at.Push(i, rank)
	at.items = append(at.items, i)
}

// start checks that the next item is the twin's.
func (a *tree) start(t *rapid.T) {
	a.clock++
	want, path := a.top.next()
	got, ok := a.top.Next()
	if ok != (want != nil) || ok && got != want.Of {
		t.Fatalf("%d is next, %t, want %v", got, ok, want)
	}
	if !ok {
		return
	}
	at := path[0]
	at.items = slices.DeleteFunc(at.items, func(i *Item[int]) bool { return i == want })
	for _, w := range path {
		w.turn = a.clock
	}
	a.running = append(a.running, at)
}

func (a *tree) check(t *rapid.T) {
	for _, leaf := range a.leaves {
		for _, w := range a.paths[leaf] {
			running := 0
			for _, at := range a.running {
				if slices.Contains(a.paths[at], w) {
					running++
				}
			}
			if w.Waiting() != w.waiting() || w.Running() != running || running > w.Limit ||
				w.IsIdle() != (running == 0 && w.waiting() == 0) {
				t.Fatalf("%d wait and %d run, want %d and %d of %d", w.Waiting(), w.Running(), w.waiting(), running, w.Limit)
			}
		}
	}
}

// TestQueueIsItsPlainTwin: whatever is pushed, removed, started and done, the next item is the twin's, and no limit is
// exceeded.
func TestQueueIsItsPlainTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawTree(t)
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			at := rapid.SampledFrom(all.leaves).Draw(t, "queue")
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				all.push(at, rapid.Int64Range(0, 3).Draw(t, "rank"))
			case 2:
				all.start(t)
			case 3:
				if n := len(all.running); n > 0 {
					one := rapid.IntRange(0, n-1).Draw(t, "done")
					all.running[one].Done()
					all.running = slices.Delete(all.running, one, one+1)
				}
			case 4:
				if len(at.items) == 0 {
					break
				}
				i := rapid.SampledFrom(at.items).Draw(t, "item")
				if !i.IsWaiting() || !i.Remove() || i.IsWaiting() || i.Remove() {
					t.Fatal("an item is not removed once")
				}
				at.items = slices.DeleteFunc(at.items, func(other *Item[int]) bool { return other == i })
			}
			all.check(t)
		}
	})
}

// TestKeyed: idle queues are forgotten when there are many, and no others.
func TestKeyed(t *testing.T) {
	top := New[string](nil, 1000)
	var namespaces, objects Keyed[int, string]
	busy := namespaces.Of(-1, top, 10)
	busy.TryStart()
	for i := range 100 * fewQueues {
		object := objects.Of(i%10, namespaces.Of(i, top, 10), 10)
		pushed(object, "y")
		if object.above != namespaces.Of(i, top, 10) || next(top) == "" {
			t.Fatal("an object's queue is not below its namespace's")
		}
		object.Done()
	}
	if n := namespaces.Len(); n > 2*fewQueues {
		t.Errorf("%d queues are kept", n)
	}
	if namespaces.Of(-1, top, 10) != busy {
		t.Error("a queue in use is dropped")
	}
}

type read struct {
	item      Item[*read]
	namespace int
}

// BenchmarkNext is what one item costs among a thousand namespaces in which others wait.
func BenchmarkNext(b *testing.B) {
	q := New[*read](nil, 1)
	var queues []*Queue[*read]
	for n := range 1000 {
		below := New(q, 8)
		queues = append(queues, below)
		for range 10 {
			r := &read{namespace: n}
			r.item.Of = r
			below.Push(&r.item, 0)
		}
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		i, _ := q.Next()
		queues[i.namespace].Done()
		queues[i.namespace].Push(&i.item, int64(n))
	}
}
