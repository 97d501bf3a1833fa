package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// mostBytes is the largest size of a report without data.
const mostBytes = 300_000

var begin = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

func after(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }

// of returns a report of an object.
func of(object *view.Object) *Report {
	return New(&Config{
		Object: object, From: begin, To: after(60), Made: after(61), Program: "plimsoll v1.2.3", Cluster: "production",
	})
}

func htmlOf(t *testing.T, r *Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.WriteHTML(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// parts matches the page's policy, style, data and script.
var parts = regexp.MustCompile(
	`(?s)<meta http-equiv="Content-Security-Policy" content="([^"]*)">.*<style>(.*)</style>.*` +
		`<script type="application/json" id="data">(.*)</script>\n<script>(.*)</script>\n</body>\n</html>\n$`)

// TestPolicy: the page permits only its own script and style, by their hashes.
func TestPolicy(t *testing.T) {
	text := htmlOf(t, of(&view.Object{Row: view.Row{Namespace: "shop", Name: "web"}}))
	found := parts.FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("the page is not as it should be: %.400s", text)
	}
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	want := "default-src 'none'; script-src " + hash(found[4]) + "; style-src " + hash(found[2]) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
	if got := html.UnescapeString(found[1]); got != want {
		t.Errorf("the policy is %s, want %s", got, want)
	}
	if n := strings.Count(text, "<script"); n != 2 {
		t.Errorf("%d elements of scripts, want the data and the script", n)
	}
	if inline := regexp.MustCompile(`\sstyle=|\son[a-z]+=|javascript:`).FindString(strings.ReplaceAll(text, found[4], "")); inline != "" {
		t.Errorf("the page has %q", inline)
	}
	if len(text) >= mostBytes {
		t.Errorf("the page has %d bytes, not less than %d", len(text), mostBytes)
	}
	t.Logf("%d bytes without data", len(text))
}

// hostile are texts that would end an element, begin another one, or change the direction of text.
var hostile = []string{
	`</script><script>window.hacked = true</script>`, `<!--<script>`, `]]>`, `"><img src=x onerror="window.hacked = true">`, `</title><script>`,
	"\u2028\u2029", "\u202egnp.exe", "\x1b[2J\x7f\u0085", "a\\u003c/script>", "&lt;&#60;", "日本 😀", "\ufeff", "{{.}}%s%!",
}

// fill sets all texts of a value.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(begin))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), text)
		}
	case reflect.String:
		v.SetString(text)
	}
}

// TestHostileTexts: with any texts of a cluster, the page has the same elements and data, and only characters that
// survive being written to a file.
func TestHostileTexts(t *testing.T) {
	tags := regexp.MustCompile(`<[!/a-zA-Z][^>\n]*`)
	for _, text := range hostile {
		object := &view.Object{}
		fill(reflect.ValueOf(object), text)
		r := of(object)
		r.Program, r.Cluster = text, text
		got := htmlOf(t, r)
		found := parts.FindStringSubmatch(got)
		if found == nil {
			t.Fatalf("%q changes the page: %.800s", text, got)
		}
		if strings.ContainsAny(found[3], "<>&") {
			t.Errorf("%q is in the data as markup", text)
		}
		var back Report
		if err := json.Unmarshal([]byte(found[3]), &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, &back); diff != "" {
			t.Errorf("%q is not the same in the data (-want +got):\n%s", text, diff)
		}
		outside := strings.NewReplacer(found[2], "", found[4], "").Replace(got)
		names := tags.FindAllString(outside, -1)
		for i := range names {
			names[i], _, _ = strings.Cut(names[i], " ")
		}
		want := strings.Fields("<!doctype <html <head <meta <meta <meta <meta <meta <meta <title </title <link <style </style </head <body <a </a " +
			"<header <h1 </h1 <p </p <label <select </select </label <button </button </header <main <section </section </main <noscript " +
			"</noscript <script </script <script </script </body </html")
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%q: the elements (-want +got):\n%s", text, diff)
		}
		if output.Escape(got, false) != got {
			t.Errorf("%q: a character of the page is replaced where the program writes to a file", text)
		}
	}
}

