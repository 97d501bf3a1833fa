//go:build ui

package ui

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// run runs Plimsoll's program once.
func (w *world) run(t *testing.T, args ...string) string {
	t.Helper()
	return w.command(t, exec.CommandContext(t.Context(), w.program, args...))
}

func (w *world) command(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	command.Env = w.Env()
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("%s: %v: %s", command, err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// playedAgain is what the chart of a what-if shows: the load and the desired counts over time.
type playedAgain struct{ Load, AsIs, Changed []float64 }

// awaitPlayed waits for the result of a what-if.
func (p *tab) awaitPlayed() playedAgain {
	p.t.Helper()
	p.waitFor("the result", `document.querySelector(".result .chart canvas") !== null`)
	return value[playedAgain](p, `(() => {
		const plot = window.plots.findLast((plot) => plot.root.closest(".result"));
		const named = (part) => plot.data[plot.series.findIndex((series) => series.label.includes(part))];
		return { load: named("load"), asIs: named("as it is"), changed: named("with the changes") };
	})()`)
}

// dryRun has the API server apply the shown command, and store nothing of it. It prints a field of the result.
func (w *world) dryRun(t *testing.T, p *tab, field string) string {
	t.Helper()
	command := value[string](p, `document.querySelector(".result pre").textContent`)
	if !strings.HasPrefix(command, "kubectl --kubeconfig=") || !strings.Contains(command, " --context=plimsoll-devcluster patch ") {
		t.Fatalf("the command is %q", command)
	}
	return w.command(t, exec.CommandContext(t.Context(), "sh", "-c", command+" --dry-run=server --output=jsonpath={"+field+"}"))
}

// testWhatIf plays the load of the surge against half the target: as many pods as the load is at the target, as it is, and
// twice as many with half the target. The record of a few minutes has steps of a second: its
// highest load lasts for less time than a decision takes.
func (w *world) testWhatIf(t *testing.T) {
	w.play(t)
	p := w.open(t)
	p.showObject(scaled["web"])
	p.waitFor("the form", `document.querySelectorAll(".whatif .targets input").length === 1`)
	value[string](p, `document.querySelector(".whatif select").value = "3600"`)
	p.do(chromedp.SendKeys(chromedp.CSS(".whatif .targets input"), "25%"))
	p.do(chromedp.Click(chromedp.CSS("form.whatif button[type=submit]")))
	played := p.awaitPlayed()
	load, asIs, changed := slices.Max(played.Load), slices.Max(played.AsIs), slices.Max(played.Changed)
	t.Logf("load of up to %.2f pods at the target; up to %.0f desired as it is, up to %.0f with half the target", load, asIs, changed)
	if load < 3 || load > 7 || asIs < load-2 || asIs > math.Ceil(load) || math.Abs(changed-2*asIs) > 2 {
		t.Error("the counts are not those of the load at the target, and at half of it")
	}
	cells := value[[]string](p, `[...document.querySelectorAll(".result .grid td")].map((cell) => cell.textContent)`)
	t.Logf("the result: %q", cells)
	if len(cells) != 20 || cells[0] != "Cost, in pod-hours" || !strings.HasPrefix(cells[3], "+") {
		t.Error("half the target costs no more")
	}
	if got := w.dryRun(t, p, ".spec.metrics[0].resource.target.averageUtilization"); got != "25" {
		t.Errorf("the command makes the target %q", got)
	}
	if got := w.kubectl(t, "", "--namespace="+shop, "get", "hpa", "web",
		"--output=jsonpath={.spec.metrics[0].resource.target.averageUtilization}"); got != "50" {
		t.Errorf("the target is %s now: the page has changed the cluster", got)
	}
}

// testVertical: the page of a VerticalPodAutoscaler has the checkpoint's histograms, the percentiles, the recommendation
// that the API server has, each at its place, and each pod with what becomes of it.
func (w *world) testVertical(t *testing.T) {
	const get = `jsonpath={range .status.recommendation.containerRecommendations[0]}{.target}{"\n"}{.lowerBound}{"\n"}{.upperBound}{end}`
	eventually(t, "a recommendation", func(context.Context) error {
		if w.kubectl(t, "", "--namespace="+elsewhere, "get", "vpa", "gateway", "--output="+get) == "" {
			return errors.New("none")
		}
		return nil
	})
	p := w.open(t)
	p.showObject(view.IDOf(view.VPA, elsewhere, "gateway"))
	p.waitFor("both histograms", `document.querySelectorAll("svg.bars").length === 2`)
	p.waitFor("the recommendation", `document.querySelectorAll("svg.bars .mark.target").length === 2`)
	for i, resource := range []string{"cpu", "memory"} {
		w.checkHistogram(t, p, i, resource)
	}
	text := value[string](p, `document.querySelector("#object").innerText`)
	for _, part := range []string{"Recreate", "11520 samples", "90% up to ", "95% up to ", "50% up to "} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	pods := strings.Fields(w.kubectl(t, "", "--namespace="+elsewhere, "get", "pods", "--selector=app=gateway",
		"--output=jsonpath={.items[*].metadata.name}"))
	if len(pods) != 2 {
		t.Errorf("there are pods %q", pods)
	}
	for _, pod := range pods {
		says := value[string](p, fmt.Sprintf(`[...document.querySelectorAll("#object tr")].find((row) => row.cells[0].textContent === %s)?.cells[2].textContent ?? ""`,
			quoted(pod)))
		t.Logf("%s: %s", pod, says)
		if says == "" {
			t.Errorf("the page does not say what becomes of pod %s", pod)
		}
	}
}

// checkHistogram compares the lines in a histogram with the status: two of them give the scale, the others must fit it.
func (w *world) checkHistogram(t *testing.T, p *tab, i int, resource string) {
	t.Helper()
	seen := value[struct {
		Bars   int
		Places map[string]float64
		Says   string
	}](p, fmt.Sprintf(`(() => {
		const svg = document.querySelectorAll("svg.bars")[%d], places = {};
		for (const line of svg.querySelectorAll(".mark")) places[line.getAttribute("class").slice(5)] = Number(line.getAttribute("x1"));
		return { bars: svg.querySelectorAll(".bar").length, places, says: svg.getAttribute("aria-label") };
	})()`, i))
	t.Logf("%s: %d bars; %s", resource, seen.Bars, seen.Says)
	if seen.Bars < 5 || !strings.HasPrefix(seen.Says, "Use of "+resource) {
		t.Errorf("%s: %d bars", resource, seen.Bars)
	}
	amounts := map[string]float64{"request": map[string]float64{"cpu": 0.1, "memory": 64 << 20}[resource]}
	for place, field := range map[string]string{"target": "target", "lower-bound": "lowerBound", "upper-bound": "upperBound"} {
		text := w.kubectl(t, "", "--namespace="+elsewhere, "get", "vpa", "gateway",
			"--output=jsonpath={.status.recommendation.containerRecommendations[0]."+field+"."+resource+"}")
		amounts[place] = amountOf(t, text)
	}
	perUnit := (seen.Places["upper-bound"] - seen.Places["request"]) / (amounts["upper-bound"] - amounts["request"])
	for place, want := range amounts {
		got := amounts["request"] + (seen.Places[place]-seen.Places["request"])/perUnit
		if _, isThere := seen.Places[place]; !isThere || math.Abs(got-want) > 0.02*want {
			t.Errorf("%s: the line of %s is at %g, not at %g", resource, place, got, want)
		}
	}
}

// testSchedule: the page of a WorkloadAutoscaler that gets a schedule, which is in force all day, says that the schedule
// asks for the replicas, and plays another one.
func (w *world) testSchedule(t *testing.T) {
	eventually(t, "a count", func(context.Context) error {
		if got := w.kubectl(t, "", "--namespace="+elsewhere, "get", "wla", "checkout",
			"--output=jsonpath={.status.desiredReplicas}"); got != "1" {
			return fmt.Errorf("%s replicas", got)
		}
		return nil
	})
	w.kubectl(t, "", "--namespace="+elsewhere, "patch", "wla", "checkout", "--type=merge", "--patch",
		`{"spec":{"schedules":[{"name":"office-hours","start":"0 0 * * *","durationSeconds":86400,"minReplicas":3}]}}`)
	eventually(t, "the replicas of the schedule", func(context.Context) error {
		if got := w.kubectl(t, "", "--namespace="+elsewhere, "get", "deployment", "checkout",
			"--output=jsonpath={.spec.replicas}"); got != "3" {
			return fmt.Errorf("%s replicas", got)
		}
		return nil
	})
	p := w.open(t)
	p.showObject(view.IDOf(view.WLA, elsewhere, "checkout"))
	p.waitFor("the count of the schedule", `[...document.querySelectorAll("#object .summary div")].some((e) => e.textContent === "Desired3")`)
	text := value[string](p, `document.querySelector("#object").textContent`)
	for _, part := range []string{`schedule "office-hours"`, "WorkloadAutoscaler", "3 to 8"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if manifest := value[string](p, `document.querySelector("pre[aria-label=Manifest]").textContent`); !strings.Contains(manifest, "name: office-hours") {
		t.Error("the manifest lacks the schedule")
	}
	if least := value[float64](p, `(() => {
		const plot = window.plots.find((plot) => plot.root.isConnected);
		return plot.data[plot.series.findIndex((series) => series.label === "minReplicas")].findLast((v) => v !== undefined && v !== null);
	})()`); least != 3 {
		t.Errorf("the chart's minReplicas ends at %g, not at the schedule's", least)
	}
	p.waitFor("the change", `document.querySelector(".events button") !== null`)
	changes := p.changes()
	if len(changes) != 1 || changes[0].Count != "1 → 3" || changes[0].Why == "" {
		t.Errorf("the changes are %+v", changes)
	}
	p.waitFor("the form", `document.querySelector(".whatif .targets input") !== null`)
	value[bool](p, `document.querySelector(".whatif details").open = true`)
	p.do(chromedp.SendKeys(chromedp.CSS(".whatif label:last-child textarea"),
		"- {name: office-hours, start: '0 0 * * *', durationSeconds: 86400, minReplicas: 5}"))
	p.do(chromedp.Click(chromedp.CSS("form.whatif button[type=submit]")))
	played := p.awaitPlayed()
	if asIs, changed := slices.Max(played.AsIs), slices.Max(played.Changed); asIs != 3 || changed != 5 {
		t.Errorf("up to %.0f desired as it is and %.0f with the other schedule, not 3 and 5", asIs, changed)
	}
	if got := w.dryRun(t, p, ".spec.schedules[0].minReplicas"); got != "5" {
		t.Errorf("the command makes the schedule's minReplicas %q", got)
	}
}

// testKeyboard finds an autoscaler, opens it, plays another target, and goes back, without a mouse.
func (w *world) testKeyboard(t *testing.T) {
	w.play(t)
	p := w.open(t)
	p.do(pressSlash())
	p.waitFor("the focus", `document.activeElement.matches("input[type=search]")`)
	p.do(chromedp.KeyEvent("shop/web"))
	p.waitFor("the find", `document.querySelector(".count").textContent.startsWith("1 of ")`)
	p.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	p.waitFor("the object", `document.querySelector("#object h2").textContent === "shop / web" && document.querySelector(".whatif .targets input") !== null`)
	p.tabTo(".whatif .targets input")
	p.do(chromedp.KeyEvent("25"), chromedp.KeyEvent(kb.Enter))
	if played := p.awaitPlayed(); slices.Max(played.Changed) <= slices.Max(played.AsIs) {
		t.Error("half the target asks for no more")
	}
	p.tabTo(".result .copyable button")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.waitFor("the copy", `["Copied", "Selected"].includes(document.querySelector(".result .copyable button").textContent)`)
	p.do(chromedp.KeyEvent(kb.Escape))
	p.waitFor("the overview", `!document.querySelector("#overview").hidden && document.querySelector("#object").hidden`)
	p.waitFor("the find", `document.querySelector(".count").textContent.startsWith("1 of ")`)
	p.tabTo("input[type=search]")
}

// tabTo presses the tab key until an element has the focus. A page that is drawn anew meanwhile must not lose it.
func (p *tab) tabTo(selector string) {
	p.t.Helper()
	for range 120 {
		if value[bool](p, fmt.Sprintf("document.activeElement.matches(%s)", quoted(selector))) {
			return
		}
		p.do(chromedp.KeyEvent(kb.Tab))
	}
	p.t.Fatalf("the tab key does not reach %s", selector)
}
