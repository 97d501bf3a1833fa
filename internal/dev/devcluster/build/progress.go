package build

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// The period of progress: a terminal's line is rewritten, a log gets lines.
const (
	terminalInterval = 250 * time.Millisecond
	logInterval      = 15 * time.Second
)

// progress reads what the go command writes to standard error. With -v that is one import path for each package that
// is compiled (one in the cache is not named), and the compiler's messages if there are any.
type progress struct {
	out      io.Writer
	terminal bool
	describe func(lines int, last string) string // the text to show
	began    time.Time
	stop     chan struct{}
	stopped  chan struct{}

	mu       sync.Mutex // guards the rest
	partial  []byte
	lines    int
	last     string
	messages []string // lines that are no import path
	shown    bool
}

// newProgress prints a compilation of at most total packages.
func newProgress(config Config, total int) *progress {
	return startProgress(config, func(lines int, last string) string {
		if last == "" {
			return fmt.Sprintf("looking into the build cache (%d packages)", total)
		}
		return fmt.Sprintf("compiled %d of %d packages: %s", lines, total, last)
	})
}

// newDownload prints downloads, which the go command reports as "go: downloading MODULE VERSION".
func newDownload(config Config) *progress {
	return startProgress(config, func(lines int, last string) string {
		if last == "" {
			return "listing the packages"
		}
		return fmt.Sprintf("downloaded %d modules: %s", lines, last)
	})
}

func startProgress(config Config, describe func(int, string) string) *progress {
	p := &progress{
		out: config.Out, terminal: config.Terminal, describe: describe, began: time.Now(),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go p.tell()
	return p
}

func (p *progress) tell() {
	defer close(p.stopped)
	interval := logInterval
	if p.terminal {
		interval = terminalInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.show()
		}
	}
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("%7s  %s", time.Since(p.began).Round(time.Second), p.describe(p.lines, p.last))
	p.shown = true
	if p.terminal {
		const widthOfSmallTerminal = 79
		fmt.Fprintf(p.out, "\r\033[K%.*s", widthOfSmallTerminal, line)
		return
	}
	fmt.Fprintln(p.out, line)
}

// finish ends the progress and clears the terminal's line.
func (p *progress) finish() {
	close(p.stop)
	<-p.stopped
	if p.terminal && p.shown {
		fmt.Fprint(p.out, "\r\033[K")
	}
}

// Write implements io.Writer for the go command's standard error.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partial = append(p.partial, text...)
	for {
		end := bytes.IndexByte(p.partial, '\n')
		if end < 0 {
			return len(text), nil
		}
		p.line(string(p.partial[:end]))
		p.partial = p.partial[end+1:]
	}
}

func (p *progress) line(line string) {
	module, isDownload := strings.CutPrefix(line, "go: downloading ")
	name, _, _ := strings.Cut(line, " [") // a package compiled for a test has the test's name behind its own
	switch {
	case isDownload:
		p.lines, p.last = p.lines+1, module
	case isImportPath(name):
		p.lines, p.last = p.lines+1, name
	default:
		p.messages = append(p.messages, line)
	}
}

// isImportPath distinguishes a package's name from a message: it has no space, and no colon as a position would.
func isImportPath(line string) bool {
	return line != "" && !strings.ContainsAny(line, " \t:#")
}

// errors returns the messages, the first of them if there are very many.
func (p *progress) errors() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	const most = 40
	messages := p.messages
	if len(messages) > most {
		messages = append(messages[:most:most], fmt.Sprintf("... %d more lines", len(p.messages)-most))
	}
	return strings.Join(append(messages, string(p.partial)), "\n")
}
