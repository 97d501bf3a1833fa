package timing

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type item struct{ due, place int }

// Before implements Item.
func (i *item) Before(other *item) bool { return i.due < other.due }

// Place implements Item.
func (i *item) Place() *int { return &i.place }

// A queue gives what a list that is searched each time gives.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[*item]
		var all []*item
		earliest := func() int {
			return slices.MinFunc(all, func(a, b *item) int { return a.due - b.due }).due
		}
		drawn := func() *item { return rapid.SampledFrom(all).Draw(t, "item") }
		due := rapid.IntRange(0, 20)
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			what := rapid.IntRange(0, 3).Draw(t, "what")
			if len(all) == 0 {
				what = 0
			}
			switch what {
			case 0:
				i := &item{due: due.Draw(t, "due")}
				q.Push(i)
				all = append(all, i)
			case 1:
				want, i := earliest(), q.Pop()
				if i.due != want {
					t.Fatalf("%d comes before %d", i.due, want)
				}
				all = slices.DeleteFunc(all, func(other *item) bool { return other == i })
			case 2:
				i := drawn()
				q.Remove(i)
				all = slices.DeleteFunc(all, func(other *item) bool { return other == i })
			case 3:
				i := drawn()
				i.due = due.Draw(t, "new due")
				q.Fix(i)
			}
			if q.Len() != len(all) || len(all) > 0 && q.First().due != earliest() {
				t.Fatalf("%d items, want %d", q.Len(), len(all))
			}
		}
	})
}
