//go:build ui

package ui

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/plimsoll-dev/plimsoll/internal/ui/server"
	"github.com/plimsoll-dev/plimsoll/internal/ui/web"
)

var isWritingPictures = flag.Bool("pictures", false, "write the pictures of docs/images")

// pageTimeout bounds how long a test uses a tab. Nothing is asserted about how long something takes.
const pageTimeout = 8 * time.Minute

// step is what the browser does without a result.
type step = chromedp.Action[chromedp.Void]

// browser is the Chromium that all tests share; each has a tab of its own.
var browser context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	if *isWritingPictures {
		beAtNoon()
	}
	os.Exit(run(m))
}

// beAtNoon has the time zone in which it is about noon, here and in the browser: no hour of a picture has a midnight.
func beAtNoon() {
	name := fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12)
	zone, err := time.LoadLocation(name)
	if err == nil {
		err = os.Setenv("TZ", name)
	}
	if err != nil {
		panic(err)
	}
	time.Local = zone
}

func run(m *testing.M) int {
	program, err := exec.LookPath("chromium")
	if err != nil {
		fmt.Fprintln(os.Stderr, "these tests need chromium: apt-get install --no-install-recommends chromium")
		return 1
	}
	folder, err := os.MkdirTemp("", "plimsoll-ui-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	log := filepath.Join(folder, "net.json")
	code := runWith(m, program, chromedp.Flag("log-net-log", log))
	if err := checkConnections(log); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func runWith(m *testing.M, program string, log chromedp.ExecAllocatorOption) int {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.NoSandbox,
		log,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("hide-scrollbars", false), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("lang", "en-GB"),
		// The names of other sites lead to this machine; no other name leads anywhere.
		chromedp.Flag("host-resolver-rules", "MAP localhost 127.0.0.1, MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var cancel context.CancelFunc
	browser, cancel = chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintln(os.Stderr, "starting chromium:", err)
		return 1
	}
	return m.Run()
}

// tab is one of the browser's, with all that the page in it has requested and all that the browser had against it.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex // guards what is below
	requests   []string
	complaints []string
}

// serve serves the page of a cluster and opens it in a tab.
func serve(t *testing.T, source server.Source, before ...step) (*tab, *server.Server) {
	t.Helper()
	s := start(t, source)
	tab := newTab(t)
	tab.do(before...)
	tab.do(chromedp.Navigate(s.Address()))
	t.Cleanup(func() { tab.checkRequests(); tab.checkComplaints() })
	return tab, s
}

func start(t *testing.T, source server.Source) *server.Server {
	t.Helper()
	s, err := server.New(0, source, web.Handler())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func newTab(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	tab := &tab{t: t, ctx: ctx}
	tab.do() // The tab lives as long as the context of what is done first.
	tab.ctx, cancel = context.WithTimeout(ctx, pageTimeout)
	t.Cleanup(cancel)
	if err := chromedp.Listen(ctx, tab.listen); err != nil {
		t.Fatal(err)
	}
	tab.do(call(network.Enable, network.EnableParams{}), call(cdplog.Enable, cdp.Empty{}), call(audits.Enable, cdp.Empty{}),
		call(cdpruntime.Enable, cdp.Empty{}), chromedp.EmulateViewport(1280, 800), prefer("light"))
	return tab
}

// call is a command of the browser's protocol whose result does not matter.
func call[P, R any](command cdp.Command[P, R], parameters P) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, parameters)
		return err
	})
}

// prefer sets the colour scheme that the person prefers.
func prefer(scheme string) step {
	return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *network.EventWebSocketCreated:
		p.requests = append(p.requests, e.URL)
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError || e.Entry.Source == cdplog.EntrySourceSecurity {
			p.complaints = append(p.complaints, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *audits.EventIssueAdded:
		if e.Issue.Code == audits.InspectorIssueCodeContentSecurityPolicyIssue {
			p.complaints = append(p.complaints, "Content-Security-Policy: "+
				e.Issue.Details.ContentSecurityPolicyIssueDetails.ViolatedDirective)
		}
	case *cdpruntime.EventExceptionThrown:
		p.complaints = append(p.complaints, "exception: "+e.ExceptionDetails.Text)
	case *cdpruntime.EventConsoleAPICalled:
		if e.Type == cdpruntime.ConsoleAPICalledTypeError {
			p.complaints = append(p.complaints, "console.error")
		}
	}
}

// checkRequests finds requests that leave this machine.
func (p *tab) checkRequests() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.requests {
		address, err := url.Parse(text)
		if err != nil || address.Scheme != "data" && address.Hostname() != "127.0.0.1" {
			p.t.Errorf("a request for %s", text)
		}
	}
	if len(p.requests) == 0 {
		p.t.Error("no request was recorded")
	}
}

func (p *tab) checkComplaints() {
	p.t.Helper()
	for _, complaint := range p.takeComplaints() {
		p.t.Errorf("the browser says: %s", complaint)
	}
}

func (p *tab) takeComplaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.complaints
	p.complaints = nil
	return taken
}

func (p *tab) do(actions ...step) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// value is what an expression comes to, a promise's too.
func value[T any](p *tab, expression string) T {
	p.t.Helper()
	found, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// waitFor waits until an expression is true. The browser's own waiting in chromedp makes code of text, which the page's
// Content-Security-Policy forbids.
func (p *tab) waitFor(what, expression string) {
	p.t.Helper()
	if !value[bool](p, fmt.Sprintf(`new Promise((resolve) => {
		const end = performance.now() + 20_000;
		const check = () => {
			if (%s) resolve(true);
			else if (performance.now() > end) resolve(false);
			else setTimeout(check, 10);
		};
		check();
	})`, expression)) {
		p.t.Fatalf("waited in vain for %s:\n%s", what, value[string](p, "document.body.innerText"))
	}
}

func (p *tab) waitForRows() {
	p.t.Helper()
	p.waitFor("rows", `document.querySelectorAll("tbody tr[aria-rowindex]").length > 0`)
}

// showObject opens an autoscaler's page by its link.
func (p *tab) showObject(id string) {
	p.t.Helper()
	parts := strings.Split(id, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	value[string](p, "location.hash = "+quoted("#/object/"+strings.Join(parts, "/")))
	p.waitFor("the object", `!document.querySelector("#object").hidden && document.querySelector("#object pre")?.textContent !== ""`)
}

// quoted is a text as JavaScript writes it.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // texts can be written
	}
	return string(out)
}

// picture writes what is in sight to docs/images.
func (p *tab) picture(name string) {
	p.t.Helper()
	image, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("%s: %d kB", name, len(image)/1000)
	if len(image) > 150_000 {
		p.t.Errorf("%s has %d bytes, more than 150,000", name, len(image))
	}
	if *isWritingPictures {
		if err := os.WriteFile("../../docs/images/"+name, image, 0o644); err != nil {
			p.t.Error(err)
		}
	}
}
