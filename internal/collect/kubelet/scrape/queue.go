package scrape

import "time"

// queue has nodes by the time at which they are due, as a heap.
type queue []*entry

// due is when the first one is due, in a queue that is not empty.
func (q *queue) due() time.Time { return (*q)[0].due }

// isDue tells whether the first one is due.
func (q *queue) isDue(now time.Time) bool { return len(*q) > 0 && !q.due().After(now) }

// Len implements heap.Interface.
func (q *queue) Len() int { return len(*q) }

// Less implements heap.Interface.
func (q *queue) Less(i, j int) bool { return (*q)[i].due.Before((*q)[j].due) }

// Swap implements heap.Interface.
func (q *queue) Swap(i, j int) {
	(*q)[i], (*q)[j] = (*q)[j], (*q)[i]
	(*q)[i].at, (*q)[j].at = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	e, _ := x.(*entry)
	e.at = len(*q)
	*q = append(*q, e)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.queue = nil
	return e
}
