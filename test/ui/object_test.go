//go:build ui

package ui

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// withSurge is a cluster of n autoscalers, one of which has scaled up and down within the last hour.
func withSurge(n int) (*madeUp, view.Row) {
	rows := rowsOf(n)
	least, most := int32(2), int32(12)
	rows[0].Min, rows[0].Max = &least, &most
	object := surge(rows[0])
	rows[0] = object.Row
	vpa := rows[5]
	return &madeUp{
		rows: rows, revision: 1, objects: map[string]*view.Object{object.Row.ID: object, vpa.ID: vertical(vpa)}, played: played(),
	}, object.Row
}

// showVertical opens the page of the VerticalPodAutoscaler.
func (p *tab) showVertical(cluster *madeUp) *view.Object {
	p.t.Helper()
	object := cluster.objects[cluster.rows[5].ID]
	p.showObject(object.Row.ID)
	p.waitFor("the histograms", `document.querySelectorAll("svg.bars").length > 0`)
	return object
}

// TestWhatIf: the form sends what was changed and nothing else; the answer is shown, beside what happened, and can be
// copied. What cannot work is said in the server's words.
func TestWhatIf(t *testing.T) {
	cluster, row := withSurge(20)
	cluster.played.Warning = "the peak needs more pods than maxReplicas permits"
	p, _ := serve(t, cluster)
	p.waitForRows()
	p.showObject(row.ID)
	p.waitFor("the form", `document.querySelectorAll(".whatif .targets input").length === 2`)
	p.do(chromedp.SendKeys(chromedp.CSS(".whatif .targets input"), "50%"))
	p.do(chromedp.SendKeys(chromedp.CSS(".whatif input[min='1']"), "20"))
	p.do(chromedp.Click(chromedp.CSS("form.whatif button[type=submit]")))
	p.waitFor("the result", `document.querySelector(".result .chart canvas") !== null`)
	most := int32(20)
	asked, _ := cluster.lastAsked()
	want := view.WhatIfRequest{
		Kind: row.Kind, Namespace: row.Namespace, Name: row.Name, LastSeconds: 86400,
		Changes: view.Changes{MaxReplicas: &most, Targets: []view.TargetChange{{Metric: 0, Value: "50"}}},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	cells := value[[]string](p, `[...document.querySelectorAll(".result .grid td")].map((cell) => cell.textContent)`)
	var wanted []string
	before, after := cluster.played.AsIs, cluster.played.Changed
	for _, row := range []struct {
		title, unit   string
		before, after float64
	}{
		{"Cost, in pod-hours", "", before.PodHours, after.PodHours},
		{"Time above the present target, by more than the tolerance", " %", before.AboveTargetPercent, after.AboveTargetPercent},
		{"Of that, with all pods of maxReplicas", " %", before.AboveAtMaxPercent, after.AboveAtMaxPercent},
		{"Time with more load than the pods can serve", " %", before.ShortPercent, after.ShortPercent},
		{"The longest such time", " s", before.LongestShortSeconds, after.LongestShortSeconds},
		{"Changes of the replica count", "", float64(before.Actions), float64(after.Actions)},
	} {
		difference := "0"
		if more := row.after - row.before; more != 0 {
			difference = strings.Replace(threeDigits(more), "-", "−", 1) + row.unit
			if more > 0 {
				difference = "+" + difference
			}
		}
		wanted = append(wanted, row.title, threeDigits(row.before)+row.unit, threeDigits(row.after)+row.unit, difference)
	}
	if diff := cmp.Diff(wanted, cells); diff != "" {
		t.Errorf("the result (-want +got):\n%s", diff)
	}
	text := value[string](p, `document.querySelector(".result").innerText`)
	for _, note := range append([]string{cluster.played.Warning}, cluster.played.Notes...) {
		if !strings.Contains(text, note[1:]) {
			t.Errorf("it does not say that %s", note)
		}
	}
	if shown := value[string](p, `document.querySelector(".result pre").textContent`); shown != cluster.played.Command {
		t.Errorf("the command is %q", shown)
	}
	p.do(chromedp.Click(chromedp.CSS(".result .copyable button")))
	p.waitFor("the copy", `["Copied", "Selected"].includes(document.querySelector(".result .copyable button").textContent)`)

	value[string](p, `document.querySelector(".whatif input[min='1']").value = ""`)
	value[bool](p, `document.querySelector("form.whatif").noValidate = true`)
	p.do(chromedp.SendKeys(chromedp.CSS(".whatif input[min='1']"), "0"), chromedp.Click(chromedp.CSS("form.whatif button[type=submit]")))
	p.waitFor("the error", `document.querySelector("#object p[role=status]").textContent.includes("spec.maxReplicas: 0 is less than 1")`)
	p.takeRequestErrors()
}

// threeDigits is a number as the page writes it.
func threeDigits(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// TestVertical: the histogram has a bar for each bucket, and each line is at the place of its value.
func TestVertical(t *testing.T) {
	cluster, _ := withSurge(20)
	p, _ := serve(t, cluster)
	p.waitForRows()
	object := p.showVertical(cluster)
	for i, resource := range object.Vertical.Containers[0].Resources {
		seen := value[struct {
			Bars   int
			Places map[string]float64
			Ticks  []string
		}](p, fmt.Sprintf(`(() => {
			const svg = document.querySelectorAll("svg.bars")[%d];
			const places = {};
			for (const line of svg.querySelectorAll(".mark")) places[line.getAttribute("class").slice(5)] = Number(line.getAttribute("x1"));
			return { bars: svg.querySelectorAll(".bar").length, places, ticks: [...svg.querySelectorAll("text[text-anchor=middle]")].map((e) => e.textContent) };
		})()`, i))
		if seen.Bars < 10 || len(seen.Ticks) < 4 {
			t.Errorf("%s: %d bars, the axis has %q", resource.Name, seen.Bars, seen.Ticks)
		}
		// Two lines give the scale, the others must fit it.
		perUnit := (seen.Places["upper-bound"] - seen.Places["target"]) / (*resource.Upper - *resource.Target)
		for name, want := range map[string]float64{"lower-bound": *resource.Lower, "request": resource.Requests[0]} {
			got := *resource.Target + (seen.Places[name]-seen.Places["target"])/perUnit
			if math.Abs(got-want) > 0.01*want {
				t.Errorf("%s: the line of %s is at %g, not %g", resource.Name, name, got, want)
			}
		}
	}
	text := value[string](p, `document.querySelector("#object").innerText`)
	for _, part := range []string{"350m", "410Mi", "256Mi", "95% up to 338m", "blocked: the PodDisruptionBudget gateway allows no disruption", "9874 samples"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}

// TestDetails: metrics with their pods, the pods set aside with the reason, events and advice.
func TestDetails(t *testing.T) {
	cluster, row := withSurge(20)
	p, _ := serve(t, cluster)
	p.waitForRows()
	p.showObject(row.ID)
	text := value[string](p, `document.querySelector("#object").innerText`)
	for _, part := range []string{
		"web-7d4b9c-x2x8f its last sample is 75 s old", "requests_per_second", "FailedGetResourceMetric ×3", "No readiness probe",
		"New size: 6; reason: CPU above target", "played back, it avoids 14 pod-minutes",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}

// TestScaleEvents: each change of the replica count is in the list with its reason, and marked at its place on the time
// axis. The place is computed here from the ends of the axis, and the mark is found in the chart's pixels.
func TestScaleEvents(t *testing.T) {
	cluster, row := withSurge(60)
	p, _ := serve(t, cluster, withPlots())
	p.waitForRows()
	p.showObject(row.ID)
	p.waitFor("the chart", `document.querySelector(".chart canvas") !== null`)
	history := cluster.objects[row.ID].History
	texts := value[[]string](p, `[...document.querySelectorAll(".events button")].map((e) => e.textContent)`)
	if len(texts) != len(history.Changes) || len(texts) < 8 {
		t.Fatalf("%d changes are listed of %d", len(texts), len(history.Changes))
	}
	for i, change := range history.Changes {
		text := texts[len(texts)-1-i] // The latest is at the top.
		for _, part := range []string{
			change.Time.Local().Format("15:04:05"), fmt.Sprintf("%d → %d", change.From, change.To), fmt.Sprintf("load of %s pods", threeDigits(*change.Load)),
		} {
			if !strings.Contains(text, part) {
				t.Errorf("the change at %s is listed as %q, without %q", change.Time, text, part)
			}
		}
		p.do(chromedp.Click(chromedp.CSS(fmt.Sprintf(`.events button[data-at="%d"]`, change.Time.UnixMilli()))))
		if off := p.markOff(change.Time); off > 2 {
			t.Errorf("the mark of %d → %d is %.0f pixels from its place", change.From, change.To, off)
		}
	}
	t.Logf("%d changes, each with its reason, each at its place", len(texts))
}

// markOff is how far, in pixels, the mark of the chosen change is from its time on the axis. The page was opened with
// withPlots.
func (p *tab) markOff(at time.Time) float64 {
	p.t.Helper()
	found, seconds := p.mark(), float64(at.UnixMilli())/1000
	if found.From >= found.To || seconds < found.From || seconds > found.To {
		p.t.Errorf("%s is not on the axis from %.0f to %.0f", at, found.From, found.To)
	}
	off, part := math.Inf(1), (seconds-found.From)/(found.To-found.From)
	for _, column := range found.Columns {
		off = min(off, math.Abs(column-part)*found.Width)
	}
	return off
}

// mark is where the chosen change is marked in the chart.
type mark struct {
	// Columns are the places of what looks like it, as parts of the plot's width, which is in pixels.
	Columns []float64
	Width   float64
	// From and To are the ends of the time axis, in seconds.
	From, To float64
}

// mark finds the mark of the chosen change in the chart's pixels: it is the only line from the top to the bottom of the
// plot without gaps. What it finds, and the ends of the axis, are of the same moment.
func (p *tab) mark() mark {
	p.t.Helper()
	found := value[mark](p, `new Promise((resolve) => setTimeout(() => {
		const canvas = document.querySelector(".chart canvas"), over = document.querySelector(".chart .u-over");
		const at = canvas.getBoundingClientRect(), plot = over.getBoundingClientRect(), scale = canvas.width / at.width;
		const left = Math.round((plot.left - at.left) * scale), top = Math.round((plot.top - at.top) * scale);
		const width = Math.round(plot.width * scale), height = Math.round(plot.height * scale);
		const image = canvas.getContext("2d").getImageData(left, top, width, height).data;
		const probe = document.createElement("canvas").getContext("2d");
		probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--now");
		probe.fillRect(0, 0, 1, 1);
		const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
		const columns = [];
		for (let x = 0; x < width; x++) {
			let n = 0;
			for (let y = 0; y < height; y++) {
				const i = 4 * (y * width + x);
				if (Math.abs(image[i] - r) + Math.abs(image[i + 1] - g) + Math.abs(image[i + 2] - b) < 30) n++;
			}
			if (n > 0.85 * height) columns.push(x / width);
		}
		const axis = (window.plots ?? []).find((plot) => plot.root.contains(canvas))?.scales.x;
		resolve({ columns, width: over.clientWidth, from: axis?.min ?? 0, to: axis?.max ?? 0 });
	}, 30))`)
	if len(found.Columns) == 0 {
		p.t.Fatal("no mark is chosen in the chart")
	}
	return found
}

// TestExplanation: what explain prints is there, word by word, and the manifest.
func TestExplanation(t *testing.T) {
	cluster, row := withSurge(20)
	p, _ := serve(t, cluster)
	p.waitForRows()
	p.showObject(row.ID)
	shown := value[string](p, `document.querySelector("#object").textContent`)
	object := cluster.objects[row.ID]
	for _, line := range object.Lines {
		if !strings.Contains(shown, line.Text) || !strings.Contains(shown, strings.TrimSpace(line.Label)) {
			t.Errorf("the page lacks %+v", line)
		}
	}
	if !strings.Contains(shown, object.Manifest) {
		t.Error("the page lacks the manifest")
	}
}

// TestDark: the page follows the colour scheme that the person prefers, and the switch.
func TestDark(t *testing.T) {
	cluster, row := withSurge(20)
	p, _ := serve(t, cluster, prefer("dark"))
	p.waitForRows()
	p.checkBrightness(true)
	p.showObject(row.ID)
	p.checkBrightness(true)
	p.do(chromedp.Click(chromedp.CSS("#theme")))
	p.checkBrightness(false)
	p.do(prefer("light"))
	// The browser reports a change of what the person prefers with the next frame.
	value[bool](p, "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))")
	p.do(prefer("dark"))
	p.waitFor("the dark page", `document.documentElement.dataset.theme === "dark"`)
	p.checkBrightness(true)
}

// checkBrightness looks at the page's colours, text and background.
func (p *tab) checkBrightness(isDark bool) {
	p.t.Helper()
	light := value[[]float64](p, `["backgroundColor", "color"].map((name) => {
		const style = getComputedStyle(document.documentElement);
		return style[name].match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 765;
	})`)
	if isDark != (light[0] < 0.2) || isDark != (light[1] > 0.8) {
		p.t.Errorf("dark: %t, but the background is %.2f and the text %.2f of white", isDark, light[0], light[1])
	}
}

// TestAccessibility has axe-core look at each page, light and dark.
func TestAccessibility(t *testing.T) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("make test-ui installs axe-core: %v", err)
	}
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			cluster, row := withSurge(200)
			cluster.notes = []view.Note{{What: "VerticalPodAutoscalers", Why: "forbidden"}}
			p, _ := serve(t, cluster, prefer(scheme))
			p.waitForRows()
			p.do(chromedp.Evaluate[chromedp.Void](string(axe)))
			p.checkAxe("overview")
			p.showObject(row.ID)
			p.waitFor("the chart", `document.querySelector(".chart canvas") !== null`)
			p.checkAxe("object")
			p.do(chromedp.Click(chromedp.CSS("form.whatif button[type=submit]")))
			p.waitFor("the result", `document.querySelector(".result table") !== null`)
			p.checkAxe("what if")
			p.showVertical(cluster)
			p.checkAxe("VPA")
		})
	}
}

