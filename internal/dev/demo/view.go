package demo

import (
	"context"
	"fmt"
	"io"
	"slices"
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
	text := fmt.Sprintf("%6.1fs  load %4.4g/s", s.Elapsed.Seconds(), s.Load)
	for i := range s.Workloads {
		w := &s.Workloads[i]
		text += fmt.Sprintf("  | %s %2d wanted %2d ready  %s", w.Name, w.Wanted, w.Ready, w.Metric)
	}
	return text
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
	return tea.NewView(b.String())
}

// bar draws a block for each ready replica and a dot for each that is awaited.
func bar(wanted, ready int32) string {
	return strings.Repeat("█", int(max(0, ready))) + strings.Repeat("·", int(max(0, wanted-ready)))
}

// plot draws the wanted replicas of the workloads over time, and what the load asks for.
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
