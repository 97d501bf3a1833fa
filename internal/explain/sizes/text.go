package sizes

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observe "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// page has labels in one column and words in the other, as a horizontal explanation.
type page struct {
	strings.Builder
}

func (p *page) line(label, format string, args ...any) {
	p.WriteString(strings.TrimRight(fmt.Sprintf("  %-12s %s", label, fmt.Sprintf(format, args...)), " ") + "\n")
}

// WriteText tells a person.
func (e *Explanation) WriteText(w io.Writer) error {
	p := &page{}
	k := e.Known
	fmt.Fprintf(p, "%s  VerticalPodAutoscaler %s/%s\n", k.Now.Format(time.RFC3339), k.Object.Namespace, k.Object.Name)
	target := "none"
	if ref := k.Object.Spec.TargetRef; ref != nil {
		target = ref.Kind + "/" + ref.Name
	}
	p.line("target", "%s: %d pods; mode %s", target, len(k.Pods), e.Mode)
	if k.Problem != "" {
		p.line("problem", "%s", k.Problem)
	}
	for _, text := range e.Features {
		p.line("feature", "%s", text)
	}
	for _, damage := range e.Damaged {
		p.line("checkpoint", "cannot be read: %s", damage)
	}
	if len(e.Recommended.Traces) == 0 {
		p.line("learnt", "nothing yet: no checkpoint has samples")
	}
	for i := range e.Recommended.Traces {
		e.explainContainer(p, &e.Recommended.Traces[i])
	}
	for _, c := range e.Conflicts {
		p.line("conflict", "the HorizontalPodAutoscaler %s divides by the %s request of container %s", c.Horizontal, c.Resource, c.Container)
	}
	for _, c := range e.Recommended.Conditions {
		p.line("condition", "%s %s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	for i := range e.Update.Pods {
		e.explainPod(p, &e.Update.Pods[i])
	}
	_, err := io.WriteString(w, p.String())
	return err
}

func (e *Explanation) explainContainer(p *page, t *recommend.Trace) {
	p.line("container", "%s: %d samples of CPU", t.Container, t.Samples)
	published, isPublished := vertical.RecommendationOf(e.Published, t.Container)
	for r := range vertical.Resource(vertical.Resources) {
		switch {
		case t.Skipped[r]:
			p.line("  "+r.String(), "left alone: a HorizontalPodAutoscaler divides by it")
			continue
		case t.Unmeasured[r]:
			p.line("  "+r.String(), "not recommended: there is no sample yet")
			continue
		case !t.Controlled[r]:
			p.line("  "+r.String(), "not controlled")
			continue
		}
		p.line("  "+r.String(), "confidence %.2f, the days of history for one sample a minute", t.Confidence[r])
		for _, bound := range []estimate.Bound{estimate.Target, estimate.Lower, estimate.Upper} {
			p.line("    "+strings.TrimSuffix(bound.String(), "Bound"), "%s", stepsText(r, &t.Estimates[r][bound], t.Floor[r]))
		}
		if isPublished {
			p.line("    published", "%s", rangeText(published, r))
		}
	}
}

// stepsText is the way of a number: percentile, margin, confidence, floor, rounding,
// caps; steps that change nothing are left out.
func stepsText(r vertical.Resource, s *estimate.Estimate, floor vertical.Amount) string {
	text := fmt.Sprintf("p%g of use %s, with the margin %s", 100*s.Percentile, amount(r, s.Used), amount(r, s.WithMargin))
	if s.Widened != s.WithMargin {
		text += fmt.Sprintf(", × %.3g for the confidence %s", s.Factor, amount(r, s.Widened))
	}
	if s.Floored != s.Widened {
		text += fmt.Sprintf(", at least %s", amount(r, floor))
	}
	if s.Rounded != s.Floored {
		text += fmt.Sprintf(", rounded %s", amount(r, s.Rounded))
	}
	if s.Capped != s.Rounded {
		text += fmt.Sprintf(", capped to %s", amount(r, s.Capped))
	}
	return text
}

func rangeText(rec *vertical.Recommendation, r vertical.Resource) string {
	target, ok := rec.Target.Get(r)
	if !ok {
		return "nothing"
	}
	lower, _ := rec.Lower.Get(r)
	upper, _ := rec.Upper.Get(r)
	return fmt.Sprintf("%s, good enough from %s to %s", amount(r, target), amount(r, lower), amount(r, upper))
}

// amount is for people: memory in Mi, where status has bytes.
func amount(r vertical.Resource, a vertical.Amount) string {
	if r == vertical.Memory {
		const mebi = 1 << 20
		return strconv.FormatFloat(math.Round(10*float64(a)/mebi)/10, 'f', -1, 64) + "Mi"
	}
	return observe.QuantityOf(r, a).String()
}

// explainPod says what the updater would do, and why not.
func (e *Explanation) explainPod(p *page, v *update.Verdict) {
	var requests []string
	for i := range v.Pod.Containers {
		c := &v.Pod.Containers[i]
		requests = append(requests, c.Name+" "+amountsText(c.Requests))
	}
	p.line("pod", "%s requests %s", v.Pod.Name, strings.Join(requests, ", "))
	switch {
	case v.Did != update.Nothing:
		p.line("", "would be changed now (%s) because of %s", v.Did, v.Wants)
	case v.Wants.String() != "":
		p.line("", "should be changed because of %s, but: %s", v.Wants, v.Against)
	default:
		p.line("", "stays as it is: %s", v.Against)
	}
}

func amountsText(a vertical.Amounts) string {
	var parts []string
	for r := range vertical.Resource(vertical.Resources) {
		if value, ok := a.Get(r); ok {
			parts = append(parts, r.String()+" "+amount(r, value))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " and ")
}