func (p *tab) checkAxe(name string) {
	p.t.Helper()
	found := value[struct {
		Passes     int
		Violations []struct {
			ID, Impact, Help string
			Nodes            []string
		}
	}](p, `axe.run(document, { resultTypes: ["violations"] }).then((result) => ({
		passes: result.passes.length,
		violations: result.violations.map(({ id, impact, help, nodes }) => ({ id, impact, help, nodes: nodes.slice(0, 4).map((n) => n.html.slice(0, 160)) })),
	}))`)
	p.t.Logf("%s: axe-core passes %d rules, %d findings", name, found.Passes, len(found.Violations))
	if found.Passes < 10 {
		p.t.Error("axe-core has checked next to nothing")
	}
	for _, v := range found.Violations {
		p.t.Logf("%s: %s: %s: %s\n%s", name, v.Impact, v.ID, v.Help, strings.Join(v.Nodes, "\n"))
		if v.Impact == "serious" || v.Impact == "critical" {
			p.t.Errorf("%s: a %s finding: %s", name, v.Impact, v.ID)
		}
	}
}

// TestHostileTexts: names, messages and all else that a cluster says are text, never markup.
func TestHostileTexts(t *testing.T) {
	object := hostile()
	rows := append(rowsOf(5), object.Row)
	result := played()
	result.Command, result.Patch, result.Notes = markup, markup, []string{markup}
	p, _ := serve(t, &madeUp{
		played: result,
		rows:   rows, revision: 1, objects: map[string]*view.Object{object.Row.ID: object}, notes: []view.Note{{What: markup, Why: markup}},
	})
	p.waitForRows()
	p.checkMarkup(4)
	p.do(chromedp.Click(chromedp.CSS(".health-problem")))
	p.waitFor("the object", `document.querySelectorAll(".events button").length > 0`)
	p.checkMarkup(35)
	p.do(chromedp.Click(chromedp.CSS("form.whatif button[type=submit]")))
	p.waitFor("the result", `document.querySelector(".result table") !== null`)
	p.checkMarkup(37)
	// What there is nothing of is an answer of the server's with its name in it.
	value[string](p, "location.hash = "+quoted("#/object/VerticalPodAutoscaler/"+url.PathEscape(markup)+"/"+url.PathEscape(markup)))
	p.waitFor("the error", `document.querySelector("#object .answer").textContent.includes("no such autoscaler")`)
	p.checkMarkup(1)
	p.takeRequestErrors()
}

