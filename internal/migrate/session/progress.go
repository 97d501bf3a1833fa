package session

import (
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// FewObjects is the largest number of objects with a line for each step. For more there is only a count.
const FewObjects = 10

// progressPeriod is the time between two prints of the count.
const progressPeriod = time.Second

// progress prints the number of objects that are done.
type progress struct {
	out   io.Writer
	total int
	done  string

	mu      sync.Mutex
	count   int       // guarded by mu
	printed time.Time // guarded by mu
}

func (p *progress) add(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	if p.total <= FewObjects {
		fmt.Fprintf(p.out, "%s: %s\n", name, p.done)
		return
	}
	if now := time.Now(); p.count == p.total || now.Sub(p.printed) >= progressPeriod {
		fmt.Fprintf(p.out, "%d of %d %s\n", p.count, p.total, p.done)
		p.printed = now
	}
}

// Lines returns a writer that serializes the lines of several goroutines.
func Lines(w io.Writer) io.Writer { return &lines{w: w} }

type lines struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
