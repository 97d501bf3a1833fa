//go:build ui

package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/demo"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// shop is the demo's namespace.
const shop = "shop"

// scaled are the demo's autoscalers, by the names of their Deployments.
var scaled = map[string]string{
	"web": view.IDOf(view.HPA, shop, "web"), "api": view.IDOf(view.WLA, shop, "api"),
}

// demoSurge is the demo's load, played once.
type demoSurge struct {
	once     sync.Once
	isPlayed bool
	// recorded is what the API server recorded meanwhile.
	recorded *recorder
	// tabs have been open all the time, by Deployments.
	tabs map[string]*tab
}

// change is a change of a Deployment's spec.replicas.
type change struct {
	from, to int32
	// at is when the controller logged it, seen when the API server's change was seen here.
	at, seen time.Time
}

// recorder notes all changes of the counts of a namespace's Deployments.
type recorder struct {
	mu      sync.Mutex // guards what is below
	counts  map[string]int32
	changes map[string][]change
	err     error
}

func (w *world) record(t *testing.T, namespace string) *recorder {
	t.Helper()
	r := &recorder{counts: map[string]int32{}, changes: map[string][]change{}}
	watch, err := w.Client().AppsV1().Deployments(namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watch.Stop)
	go func() {
		for event := range watch.ResultChan() {
			r.see(event.Object)
		}
		r.see(nil)
	}()
	return r
}

func (r *recorder) see(object any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, isOne := object.(*appsv1.Deployment)
	if !isOne {
		r.err = fmt.Errorf("the watch of Deployments has ended: %v", object)
		return
	}
	count := *d.Spec.Replicas
	if before, isKnown := r.counts[d.Name]; isKnown && before != count {
		r.changes[d.Name] = append(r.changes[d.Name], change{from: before, to: count, seen: time.Now()})
	}
	r.counts[d.Name] = count
}

// of are the changes of a Deployment until now.
func (r *recorder) of(t *testing.T, name string) []change {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		t.Fatal(r.err)
	}
	return append([]change(nil), r.changes[name]...)
}

// cover finds for each change that the page lists what the API server recorded of it: one change, or several within a
// second, which is as exact as the history is. It is an error if something recorded is not on the page, or something on
// the page was not recorded, or is there twice or in another order.
func cover(recorded []change, shown []shownChange) ([][]change, error) {
	var runs [][]change
	at := 0
	for _, c := range shown {
		end := at
		for end < len(recorded) && fmt.Sprintf("%d → %d", recorded[at].from, recorded[end].to) != c.Count {
			end++
		}
		if end == len(recorded) {
			return runs, fmt.Errorf("%+v is shown and was not recorded: %+v, of %+v", c, recorded[at:], recorded)
		}
		runs = append(runs, recorded[at:end+1])
		at = end + 1
	}
	if at < len(recorded) {
		return runs, fmt.Errorf("%+v is not shown", recorded[at:])
	}
	return runs, nil
}

// shownChange is a change as the page lists it.
type shownChange struct {
	At    int64
	Count string
	Why   string
}

// changes are those that the page lists, oldest first.
func (p *tab) changes() []shownChange {
	p.t.Helper()
	return value[[]shownChange](p, `[...document.querySelectorAll(".events button")].reverse().map((button) => {
		const parts = [...button.children].map((part) => part.textContent.trim()), i = parts.findIndex((part) => part.includes("→"));
		return { at: Number(button.dataset.at), count: parts[i], why: parts.slice(i + 1).join(" ").trim() };
	})`)
}

// withPlots notes the charts that the page makes, for the ends of their axes and what they show.
func withPlots() step {
	return call(cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: `(() => {
		let own;
		window.plots = [];
		Object.defineProperty(window, "uPlot", { configurable: true, get: () => own, set: (made) => {
			own = new Proxy(made, { construct(Made, given) {
				const plot = new Made(...given);
				window.plots.push(plot);
				return plot;
			} });
		} });
	})()`})
}