// checkMarkup finds elements made of text; the text itself must be there.
func (p *tab) checkMarkup(atLeast int) {
	p.t.Helper()
	if n := value[int](p, fmt.Sprintf("document.body.textContent.split(%s).length - 1", quoted(markup))); n < atLeast {
		p.t.Errorf("the text is there %d times, less than %d", n, atLeast)
	}
	if value[bool](p, `window.hacked === true || document.querySelector("img, body script, iframe") !== null`) {
		p.t.Error("a text has become markup")
	}
}

// takeRequestErrors takes what the browser reports of answers with an error's status; other complaints stay.
func (p *tab) takeRequestErrors() {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := p.complaints[:0]
	for _, complaint := range p.complaints {
		if !strings.HasPrefix(complaint, "network: Failed to load resource") {
			rest = append(rest, complaint)
		}
	}
	p.complaints = rest
}

// TestPolicy: a script or a style within the page's text does not run, and the browser reports it: the other tests, which
// find no report, would see one. The same holds for an image from elsewhere.
func TestPolicy(t *testing.T) {
	p, _ := serve(t, &madeUp{rows: rowsOf(5), revision: 1})
	p.waitForRows()
	p.checkComplaints()
	for name, code := range map[string]string{
		"script": `const e = document.createElement("script"); e.textContent = "window.ran = true"; document.body.append(e)`,
		"style":  `const e = document.createElement("style"); e.textContent = "body { z-index: 7 }"; document.head.append(e)`,
		"image":  `const e = new Image(); e.src = "https://example.com/x.png"; document.body.append(e)`,
		"fetch":  `fetch("https://example.com/").catch(() => {})`,
	} {
		value[bool](p, fmt.Sprintf("new Promise((resolve) => { %s; setTimeout(() => resolve(true), 50); })", code))
		if len(p.takeComplaints()) == 0 {
			t.Errorf("nothing is reported of: %s", name)
		}
	}
	if value[bool](p, `window.ran === true || getComputedStyle(document.body).zIndex === "7"`) {
		t.Error("the page runs what is in its text")
	}
	p.forgetRequests("https://example.com/")
}

