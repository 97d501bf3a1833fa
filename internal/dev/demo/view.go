package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/guptarohit/asciigraph"
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
	return fmt.Sprintf("%6.1fs  load %4.4g/s  replicas %2d wanted %2d ready  cpu %s of %d%%",
		s.Elapsed.Seconds(), s.Load, s.Wanted, s.Ready, percent(s.Percent), targetPercent)
}

func percent(p *int32) string {
	if p == nil {
		return "   ?"
	}
	return fmt.Sprintf("%3d%%", *p)
}

// screen is the live view of a terminal.
type screen struct {
	record *record
	total  time.Duration
	out    io.Writer
}

type tick struct{}

func again() tea.Cmd {
	return tea.Tick(refresh, func(time.Time) tea.Msg { return tick{} })
}

func (s screen) run(ctx context.Context, r *record) error {
	s.record = r
	// Ctrl-C is the caller's: it ends the cluster too.
	_, err := tea.NewProgram(s, tea.WithContext(ctx), tea.WithOutput(s.out), tea.WithInput(nil),
		tea.WithoutSignalHandler()).Run()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("live view: %w", err)
	}
	return nil
}

// Init starts the refresh.
func (s screen) Init() tea.Cmd { return again() }

// Update refreshes; there are no keys.
func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(tick); ok {
		return s, again()
	}
	return s, nil
}

// View draws the record.
func (s screen) View() tea.View {
	samples, scales := s.record.snapshot()
	if len(samples) == 0 {
		return tea.NewView("waiting for the first sample ...\n")
	}
	last := samples[len(samples)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "Plimsoll demo   %3.0f of %3.0f s   (Ctrl-C ends it and removes everything)\n\n",
		last.Elapsed.Seconds(), s.total.Seconds())
	fmt.Fprintf(&b, "  load     %5.4g requests/s\n", last.Load)
	fmt.Fprintf(&b, "  replicas %5d wanted, %d ready   %s\n", last.Wanted, last.Ready, bar(last.Wanted, last.Ready))
	fmt.Fprintf(&b, "  cpu      %5s of %d%% target\n\n", strings.TrimSpace(percent(last.Percent)), targetPercent)
	b.WriteString(plot(samples))
	b.WriteString("\n\n  last decisions\n")
	for _, e := range scales[max(0, len(scales)-shownReasons):] {
		fmt.Fprintf(&b, "  %6.1fs  %s\n", e.ElapsedSeconds, e)
	}
	b.WriteString("\n  conditions\n")
	for _, c := range last.Conditions {
		fmt.Fprintf(&b, "  %s\n", c)
	}
	if len(last.Status) > 0 {
		b.WriteString("\n  status\n")
	}
	for _, line := range last.Status {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	return tea.NewView(b.String())
}

// bar draws a block for each ready replica and a dot for each that is awaited.
func bar(wanted, ready int32) string {
	return strings.Repeat("█", int(max(0, ready))) + strings.Repeat("·", int(max(0, wanted-ready)))
}

// plot draws wanted and ready replicas over time, and what the load asks for.
func plot(samples []Sample) string {
	series := make([][]float64, 3)
	top := 1
	for _, s := range samples {
		for i, replicas := range []int32{Computed(s.Load), s.Wanted, s.Ready} {
			series[i] = append(series[i], float64(replicas))
			top = max(top, int(replicas))
		}
	}
	// A line for each replica, where there is room, makes the axis even.
	return asciigraph.PlotMany(series,
		asciigraph.Height(min(top, plotHeight)), asciigraph.Width(plotWidth), asciigraph.Precision(0),
		asciigraph.LowerBound(0),
		// Everyone can distinguish blue, orange and white.
		asciigraph.SeriesColors(asciigraph.Blue, asciigraph.Orange, asciigraph.White),
		asciigraph.SeriesLegends("the load asks for", "wanted", "ready"))
}
