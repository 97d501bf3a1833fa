package report

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress prints what a measurement is doing, each line with the time since its beginning. It is safe for concurrent
// use.
type Progress struct {
	began time.Time

	mu  sync.Mutex
	out io.Writer // guarded by mu
}

// NewProgress counts from began.
func NewProgress(out io.Writer, began time.Time) *Progress {
	return &Progress{began: began, out: out}
}

// Say prints a line of progress.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seconds := int(time.Since(p.began).Seconds())
	fmt.Fprintf(p.out, "%3d:%02d  %s\n", seconds/60, seconds%60, fmt.Sprintf(format, args...))
}
