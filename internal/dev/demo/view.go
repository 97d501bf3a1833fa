package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"
	"golang.org/x/term"
)

// A view shows the record until the context ends.
type view interface {
	run(ctx context.Context, r *record) error
}

const (
	refresh      = 500 * time.Millisecond
	plotHeight   = 12
	plotWidth    = 60
	shownReasons = 6
)

// lines prints every second sample and each scaling, for logs and pipes.
type lines struct {
	out io.Writer
}

func (l lines) run(ctx context.Context, r *record) error {
	const every = 5 * time.Second
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	printed, next := 0, time.Duration(0)
	for {
		samples, scales := r.snapshot()
		for ; printed < len(scales); printed++ {
			e := scales[printed]
			if _, err := fmt.Fprintf(l.out, "%6.1fs  SCALED    %s\n", e.ElapsedSeconds, e); err != nil {
				return fmt.Errorf("print: %w", err)
			}
		}
		if n := len(samples); n > 0 && samples[n-1].Elapsed >= next {
			next = samples[n-1].Elapsed + every
			if _, err := fmt.Fprintln(l.out, samples[n-1].line()); err != nil {
				return fmt.Errorf("print: %w", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (s Sample) line() string {
	text := fmt.Sprintf("%6.1fs  load %4.4g/s", s.Elapsed.Seconds(), s.Load)
	for i := range s.Workloads {
		w := &s.Workloads[i]
		text += fmt.Sprintf("  | %s %2d wanted %2d ready  %s", w.Name, w.Wanted, w.Ready, w.Metric)
	}
	return text
}

// screen is the live view of a terminal.
type screen struct {
	total time.Duration
	out   io.Writer
}

// Control sequences of a terminal.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	cutLines   = "\x1b[?7l" // at the right border, instead of going on below
	wrapLines  = "\x1b[?7h"
	toTopLeft  = "\x1b[H"
	clearLine  = "\x1b[K"  // from the cursor on
	clearBelow = "\x1b[0J" // and right of it
	clearAll   = "\x1b[2J"
)

func (s screen) run(ctx context.Context, r *record) error {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	if _, err := io.WriteString(s.out, hideCursor+cutLines+clearAll); err != nil {
		return fmt.Errorf("live view: %w", err)
	}
	for {
		if _, err := io.WriteString(s.out, frame(s.draw(r), height(s.out))); err != nil {
			return fmt.Errorf("live view: %w", err)
		}
		select {
		case <-ctx.Done():
			_, err := io.WriteString(s.out, wrapLines+showCursor)
			return err
		case <-ticker.C:
		}
	}
}

// height is the number of lines of the terminal; 0 if it is unknown.
func height(out io.Writer) int {
	if f, isFile := out.(*os.File); isFile {
		if _, lines, err := term.GetSize(int(f.Fd())); err == nil {
			return lines
		}
	}
	return 0
}

// frame replaces what a terminal of that many lines shows. A line more would move all of them up.
func frame(text string, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if height > 0 {
		lines = lines[:min(len(lines), height-1)]
	}
	return toTopLeft + strings.Join(lines, clearLine+"\r\n") + clearLine + "\r\n" + clearBelow
}

// draw draws the record.
func (s screen) draw(r *record) string {
	samples, scales := r.snapshot()
	if len(samples) == 0 {
		return "waiting for the first sample ...\n"
	}
	last := samples[len(samples)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "Plimsoll demo   %3.0f of %3.0f s   (Ctrl-C ends it and removes everything)\n\n",
		last.Elapsed.Seconds(), s.total.Seconds())
	fmt.Fprintf(&b, "  load %4.4g requests/s each\n", last.Load)
	for i := range last.Workloads {
		w := &last.Workloads[i]
		fmt.Fprintf(&b, "  %s  %2d wanted, %2d ready   %-18s %s\n", w.Name, w.Wanted, w.Ready, w.Metric,
			bar(w.Wanted, w.Ready))
	}
	b.WriteString("\n" + plot(samples))
	b.WriteString("\n\n  last decisions\n")
	for _, e := range scales[max(0, len(scales)-shownReasons):] {
		fmt.Fprintf(&b, "  %6.1fs  %s\n", e.ElapsedSeconds, e)
	}
	for i := range last.Workloads {
		w := &last.Workloads[i]
		fmt.Fprintf(&b, "\n  conditions and status of %s\n", w.Name)
		for _, line := range slices.Concat(w.Conditions, w.Status) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

// bar draws a block for each ready replica and a dot for each that is awaited.
func bar(wanted, ready int32) string {
	return strings.Repeat("█", int(max(0, ready))) + strings.Repeat("·", int(max(0, wanted-ready)))
}

// plot draws the wanted replicas of the workloads over time, and the count of the load.
func plot(samples []Sample) string {
	var asked []float64
	legends := []string{"the load asks for"}
	wanted := make([][]float64, len(samples[0].Workloads))
	top := Computed(0)
	for _, s := range samples {
		asked = append(asked, float64(Computed(s.Load)))
		top = max(top, Computed(s.Load))
		for i := range s.Workloads {
			wanted[i] = append(wanted[i], float64(s.Workloads[i].Wanted))
			top = max(top, s.Workloads[i].Wanted)
		}
	}
	for i := range samples[0].Workloads {
		legends = append(legends, samples[0].Workloads[i].Name+" wanted")
	}
	// A line for each replica, where there is room, makes the axis even.
	return asciigraph.PlotMany(append([][]float64{asked}, wanted...),
		asciigraph.Height(min(int(top), plotHeight)), asciigraph.Width(plotWidth), asciigraph.Precision(0),
		asciigraph.LowerBound(0),
		// Everyone can distinguish blue, orange and white.
		asciigraph.SeriesColors(asciigraph.Blue, asciigraph.Orange, asciigraph.White),
		asciigraph.SeriesLegends(legends...))
}
