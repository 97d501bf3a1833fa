//go:build ui

package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestReasonAtThePointer: the reason of a change is shown where the pointer is at its place on the time axis, and that of
// the chosen change where it is at none.
func TestReasonAtThePointer(t *testing.T) {
	cluster, row := withSurge(20)
	p, _ := serve(t, cluster)
	p.waitForRows()
	p.showObject(row.ID)
	p.waitFor("the chart", `document.querySelector(".chart .u-over") !== null`)
	history := cluster.objects[row.ID].History
	tip := `document.querySelector(".chart .tip")`
	for _, change := range history.Changes[:3] {
		text := fmt.Sprintf("%d → %d", change.From, change.To)
		p.do(chromedp.Click(chromedp.CSS(fmt.Sprintf(`.events button[data-at="%d"]`, change.Time.UnixMilli()))))
		p.waitFor("the reason of "+text, fmt.Sprintf(`!%s.hidden && %s.textContent.includes(%q) && %s.textContent.includes("above target")`,
			tip, tip, text, tip))
	}
	p.do(chromedp.Click(chromedp.CSS(fmt.Sprintf(`.events button[data-at="%d"]`, history.Changes[2].Time.UnixMilli()))))
	p.waitFor("no reason", tip+`.hidden`)
	// The pointer is moved over all of the plot: each change is met.
	seen := value[[]string](p, `new Promise((resolve) => {
		const over = document.querySelector(".chart .u-over"), at = over.getBoundingClientRect(), seen = new Set();
		over.dispatchEvent(new MouseEvent("mouseenter", { bubbles: true, clientX: at.left, clientY: at.top + 50 }));
		let x = 0;
		const step = () => {
			if (x > at.width) { resolve([...seen]); return; }
			over.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: at.left + x, clientY: at.top + 50 }));
			const tip = document.querySelector(".chart .tip");
			if (!tip.hidden) seen.add(tip.textContent);
			x += 2;
			requestAnimationFrame(step);
		};
		step();
	})`)
	last := history.Changes[len(history.Changes)-1]
	want := fmt.Sprintf("%d → %d", last.From, last.To)
	if !slices.ContainsFunc(seen, func(s string) bool {
		return strings.Contains(s, want) && strings.Contains(s, "All metrics below target")
	}) {
		t.Errorf("the pointer meets %q, not %q", seen, want)
	}
}

// TestTimeToCome: schedules, the forecast, what comes if the load stays and each metric's load have lines of their own.
func TestTimeToCome(t *testing.T) {
	cluster, row := withSurge(20)
	p, _ := serve(t, cluster)
	p.waitForRows()
	p.showObject(row.ID)
	p.waitFor("the chart", `document.querySelector(".chart .u-legend") !== null`)
	legend := value[string](p, `document.querySelector(".chart .u-legend").textContent`)
	for _, name := range []string{
		"desired", "ready", "load by cpu resource utilization", "load by pods metric requests", "minReplicas", "maxReplicas",
		"desired if the load stays", "expected load", "with its mean error",
	} {
		if !strings.Contains(legend, name) {
			t.Errorf("the chart has no %q: %s", name, legend)
		}
	}
	// An object without these has no such lines.
	object := cluster.objects[row.ID]
	cluster.mu.Lock()
	plain := *object
	plain.Bounds, plain.Forecast, plain.Ahead, plain.Until = nil, nil, nil, 0
	cluster.objects[row.ID] = &plain
	cluster.mu.Unlock()
	p.waitFor("a chart without a forecast", `!document.querySelector(".chart .u-legend").textContent.includes("expected load")`)
}