// forgetRequests forgets requests that a test made, and that the policy has blocked.
func (p *tab) forgetRequests(prefix string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := p.requests[:0]
	for _, request := range p.requests {
		if !strings.HasPrefix(request, prefix) {
			rest = append(rest, request)
		}
	}
	p.requests = rest
}

// TestOtherSites: pages of other sites get nothing from the page, although the browser has its cookie: not from a name of
// their own that leads to this machine, not from another port of this machine.
func TestOtherSites(t *testing.T) {
	cluster := &madeUp{rows: rowsOf(5), revision: 1}
	own, s := serve(t, cluster)
	own.waitForRows()
	address, err := url.Parse(s.Address())
	if err != nil {
		t.Fatal(err)
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!doctype html><title>other</title>")
	}))
	defer other.Close()
	port := strings.TrimPrefix(other.URL, "http://127.0.0.1:")
	for _, site := range []string{other.URL, "http://localhost:" + port, "http://other.test:" + port} {
		p := newTab(t)
		p.do(chromedp.Navigate(site))
		for _, name := range []string{"127.0.0.1", "localhost"} {
			from := "http://" + name + ":" + address.Port()
			got := value[string](p, fmt.Sprintf(`(async () => {
				const got = [];
				await fetch(%[1]s + "/api/overview", { credentials: "include" }).then(async (r) => got.push(await r.text()), () => {});
				for (const [name, path] of [["script", "/static/main.js"], ["img", "/api/overview"], ["iframe", "/"]]) {
					const e = document.createElement(name);
					await new Promise((resolve) => { e.onload = () => { if (name !== "iframe") got.push(name); resolve(); }; e.onerror = resolve; e.src = %[1]s + path; document.body.append(e); });
					try { if (name === "iframe" && e.contentDocument?.querySelector("#overview")) got.push("frame"); } catch {}
				}
				return got.join();
			})()`, quoted(from)))
			if got != "" {
				t.Errorf("%s gets %.80q from %s", site, got, from)
			}
		}
	}
	// DNS rebinding: a name of another site that leads here, even with the token.
	for _, path := range []string{"/?" + address.RawQuery, "/api/overview", "/"} {
		p := newTab(t)
		p.do(chromedp.Navigate("http://rebound.test:" + address.Port() + path))
		if text := value[string](p, "document.documentElement.outerHTML"); strings.Contains(text, "overview") || strings.Contains(text, "checkout") {
			t.Errorf("%s is answered to another name: %.200s", path, text)
		}
	}
}

