//go:build ui

package ui

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/plimsoll-dev/plimsoll/internal/ui/report"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// openReport writes a report about an object into a file, and opens that from the disk.
func openReport(t *testing.T, object *view.Object, before ...step) (p *tab, address string) {
	t.Helper()
	to := time.Now()
	r := report.New(&report.Config{
		Object: object, From: to.Add(-time.Hour), To: to, Made: to, Program: "plimsoll v1.2.3", Cluster: "kind-production",
	})
	var out bytes.Buffer
	if err := r.WriteHTML(&out); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	address = "file://" + path
	p = newTab(t)
	p.do(before...)
	p.do(chromedp.Navigate(address))
	t.Cleanup(func() {
		p.checkComplaints()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, request := range p.requests {
			if request != address && request != "data:," {
				t.Errorf("a request for %s", request)
			}
		}
		if len(p.requests) == 0 {
			t.Error("no request was recorded")
		}
	})
	return p, address
}

// surgeWithGap has nothing recorded for ten minutes, in which the count did not change.
func surgeWithGap() *view.Object {
	cluster, row := withSurge(20)
	object := cluster.objects[row.ID]
	h := object.History
	const from, to = 104, 144
	h.Points = slices.Delete(h.Points, from, to)
	for i := range h.Metrics {
		h.Metrics[i].Loads = slices.Delete(h.Metrics[i].Loads, from, to)
	}
	return object
}

// TestReport: a report shows the plot, the changes, the time without data and the rest from the file alone.
func TestReport(t *testing.T) {
	object := surgeWithGap()
	checkState(t, object)
	p, _ := openReport(t, object)
	p.waitFor("the plot", `document.querySelector(".chart canvas") !== null`)
	if n := value[int](p, `document.querySelectorAll("button.mark").length`); n != len(object.History.Changes) || n == 0 {
		t.Errorf("%d changes are in the table of %d", n, len(object.History.Changes))
	}
	text := value[string](p, `document.body.innerText`)
	for _, part := range []string{
		"plimsoll v1.2.3", "kind-production", "read from the controller", "10 min", "everything: nothing was recorded", "UTC",
		"web-7d4b9c-x2x8f its last sample is 75 s old", "No readiness probe", "FailedGetResourceMetric ×3", "averageUtilization: 70",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the report lacks %q", part)
		}
	}
	if strings.Contains(text, "What if") || strings.Contains(text, "All autoscalers") {
		t.Error("the report offers what needs a server")
	}
	p.do(chromedp.Click(chromedp.CSS("button.mark")), chromedp.Click(chromedp.CSS("details summary")))
	p.waitFor("all points", fmt.Sprintf(`document.querySelectorAll("details .numbers tbody tr").length === %d`, len(object.History.Points)))
	if !value[bool](p, `document.querySelector("button.mark").ariaPressed === "true"`) {
		t.Error("the change is not marked")
	}
	p.do(chromedp.EmulateViewport(1280, 800), chromedp.Click(chromedp.CSS("button.mark")))
	// The sentence has the times of this machine.
	value[bool](p, `(() => {
		const zones = document.querySelector("#zone select");
		zones.value = [...zones.options].at(-1).value;
		return zones.dispatchEvent(new Event("change"));
	})()`)
	value[bool](p, `(document.querySelector("details").open = false, scrollTo(0, 0), document.activeElement.blur(), true)`)
	p.picture("report.png")
}

// TestReportWithoutHistory: without a history there is no plot, and the reason.
func TestReportWithoutHistory(t *testing.T) {
	cluster, row := withSurge(20)
	object := cluster.objects[row.ID]
	object.History, object.Unrecorded = nil, "made up: nothing is recorded"
	p, _ := openReport(t, object)
	p.waitFor("the reason", `document.body.innerText.includes("There is nothing to draw. Made up: nothing is recorded.")`)
	if value[bool](p, `document.querySelector("canvas") !== null`) {
		t.Error("there is a plot of nothing")
	}
}

// TestReportOfHostileTexts: texts of the cluster are text in a file, too.
func TestReportOfHostileTexts(t *testing.T) {
	p, _ := openReport(t, hostile())
	p.waitFor("the page", `document.querySelectorAll("button.mark").length > 0`)
	if value[bool](p, `window.hacked === true || document.querySelector("img, iframe") !== null || document.scripts.length !== 2`) {
		t.Error("a text has become markup")
	}
}

// TestReportAccessibility has axe-core look at reports, light and dark.
func TestReportAccessibility(t *testing.T) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("make test-ui installs axe-core: %v", err)
	}
	for _, scheme := range []string{"light", "dark"} {
		cluster, _ := withSurge(20)
		for name, object := range map[string]*view.Object{"HPA": surgeWithGap(), "VPA": vertical(cluster.rows[5])} {
			p, _ := openReport(t, object, prefer(scheme))
			p.waitFor("the page", `document.querySelector("h2").textContent !== ""`)
			p.checkBrightness(scheme == "dark")
			p.do(chromedp.Evaluate[chromedp.Void](string(axe)))
			p.checkAxe(scheme + " " + name)
		}
	}
}