// play plays the demo once, with the pages of both its autoscalers open in tabs of the test that asks first.
func (w *world) play(t *testing.T) {
	t.Helper()
	w.surge.once.Do(func() { w.playOnce(t) })
	if !w.surge.isPlayed {
		t.Fatal("the demo's surge was not played")
	}
}

func (w *world) playOnce(t *testing.T) {
	t.Helper()
	s := &w.surge
	s.recorded, s.tabs = w.record(t, shop), map[string]*tab{}
	plan, err := demo.NewPlan(2 * time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() {
		done <- demo.Run(t.Context(), demo.Config{
			REST: w.RESTConfig(), Plan: plan, Kind: demo.HPA, PodMetricsPort: w.PodMetricsPort(), Began: time.Now(), Out: &out,
			SummaryPath: filepath.Join(t.TempDir(), "summary.json"), Failed: w.Failed(),
		})
	}()
	for name, id := range scaled {
		s.tabs[name] = w.open(t)
		s.tabs[name].waitFor(name+"'s row", fmt.Sprintf(`[...document.querySelectorAll("td.c-name a")].some((a) => a.hash === %s)`,
			quoted("#/object/"+id)))
		s.tabs[name].showObject(id)
		value[bool](s.tabs[name], "window.isKept = true")
	}
	if err := w.follow(t, done); err != nil {
		t.Errorf("the demo: %v", err)
	}
	t.Logf("the demo:\n%s", out.String()[max(0, out.Len()-2000):])
	s.isPlayed = true
}

// follow looks at the open pages until the demo has ended and they show all changes. It prints how long a change took
// from the API server to the page.
func (w *world) follow(t *testing.T, done <-chan error) error {
	t.Helper()
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	seen, latest := map[string]int{}, time.Duration(0)
	isAll := func() error {
		var last error
		for name, p := range w.surge.tabs {
			runs, err := cover(w.surge.recorded.of(t, name), p.changes())
			if err != nil {
				last = fmt.Errorf("%s: %w", name, err)
			}
			for ; seen[name] < len(runs); seen[name]++ {
				run := runs[seen[name]]
				latest = max(latest, time.Since(run[len(run)-1].seen))
			}
		}
		return last
	}
	for {
		_ = isAll() // Changes come until the demo has ended.
		select {
		case err := <-done:
			eventually(t, "all changes on the pages", func(context.Context) error { return isAll() })
			t.Logf("a change is on the open page at most %.1f s after the API server has sent it", latest.Seconds())
			return err
		case <-ticker.C:
		}
	}
}

// testSurge: while the load rises tenfold and falls back, pages that stay open show each scale-up and scale-down that the
// API server recorded, once, in their order, at its place on the time axis, with its reason; as the controller tells
// plimsoll explain, and when its log says that it has scaled.
func (w *world) testSurge(t *testing.T) {
	w.play(t)
	for name := range scaled {
		p := w.surge.tabs[name]
		if !value[bool](p, "window.isKept === true") {
			t.Errorf("%s: the page was loaded again", name)
		}
		w.checkChanges(t, name)
		p.checkMarks(name)
	}
	p := w.surge.tabs["web"]
	text := value[string](p, `document.querySelector("#object").innerText`)
	for _, c := range w.surge.recorded.of(t, "web") {
		if !strings.Contains(text, fmt.Sprintf("New size: %d; reason: ", c.to)) {
			t.Errorf("the page has no event of the scale to %d", c.to)
		}
	}
	p.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
	p.picture("ui-demo.png")
}

// checkChanges compares what the page lists with what the API server recorded, and with what the controller says.
func (w *world) checkChanges(t *testing.T, name string) {
	t.Helper()
	recorded, shown, told := w.surge.recorded.of(t, name), w.surge.tabs[name].changes(), w.told(t, name)
	runs, err := cover(recorded, shown)
	if err != nil || len(told.Changes) != len(shown) {
		t.Fatalf("%s: %v; the page shows %+v, plimsoll explain %+v", name, err, shown, told.Changes)
	}
	logged := w.logged(t, name)
	if len(logged) != len(recorded) {
		t.Fatalf("%s: recorded is %+v, and logged %+v", name, recorded, logged)
	}
	off, at := time.Duration(0), 0
	for i, run := range runs {
		off = max(off, w.checkOne(t, run, &told.Changes[i], shown[i], logged[at:at+len(run)]))
		at += len(run)
	}
	if ups := slices.ContainsFunc(recorded, func(c change) bool { return c.to > c.from }); !ups || recorded[len(recorded)-1].to != 1 {
		t.Errorf("%s was not scaled both ways: %+v", name, recorded)
	}
	t.Logf("%s: the API server recorded %d changes, the page shows %d: those within a second are one; their times differ by at "+
		"most %.1f s from the controller's log", name, len(recorded), len(shown), off.Seconds())
	if off > 2*time.Second {
		t.Errorf("%s: a time is %s from that of the controller's log", name, off)
	}
}

// checkOne compares a change on the page with what was recorded, told and logged of it. It returns how far its time is
// from the log's.
func (w *world) checkOne(t *testing.T, run []change, told *loadreport.OutputChange, c shownChange, logged []change) time.Duration {
	t.Helper()
	if count := fmt.Sprintf("%d → %d", told.From, told.To); c.Count != count || c.At != told.Time.UnixMilli() {
		t.Errorf("%+v is shown, plimsoll explain says %+v", c, told)
	}
	if c.Why == "" {
		t.Errorf("%s has no reason", c.Count)
	}
	first, last := logged[0], logged[len(logged)-1]
	if first.from != run[0].from || last.to != run[len(run)-1].to || last.at.Sub(first.at) > 1100*time.Millisecond {
		t.Errorf("%s stands for %+v, logged as %+v to %+v", c.Count, run, first, last)
	}
	t.Logf("%s  %s  %s", time.UnixMilli(c.At).Format(time.TimeOnly), c.Count, c.Why)
	return last.at.Sub(time.UnixMilli(c.At)).Abs()
}

// told is what plimsoll explain prints of the same time.
func (w *world) told(t *testing.T, name string) *loadreport.Output {
	t.Helper()
	kind, _, _ := strings.Cut(scaled[name], "/")
	short := map[string]string{view.HPA: "hpa/", view.WLA: "wla/"}[kind]
	text := w.run(t, "explain", short+name, "--namespace="+shop, "--last=1h", "--output=json",
		"--kubeconfig="+w.KubeconfigPath(), "--controller-address="+w.controller.Inspection)
	out := &loadreport.Output{}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// logged is what the controller's log says of its scales.
func (w *world) logged(t *testing.T, name string) []change {
	t.Helper()
	log, err := os.ReadFile(w.LogPath("plimsoll"))
	if err != nil {
		t.Fatal(err)
	}
	var all []change
	for line := range strings.Lines(string(log)) {
		if !strings.Contains(line, "msg=scaled ") || !strings.Contains(line, "object="+shop+"/"+name+" ") {
			continue
		}
		fields := map[string]string{}
		for _, field := range strings.Fields(line) {
			key, text, _ := strings.Cut(field, "=")
			fields[key] = text
		}
		at, err := time.Parse(time.RFC3339, fields["time"])
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, change{from: countOf(t, fields["current"]), to: countOf(t, fields["desired"]), at: at})
	}
	return all
}

func countOf(t *testing.T, text string) int32 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int32(n)
}

// checkMarks chooses each change and finds its mark in the chart.
func (p *tab) checkMarks(name string) {
	p.t.Helper()
	worst := 0.0
	for _, c := range p.changes() {
		p.do(chromedp.Click(chromedp.CSS(fmt.Sprintf(`.events button[data-at="%d"]`, c.At))))
		off := p.markOff(time.UnixMilli(c.At))
		worst = max(worst, off)
		if off > 2 {
			p.t.Errorf("%s: the mark of %s is %.1f pixels from its place", name, c.Count, off)
		}
	}
	p.t.Logf("%s: each mark is at most %.1f pixels from its place on the time axis", name, worst)
}