// TestToken: without the token, or with another one, there is nothing; with it, it does not stay in the address.
func TestToken(t *testing.T) {
	s := start(t, &madeUp{rows: rowsOf(5), revision: 1})
	base, _, _ := strings.Cut(s.Address(), "?")
	for _, path := range []string{"", "?token=", "?token=" + strings.Repeat("A", 43), "api/overview", "static/main.js"} {
		p := newTab(t)
		p.do(chromedp.Navigate(base + path))
		if text := value[string](p, "document.documentElement.outerHTML"); !strings.Contains(text, "open the address that plimsoll ui has printed") {
			t.Errorf("%q is answered with %.200s", path, text)
		}
	}
	p := newTab(t)
	p.do(chromedp.Navigate(s.Address()))
	p.waitForRows()
	if at := value[string](p, "location.href + document.cookie"); at != base {
		t.Errorf("the page is at %q and may read its cookie, or the token has stayed", at)
	}
}

// TestPictures takes the pictures of the documentation; with -pictures it writes them.
func TestPictures(t *testing.T) {
	cluster, row := withSurge(400)
	p, _ := serve(t, cluster, chromedp.EmulateViewport(1280, 560))
	p.waitForRows()
	checkStates(t, cluster)
	p.picture("ui-overview.png")
	p.do(chromedp.EmulateViewport(1280, 800))
	p.showObject(row.ID)
	p.waitFor("the chart", `document.querySelector(".chart canvas") !== null`)
	p.picture("ui-object.png")
	p.do(chromedp.SendKeys(chromedp.CSS(".whatif .targets input"), "50"))
	p.do(chromedp.Click(chromedp.CSS("form.whatif button[type=submit]")))
	p.waitFor("the result", `document.querySelector(".result .chart canvas") !== null`)
	p.do(chromedp.EmulateViewport(1280, 960))
	value[bool](p, `(document.querySelector("form.whatif").closest("section").scrollIntoView(), document.activeElement.blur(), true)`)
	p.picture("ui-what-if.png")
	p.do(chromedp.EmulateViewport(1280, 800))
	p.showVertical(cluster)
	p.picture("ui-vertical.png")
}

// TestNoState: the page keeps nothing in the browser.
func TestNoState(t *testing.T) {
	p, _ := serve(t, &madeUp{rows: rowsOf(5), revision: 1})
	p.waitForRows()
	kept := value[map[string]int](p, `({ local: localStorage.length, session: sessionStorage.length })`)
	if kept["local"]+kept["session"] > 0 {
		text, _ := json.Marshal(kept)
		t.Errorf("the page keeps %s", text)
	}
}
