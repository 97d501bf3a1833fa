package campaign

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// Trace plays the cases one after the other, and prints each change of the scale with the numbers that led to it.
func Trace(ctx context.Context, c Config, out io.Writer) error {
	cases, err := c.chosen()
	if err != nil {
		return err
	}
	plays := c.plays(cases, c.sides())
	for i := range plays {
		if err := plays[i].trace(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

// trace plays, and prints what it decides.
func (p *play) trace(ctx context.Context, out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, seed %d, %s: %s\n", p.c.Name, p.seed, p.side.Name, p.c.Note)
	p.decided = func(at time.Duration, o *horizontal.Observation, d *horizontal.Decision) {
		if d.Rescale {
			b.WriteString(p.line(at, o, d))
		}
	}
	figures, err := p.run(ctx)
	if err != nil {
		return err
	}
	parts := make([]string, len(columns))
	for i := range columns {
		parts[i] = columns[i].head + ": " + amount(columns[i].of(&figures))
	}
	b.WriteString("  " + strings.Join(parts, "; "))
	if _, err := fmt.Fprintln(out, b.String()); err != nil {
		return fmt.Errorf("print the trace: %w", err)
	}
	return nil
}

// line is a change of the scale: the load at that time, the trigger of the decision, the proposal of each metric, and
// the limit. Times are seconds since the load began; those of samples are before the decision.
func (p *play) line(at time.Duration, o *horizontal.Observation, d *horizontal.Decision) string {
	var b strings.Builder
	second := max(0, min(len(p.c.Load)-1, int(at.Seconds())))
	now := p.c.Load[second]
	need := math.Ceil(now*100/float64(p.c.TargetPercent) - 1e-9)
	ready := 0
	for i := range o.Pods {
		if o.Pods[i].Ready == metric.ReadyTrue && !o.Pods[i].Deleting {
			ready++
		}
	}
	fmt.Fprintf(&b, "%8.1f s  %d -> %d  (load %.2f, needs %.0f, ready %d) on %s", at.Seconds(), d.Current, d.Desired, now,
		need, ready, d.Trigger)
	for i := range d.Metrics {
		b.WriteString(metricText(&d.Metrics[i], d.At))
	}
	if d.Surge.Proposes() {
		fmt.Fprintf(&b, "; surge window asks for %d", d.Surge.Replicas)
	}
	fmt.Fprintf(&b, "; proposed %d, stabilized %d\n", d.Proposed.Replicas, d.Stabilized.Replicas)
	return b.String()
}

// metricText is a metric's proposal with its reason.
func metricText(m *metric.Result, now time.Time) string {
	if m.Failure != nil {
		return fmt.Sprintf("; metric failed: %s", m.Failure.Message)
	}
	text := fmt.Sprintf("; metric asks for %d: %d %%, ratio %.3f", m.Replicas, m.Percent, m.Ratio)
	if m.Adjusted != m.Ratio {
		text += fmt.Sprintf(", adjusted %.3f", m.Adjusted)
	}
	text += fmt.Sprintf(", %d pods count", m.Counts.Counted)
	if m.Counts.Unready+m.Counts.Missing > 0 {
		text += fmt.Sprintf(", %d unready, %d missing", m.Counts.Unready, m.Counts.Missing)
	}
	if m.Newest > 0 || m.StartMilli > 0 {
		text += fmt.Sprintf(", %d of them new, start %dm", m.Newest, m.StartMilli)
	}
	if !m.At.IsZero() {
		text += fmt.Sprintf(", samples %.1f to %.1f s old", now.Sub(m.At).Seconds(), now.Sub(m.Oldest).Seconds())
	}
	return text
}
