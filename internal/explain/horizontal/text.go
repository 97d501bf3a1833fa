package horizontal

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
)

// Style is how a page may look.
type Style struct {
	// Bold is put around the lines that people look for; nil leaves them as they are.
	Bold func(string) string
	// AllPods names all the pods that are set aside.
	AllPods bool
}

// WriteText tells a person.
func (e *Explanation) WriteText(w io.Writer, style Style) error {
	if err := e.Result.WriteText(w, style); err != nil {
		return err
	}
	p := page{style: style}
	for _, use := range e.Uses {
		p.line("policy", "%s", useText(use))
	}
	p.strong("binds", e.Binds.String())
	p.strong("next", e.nextText())
	if text := e.lowerText(); text != "" {
		p.strong("lower", text)
	}
	p.line("history", "%s", e.historyText())
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) strong(label, text string) {
	if p.style.Bold != nil {
		text = p.style.Bold(text)
	}
	p.line(label, "%s", text)
}

// useText is "Pods 4 in 60 s up: from 2 at the period's start, permits 6".
func useText(u behavior.Use) string {
	unit, way := "Pods", "down"
	if u.Policy.Type == behavior.RatePercent {
		unit = "Percent"
	}
	if u.Up {
		way = "up"
	}
	return fmt.Sprintf("%s %d in %s %s: from %d at the period's start, permits %d",
		unit, u.Policy.Value, shortly(u.Policy.Period), way, u.Start, u.Permits)
}

// nextText is what comes, step by step: "8 at the next decision, 10 in about 30 s".
func (e *Explanation) nextText() string {
	d := &e.Decision
	var parts []string
	switch {
	case !e.IsCertain():
		parts = append(parts, fmt.Sprintf("%d to %d at the next decision, as far as can be known without the controller's history", e.Least, e.Most))
		return parts[0]
	case d.Desired != d.Current:
		parts = append(parts, fmt.Sprintf("%s at the next decision", e.count(d.Desired)))
	}
	for _, s := range e.Projection.Steps {
		parts = append(parts, fmt.Sprintf("%s in about %s", e.count(s.Replicas), shortly(s.At.Sub(d.At))))
	}
	switch {
	case len(parts) == 0 && d.Branch == horizontal.BranchMetrics:
		return fmt.Sprintf("stays at %s as long as the metrics stay", e.count(d.Desired))
	case len(parts) == 0:
		return fmt.Sprintf("stays at %s until that changes", e.count(d.Desired))
	case e.Projection.Settled:
		return strings.Join(parts, ", ") + ", then steady, if the load stays"
	default:
		return strings.Join(parts, ", ") + ", and on, if the load stays"
	}
}

// count is a count with what makes it an end: "10 (max)".
func (e *Explanation) count(n int32) string {
	switch n {
	case e.Policy.MaxReplicas:
		return fmt.Sprintf("%d (max)", n)
	case e.Policy.MinReplicas:
		return fmt.Sprintf("%d (min)", n)
	default:
		return fmt.Sprint(n)
	}
}

// lowerText is how early the count can fall, and because of what no earlier.
func (e *Explanation) lowerText() string {
	if e.Projection.Lower == nil {
		return ""
	}
	text := "no earlier than " + e.Projection.Lower.At.Format(time.TimeOnly)
	if held := e.Projection.Lower.Held; held != nil {
		text += because(held)
	}
	return text + ", even if the load ends now"
}

func because(held *projection.Hold) string {
	switch {
	case held.Stabilized.Reason != behavior.ReadyForNewScale:
		by := held.Stabilized.By
		return fmt.Sprintf(" because of %d at %s", by.Replicas, by.Time.Format(time.TimeOnly))
	case held.Limited.Reason == behavior.ScaleDownLimit:
		return " because of the scale-down rate"
	default:
		return ""
	}
}

func (e *Explanation) historyText() string {
	if e.KnowsHistory {
		return "the controller's own, as it decided"
	}
	if e.Controller == Undecided {
		return fmt.Sprintf("unknown (%s); who decides is not known", e.NoHistory)
	}
	return fmt.Sprintf("unknown (%s); %s decides", e.NoHistory, e.Controller)
}

// shortly is a duration as people say it: 30 s, 5 min.
func shortly(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
}