// TestGaps: exactly the missing parts are named.
func TestGaps(t *testing.T) {
	load, count := 2.0, int32(3)
	point := func(minute int) loadreport.OutputPoint {
		return loadreport.OutputPoint{Time: after(minute), Load: &load, Wanted: &count, Ready: &count}
	}
	history := func(points ...loadreport.OutputPoint) *loadreport.Output {
		return &loadreport.Output{From: begin, To: after(10), ResolutionSeconds: 60, Points: points}
	}
	all := func(from, to int) []loadreport.OutputPoint {
		var points []loadreport.OutputPoint
		for minute := from; minute < to; minute++ {
			points = append(points, point(minute))
		}
		return points
	}
	withoutLoad := all(0, 10)
	withoutLoad[4].Load, withoutLoad[5].Load = nil, nil
	withoutLoad[6].Wanted, withoutLoad[6].Ready = nil, nil
	withoutLoad[7].Load, withoutLoad[7].Wanted, withoutLoad[7].Ready = nil, nil, nil
	for name, tt := range map[string]struct {
		history *loadreport.Output
		want    []Gap
	}{
		"nothing is missing":        {history(all(0, 10)...), []Gap{}},
		"within":                    {history(append(all(0, 3), all(5, 10)...)...), []Gap{{after(3), after(5), All}}},
		"at the begin":              {history(all(2, 10)...), []Gap{{begin, after(2), All}}},
		"at the end":                {history(all(0, 8)...), []Gap{{after(8), after(10), All}}},
		"at the begin and the end":  {history(all(4, 5)...), []Gap{{begin, after(4), All}, {after(5), after(10), All}}},
		"the load, then the counts": {history(withoutLoad...), []Gap{{after(4), after(6), Load}, {after(6), after(7), Counts}, {after(7), after(8), LoadAndCounts}}},
		"no point at all":           {history(), []Gap{{begin, after(10), All}}},
	} {
		if diff := cmp.Diff(tt.want, gapsOf(tt.history)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// The next decision is not due yet.
	seconds := history(all(0, 1)...)
	seconds.To, seconds.ResolutionSeconds = begin.Add(15*time.Second), 1
	if got := gapsOf(seconds); len(got) > 0 {
		t.Errorf("%+v, and the last decision was 15 s ago", got)
	}
	// Points of minutes start at full minutes, unlike the requested time.
	uneven := history(all(1, 11)...)
	uneven.From, uneven.To = begin.Add(59*time.Second), after(10).Add(59*time.Second)
	if got := gapsOf(uneven); len(got) > 0 {
		t.Errorf("%+v, and each minute is recorded", got)
	}
}

// TestFitsRecord: a report without a requested time begins with the record.
func TestFitsRecord(t *testing.T) {
	load, count := 2.0, int32(3)
	for fits, want := range map[bool]time.Time{true: after(50), false: begin} {
		h := &loadreport.Output{From: begin, To: after(60), ResolutionSeconds: 60}
		for minute := 50; minute < 60; minute++ {
			h.Points = append(h.Points, loadreport.OutputPoint{Time: after(minute), Load: &load, Wanted: &count, Ready: &count})
		}
		r := New(&Config{Object: &view.Object{History: h}, From: begin, To: after(60), FitsRecord: fits})
		if !r.From.Equal(want) || (len(r.Gaps) == 0) != fits {
			t.Errorf("fits the record: %t: from %s, without data %+v", fits, r.From, r.Gaps)
		}
	}
}

// TestSecrets: no text has a secret or text of the form of one.
func TestSecrets(t *testing.T) {
	object := &view.Object{
		Manifest: "serverAddress: http://me:hunter2@prometheus:9090\n", Unexplained: "Authorization: Bearer abcdef",
		Notes:   []view.Note{{What: "Events", Why: "the token t0k3n is expired"}},
		History: &loadreport.Output{From: begin, To: after(60), NoController: "http://me:hunter2@10.0.0.1/ refuses"},
	}
	r := New(&Config{Object: object, From: begin, To: after(60), Made: after(61), Secrets: []string{"t0k3n", ""}})
	text := htmlOf(t, r)
	for _, secret := range []string{"hunter2", "abcdef", "t0k3n"} {
		if found := parts.FindStringSubmatch(text); strings.Contains(found[3], secret) {
			t.Errorf("the report has %q", secret)
		}
	}
	if !strings.Contains(r.Object.Manifest, "http://REDACTED@prometheus:9090") {
		t.Errorf("the manifest is %s", r.Object.Manifest)
	}
}

// TestJSON: the JSON output has the page's data, with the fields of docs/reference/json.md.
func TestJSON(t *testing.T) {
	load := 2.5
	savedAt := after(30)
	r := of(&view.Object{
		Row: view.Row{Namespace: "shop", Name: "web", Kind: view.HPA}, Now: after(61).UnixMilli(),
		History: &loadreport.Output{
			From: begin, To: after(60), ResolutionSeconds: 60, Source: "AutoscalerCheckpoint", SavedAt: &savedAt, NoController: "it is gone",
			Points: []loadreport.OutputPoint{{Time: begin, Load: &load}}, Changes: []loadreport.OutputChange{},
		},
	})
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(parts.FindStringSubmatch(htmlOf(t, r))[3]), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the page has other data (-page +JSON):\n%s", diff)
	}
	for field, want := range map[string]any{
		"made": "2026-03-02T09:01:00Z", "program": "plimsoll v1.2.3", "cluster": "production", "from": "2026-03-02T08:00:00Z",
		"to":     "2026-03-02T09:00:00Z",
		"source": "from the AutoscalerCheckpoint that was saved 31m0s ago, as the controller's own cannot be read: it is gone",
		"gaps": []any{
			map[string]any{"from": "2026-03-02T08:00:00Z", "to": "2026-03-02T08:01:00Z", "missing": "Counts"},
			map[string]any{"from": "2026-03-02T08:01:00Z", "to": "2026-03-02T09:00:00Z", "missing": "All"},
		},
	} {
		if diff := cmp.Diff(want, got[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}
