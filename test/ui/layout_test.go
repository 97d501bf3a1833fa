//go:build ui

package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

var looks = flag.String("looks", "", "a folder to which TestLayout writes each page at each width, light and dark")

// faults is a line for each thing that cannot be read: a word that is broken inside or cut off, or a part of the page that
// must be scrolled sideways.
const faults = `(() => {
	const found = [], root = document.scrollingElement;
	for (const part of [root, ...document.querySelectorAll("main, main *")]) {
		if (part.checkVisibility() && part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0 && getComputedStyle(part).overflowX !== "visible" &&
			!part.closest("pre")) found.push("sideways: " + part.tagName + "." + part.className + " " + part.scrollWidth + " in " + part.clientWidth);
	}
	const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
	for (let node = walker.nextNode(); node; node = walker.nextNode()) {
		if (node.parentElement.closest("pre, svg, select, textarea, script, .u-legend") || !node.parentElement.checkVisibility()) continue;
		for (const word of node.textContent.matchAll(/[\p{L}\p{N}_.]+/gu)) {
			const range = document.createRange();
			range.setStart(node, word.index);
			range.setEnd(node, word.index + word[0].length);
			const boxes = [...range.getClientRects()];
			if (new Set(boxes.map((box) => Math.round(box.top))).size > 1) found.push("broken: " + word[0] + " in " + node.textContent.slice(0, 80));
		}
	}
	for (const cell of document.querySelectorAll("td.c-name > div, td.c-health > div, td.c-replicas > div, td.c-load > div")) {
		if (cell.checkVisibility() && cell.scrollHeight > cell.clientHeight + 1) found.push("cut off: " + cell.textContent);
	}
	return [...new Set(found)].slice(0, 20);
})()`

// checkLayout finds what cannot be read of the page that is open, and writes a picture of it for a person.
func (p *tab) checkLayout(page, scheme string, width, height int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, height))
	value[bool](p, "new Promise((resolve) => setTimeout(() => resolve(true), 150))")
	for _, fault := range value[[]string](p, faults) {
		p.t.Errorf("%s, %d × %d: %s", page, width, height, fault)
	}
	if *looks == "" {
		return
	}
	image, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*looks, fmt.Sprintf("%s-%d-%s.png", page, width, scheme)), image, 0o644); err != nil {
		p.t.Error(err)
	}
}

// withLongNames has names and messages as long as real ones.
func withLongNames() (*madeUp, view.Row) {
	cluster, row := withSurge(60)
	for i, name := range map[int]string{1: "checkout-payments-gateway-eu-west", 3: "recommendations-service", 4: "kafka-consumer-order-events"} {
		r := &cluster.rows[i]
		r.Name, r.Namespace, r.Target = name, "payments-production", "StatefulSet/"+name
		r.ID = view.IDOf(r.Kind, r.Namespace, r.Name)
	}
	return cluster, row
}

// TestLayout: at three widths, light and dark, no word of a page is broken inside, names and numbers are there in whole, and
// nothing is scrolled sideways.
func TestLayout(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		cluster, row := withLongNames()
		p, _ := serve(t, cluster, prefer(scheme))
		p.waitForRows()
		empty, _ := serve(t, &madeUp{revision: 1}, prefer(scheme))
		empty.waitFor("the sentence", `document.querySelector("tbody").textContent !== ""`)
		report, _ := openReport(t, surgeWithGap(), prefer(scheme))
		report.waitFor("the plot", `document.querySelector(".chart canvas") !== null`)
		for _, width := range []int64{1280, 900, 600} {
			value[string](p, `location.hash = "#/"`)
			p.waitFor("the overview", `!document.querySelector("#overview").hidden`)
			p.checkLayout("overview", scheme, width, 720)
			if width == 600 && !value[bool](p, `document.querySelector("td.c-target").checkVisibility()`) {
				t.Errorf("%s, %d: the card has no target", scheme, width)
			}
			p.find("production")
			p.checkLayout("long-names", scheme, width, 720)
			p.find("")
			empty.checkLayout("empty", scheme, width, 720)
			p.showObject(row.ID)
			p.waitFor("the chart", `document.querySelector(".chart canvas") !== null`)
			p.checkLayout("first-screen", scheme, width, 720)
			p.do(chromedp.Click(chromedp.CSS("form.whatif button[type=submit]")))
			p.waitFor("the result", `document.querySelector(".result .chart canvas") !== null`)
			p.checkLayout("object", scheme, width, 3600)
			p.showVertical(cluster)
			p.checkLayout("vertical", scheme, width, 1000)
			report.checkLayout("report", scheme, width, 2600)
		}
	}
}

// TestOneSentenceEach: nothing, no permission, nothing yet and no history are told apart.
func TestOneSentenceEach(t *testing.T) {
	forbidden := view.Note{What: "HorizontalPodAutoscalers", Why: "you may not list horizontalpodautoscalers.autoscaling in all namespaces"}
	pending := view.Note{What: "HorizontalPodAutoscalers", Why: "they are being read", IsPending: true}
	targets := view.Note{What: "Deployments", Why: "you may not list deployments.apps in all namespaces"}
	for want, notes := range map[string][]view.Note{
		"There are no autoscalers in this cluster.":                                {targets},
		"The autoscalers are being read…":                                          {pending},
		"No autoscalers can be shown. What cannot be read, and why, stands above.": {forbidden},
	} {
		p, _ := serve(t, &madeUp{revision: 1, notes: notes})
		p.waitFor(want, fmt.Sprintf(`document.querySelector("tbody").textContent === %s`, quoted(want)))
	}
	cluster, row := withSurge(20)
	object := *cluster.objects[row.ID]
	object.History, object.Unrecorded, object.Events = nil, "you may not get autoscalercheckpoints", nil
	object.Forecast = &view.Forecast{Mode: "Preview", Text: "it has seen 3 of the 48 hours of load that it needs"}
	object.Row.Desired, object.Row.Load = nil, nil
	object.Findings = &[]view.Finding{}
	object.Notes = []view.Note{{What: "Advice", Why: "4 more rules could not be checked"}}
	cluster.objects[row.ID] = &object
	p, _ := serve(t, cluster)
	p.waitForRows()
	p.showObject(row.ID)
	p.waitFor("the answer", `document.querySelector(".answer").textContent !== ""`)
	text := value[string](p, `document.querySelector("#object").innerText`)
	for _, want := range []string{
		"only what this page has seen since it was opened. You may not get autoscalercheckpoints.", "No events.", "No advice:",
		"it still learns, and expects nothing yet: it has seen 3 of the 48 hours", "Desired\n–", "Load / target\n–",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if first := value[string](p, `document.querySelector("#object h2").nextElementSibling.textContent`); first != object.Summary {
		t.Errorf("below the name stands %q", first)
	}
	if above := value[string](p, `document.querySelector("#object .events").textContent`); strings.Contains(above, "NaN") || strings.Contains(above, "undefined") {
		t.Errorf("the changes are %q", above)
	}
}
