//go:build ui

package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// timing notes when the frame with the first rows has been painted.
const timing = `new MutationObserver((_, observer) => {
	if (!document.querySelector("tbody tr[aria-rowindex]")) return;
	observer.disconnect();
	requestAnimationFrame(() => requestAnimationFrame(() => { window.rowsPainted = performance.now(); }));
}).observe(document, { childList: true, subtree: true })`

func withTiming() step {
	return call(cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: timing})
}

// TestFirstPaint prints how long it takes until something, and until the rows, are seen.
func TestFirstPaint(t *testing.T) {
	for _, n := range []int{1000, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p, _ := serve(t, &madeUp{rows: rowsOf(n), revision: 1}, withTiming())
			p.checkFirstPaint(n)
		})
	}
}

func (p *tab) checkFirstPaint(n int) {
	p.t.Helper()
	p.waitFor("rows to be painted", "window.rowsPainted > 0")
	first := value[float64](p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	rows := value[float64](p, "window.rowsPainted")
	bytes := value[float64](p, `performance.getEntriesByType("resource").reduce((sum, r) => sum + r.transferSize, 0)`)
	p.t.Logf("%d autoscalers: first paint after %.0f ms, rows after %.0f ms, %.0f kB received", n, first, rows, bytes/1000)
	if count := value[string](p, `document.querySelector(".count").textContent`); count != fmt.Sprintf("%d autoscalers", n) {
		p.t.Errorf("the page counts %q", count)
	}
}

// TestScrolling goes through 10,000 rows in a hundred steps: in each frame there are rows in sight.
func TestScrolling(t *testing.T) {
	p, _ := serve(t, &madeUp{rows: rowsOf(10_000), revision: 1})
	p.waitForRows()
	p.checkScrolling(10_000)
}

// checkScrolling scrolls through all rows.
func (p *tab) checkScrolling(rows int) {
	p.t.Helper()
	seen := value[struct {
		Frames      []float64
		Blank, Most int
		Last        string
	}](p, `(async () => {
		const place = document.querySelector(".scroll"), frames = [];
		const frame = () => new Promise(requestAnimationFrame);
		let blank = 0, most = 0;
		await frame();
		let before = performance.now();
		for (let i = 0; i <= 100; i++) {
			place.scrollTop = (place.scrollHeight - place.clientHeight) * i / 100;
			await frame();
			const now = performance.now();
			frames.push(now - before);
			before = now;
			const box = place.getBoundingClientRect();
			for (const part of [0.2, 0.5, 0.9]) {
				if (!document.elementFromPoint(box.left + 300, box.top + box.height * part)?.closest("tr[aria-rowindex]")) blank++;
			}
			most = Math.max(most, document.querySelectorAll("tbody tr").length);
		}
		return { frames, blank, most, last: [...document.querySelectorAll("tbody tr[aria-rowindex]")].at(-1).ariaRowIndex };
	})()`)
	slices.Sort(seen.Frames)
	n, late := len(seen.Frames), 0
	for _, frame := range seen.Frames {
		if frame > 50 {
			late++
		}
	}
	p.t.Logf("%d rows in %d frames: median %.1f ms, 95%% within %.1f ms, longest %.1f ms, %d over 50 ms; at most %d rows have elements",
		rows, n, seen.Frames[n/2], seen.Frames[n*95/100], seen.Frames[n-1], late, seen.Most)
	if seen.Blank > 0 {
		p.t.Errorf("there was no row at %d of %d places", seen.Blank, 3*n)
	}
	if seen.Most > 100 {
		p.t.Errorf("%d rows have elements; only those in sight are to have some", seen.Most)
	}
	if want := fmt.Sprint(rows + 1); seen.Last != want {
		p.t.Errorf("the last row has the index %s, not %s", seen.Last, want)
	}
}

// TestFilterAndSort finds rows among 10,000.
func TestFilterAndSort(t *testing.T) {
	rows := rowsOf(10_000)
	p, _ := serve(t, &madeUp{rows: rows, revision: 1})
	p.waitForRows()
	took := p.find("payments index")
	t.Logf("finding in 10,000 rows, layout included: %.1f ms", took)
	wanted := count(rows, func(r view.Row) bool {
		return r.Namespace == "payments" && strings.HasPrefix(r.Name, "index")
	})
	p.checkCount(wanted, len(rows))
	took = p.chooseHealth("problem")
	t.Logf("choosing a health among 10,000 rows: %.1f ms", took)
	p.checkCount(count(rows, func(r view.Row) bool { return r.Health == view.Problem }), len(rows))
	p.do(chromedp.Click(chromedp.CSS("th.c-name button")))
	names := value[[]string](p, `[...document.querySelectorAll("td.c-name")].map((cell) => cell.textContent)`)
	if !slices.IsSorted(names) || len(names) < 10 {
		t.Errorf("not sorted by name: %q", names)
	}
	p.do(chromedp.Click(chromedp.CSS("th.c-name button")))
	names = value[[]string](p, `[...document.querySelectorAll("td.c-name")].map((cell) => cell.textContent)`)
	slices.Reverse(names)
	if !slices.IsSorted(names) {
		t.Errorf("not sorted the other way: %q", names)
	}
}

// find types words into the field, and returns how many milliseconds it took until the rows had their places.
func (p *tab) find(words string) float64 {
	p.t.Helper()
	return value[float64](p, fmt.Sprintf(`(() => {
		const find = document.querySelector("input[type=search]"), begin = performance.now();
		find.value = %s;
		find.dispatchEvent(new Event("input"));
		document.body.getBoundingClientRect();
		return performance.now() - begin;
	})()`, quoted(words)))
}

// chooseHealth chooses the rows of a health and finds no words any more; it returns how many milliseconds that took.
func (p *tab) chooseHealth(name string) float64 {
	p.t.Helper()
	return value[float64](p, fmt.Sprintf(`(() => {
		const find = document.querySelector("input[type=search]"), health = document.querySelector("select[aria-label=Health]");
		const begin = performance.now();
		find.value = "";
		health.value = %s;
		health.dispatchEvent(new Event("change"));
		document.body.getBoundingClientRect();
		return performance.now() - begin;
	})()`, quoted(name)))
}

func count(rows []view.Row, is func(view.Row) bool) (n int) {
	for i := range rows {
		if is(rows[i]) {
			n++
		}
	}
	return n
}

func (p *tab) checkCount(shown, all int) {
	p.t.Helper()
	got := value[string](p, `document.querySelector(".count").textContent`)
	if want := fmt.Sprintf("%d of %d autoscalers", shown, all); got != want || shown == 0 {
		p.t.Errorf("the page counts %q, not %q", got, want)
	}
}

// TestLive: a change in the cluster is seen without a reload, and only what has changed is sent.
func TestLive(t *testing.T) {
	cluster := &madeUp{rows: rowsOf(20), revision: 1}
	p, _ := serve(t, cluster)
	p.waitForRows()
	row := cluster.rows[0]
	row.Health, row.Says = view.Problem, "the HPA was unable to compute the replica count: made up"
	cluster.change(row)
	p.waitFor("the change", `document.querySelector("tbody").innerText.includes("replica count: made up")`)
}

// TestPartlyForbidden: what may not be read is said, and the rest is there.
func TestPartlyForbidden(t *testing.T) {
	cluster := &madeUp{rows: rowsOf(20), revision: 1, notes: []view.Note{{
		What: "VerticalPodAutoscalers", Why: `verticalpodautoscalers.autoscaling.k8s.io is forbidden: User "reader" cannot list resource`,
	}}}
	p, _ := serve(t, cluster)
	p.waitForRows()
	if text := value[string](p, `document.querySelector("#notes").innerText`); text != cluster.notes[0].What+": "+cluster.notes[0].Why {
		t.Errorf("the notes are %q", text)
	}
}

// TestServerGone: what is shown stays, and it is said that it is old.
func TestServerGone(t *testing.T) {
	p, s := serve(t, &madeUp{rows: rowsOf(20), revision: 1})
	p.waitForRows()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.waitFor("the page to say so", `document.querySelector("#state").textContent.startsWith("not up to date")`)
	if n := value[int](p, `document.querySelectorAll("tbody tr[aria-rowindex]").length`); n != 20 {
		t.Errorf("%d rows are left of 20", n)
	}
	p.takeComplaints() // The browser reports each request that fails.
}

// TestKeyboard finds, opens and leaves an autoscaler without a pointer, and reaches everything with the tab key.
func TestKeyboard(t *testing.T) {
	rows := rowsOf(70)
	wanted := rows[slices.IndexFunc(rows, func(r view.Row) bool { return r.Namespace == "search" && r.Name == "worker" })]
	cluster := &madeUp{rows: rows, revision: 1, objects: map[string]*view.Object{wanted.ID: surge(wanted)}}
	p, _ := serve(t, cluster)
	p.waitForRows()
	p.do(pressSlash())
	p.waitFor("the focus", `document.activeElement.matches("input[type=search]")`)
	p.do(chromedp.KeyEvent("search/worker"))
	p.waitFor("the find", `document.querySelector(".count").textContent.startsWith("1 of 70")`)
	p.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	p.waitFor("the object", `!document.querySelector("#object").hidden && document.querySelectorAll(".events button").length > 0`)
	if title := value[string](p, `document.querySelector("#object h2").textContent`); title != "search / worker" {
		t.Errorf("the page of %q is open", title)
	}
	p.checkTabs("#object a", "#object select", ".events button", "#object pre", "#theme")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.waitFor("the overview", `!document.querySelector("#overview").hidden`)
	p.checkTabs("input[type=search]", "select[aria-label=Kind]", "select[aria-label=Health]", "th button", ".scroll", "#theme")
	p.do(chromedp.Focus(chromedp.CSS(".scroll")), chromedp.KeyEvent(kb.ArrowDown))
	if n := value[int](p, `document.querySelectorAll("tr[aria-selected=true]").length`); n != 1 {
		t.Errorf("%d rows are selected", n)
	}
}

// pressSlash presses a key as a keyboard does: its character comes only if the page does not take the key itself.
func pressSlash() step {
	return call(input.DispatchKeyEvent, input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown, Key: "/", Code: "Slash", Text: "/", WindowsVirtualKeyCode: 191,
	})
}

// checkTabs goes around with the tab key: each of these must get the focus, and show it.
func (p *tab) checkTabs(selectors ...string) {
	p.t.Helper()
	missing := slices.Clone(selectors)
	p.do(chromedp.Evaluate[chromedp.Void]("document.activeElement?.blur()"))
	for range 80 {
		p.do(chromedp.KeyEvent(kb.Tab))
		missing = slices.DeleteFunc(missing, func(selector string) bool {
			return value[bool](p, fmt.Sprintf("document.activeElement.matches(%s)", quoted(selector)))
		})
		if hidden := value[string](p, `(() => {
			const at = document.activeElement;
			return at === document.body || getComputedStyle(at).outlineStyle !== "none" ? "" : at.outerHTML.slice(0, 120);
		})()`); hidden != "" {
			p.t.Errorf("the focus is not seen on %s", hidden)
		}
		if len(missing) == 0 {
			return
		}
	}
	p.t.Errorf("the tab key does not reach %q", missing)
}
