//go:build ui

package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
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
		"desired", "ready", "load by CPU", "load by requests", "minReplicas", "maxReplicas",
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

// TestCountsWhenTheyHappened: of a change of which only the minute is known, the count is drawn at the minute's end, and at
// the time of its event if there is one; never before. The list says so. Pods are ready when the minute ends.
func TestCountsWhenTheyHappened(t *testing.T) {
	begin := time.Now().Add(-10 * time.Minute).Truncate(time.Minute)
	minute := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Minute) }
	for name, tt := range map[string]struct {
		within int64
		// ready is the count of the change.
		ready int32
		event time.Time
		want  time.Time
		says  string
	}{
		"a known second": {within: 1, ready: 2, want: minute(4), says: minute(4).Local().Format("15:04:05")},
		"no event":       {within: 60, ready: 5, want: minute(5), says: "by " + minute(5).Local().Format("15:04")},
		"an event":       {within: 60, ready: 5, event: minute(4).Add(20 * time.Second), want: minute(4).Add(20 * time.Second), says: minute(4).Add(20 * time.Second).Local().Format("15:04:05")},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, row := withSurge(20)
			object := cluster.objects[row.ID]
			load := 1.9
			object.History = &loadreport.Output{From: begin, To: minute(9), ResolutionSeconds: 60,
				Changes: []loadreport.OutputChange{{Time: minute(4), WithinSeconds: tt.within, From: 2, To: 5, Ready: tt.ready, Load: &load, Limit: "None"}}}
			for n := range 9 {
				wanted, ready := int32(2), int32(2)
				if n >= 4 {
					wanted, ready = 5, 5
				}
				object.History.Points = append(object.History.Points, loadreport.OutputPoint{Time: minute(n), Load: &load, Wanted: &wanted, Ready: &ready, Limit: "None"})
			}
			object.Events = nil
			if !tt.event.IsZero() {
				object.Events = []view.Event{{At: tt.event.UnixMilli(), Type: "Normal", Reason: "SuccessfulRescale", Count: 1,
					Message: "New size: 5; reason: cpu resource utilization (percentage of request) above target in the last 3 s"}}
			}
			p, _ := serve(t, cluster, withPlots())
			p.waitForRows()
			p.showObject(row.ID)
			p.waitFor("the chart", `document.querySelector(".chart canvas") !== null`)
			drawn := value[[]float64](p, fmt.Sprintf(`(() => {
				const plot = window.plots.at(-1);
				const at = (label, time) => {
					const counts = plot.data[plot.series.findIndex((series) => series.label === label)];
					return plot.data[0].reduce((last, x, i) => (x <= time && counts[i] !== undefined ? counts[i] : last), 0);
				};
				return [at("desired", %[1]d - 1), at("desired", %[1]d), at("ready", %[2]d - 1), at("ready", %[2]d)];
			})()`, tt.want.Unix(), minute(5).Unix()))
			if !slices.Equal(drawn, []float64{2, 5, 2, 5}) {
				t.Errorf("a second before %s and then, and as ready at the minute's end, %v are drawn, not 2 and 5, 2 and 5",
					tt.want.Format(time.TimeOnly), drawn)
			}
			list := value[string](p, `document.querySelector(".events").textContent`)
			if !strings.Contains(list, tt.says+"2 → 5") || !tt.event.IsZero() && !strings.HasPrefix(list, "CPU above target") {
				t.Errorf("the list says %q, not %q", list, tt.says)
			}
		})
	}
}

// TestReasonOnce: changes in a row for the same reason stand below it once, in a few words.
func TestReasonOnce(t *testing.T) {
	cluster, row := withSurge(20)
	p, _ := serve(t, cluster)
	p.waitForRows()
	p.showObject(row.ID)
	p.waitFor("the changes", `document.querySelector(".events button") !== null`)
	reasons := value[[]string](p, `[...document.querySelectorAll(".events .reason")].map((e) => e.textContent)`)
	if !slices.Equal(reasons, []string{"All metrics below target", "CPU above target"}) {
		t.Errorf("the reasons are %q", reasons)
	}
	if text := value[string](p, `document.querySelector("#object").innerText`); strings.Contains(text, "percentage of request") {
		t.Error("the page has a metric's long name")
	}
}
