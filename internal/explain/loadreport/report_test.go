package loadreport

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

var update = flag.Bool("update", false, "write the text as it is now to testdata")

var begin = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// surge returns an object whose load goes from 2 to 8 pods after an hour; new pods take two minutes to be ready. From
// the second hour on the metric fails for five minutes; after that nobody decides for ten.
func surge() *loadhistory.History {
	h := &loadhistory.History{}
	for second := 0; second < 3*3600; second++ {
		p := loadhistory.Point{Load: 2, Wanted: 2, Ready: 2, PerPodMilli: 350}
		if second >= 3600 {
			p.Load, p.Wanted, p.Ready, p.Limit = 8, 5, 2, loadhistory.TooManyReplicas
		}
		if second >= 3720 {
			p.Ready = 5
		}
		switch {
		case second >= 7200 && second < 7500:
			p.Load, p.Limit = math.NaN(), loadhistory.MetricsFailed
		case second >= 7500 && second < 8100:
			continue
		}
		h.Add(begin.Add(time.Duration(second)*time.Second), p)
	}
	return h
}

func report(t *testing.T, source Source) *Report {
	t.Helper()
	to := begin.Add(3 * time.Hour)
	r, err := New(observe.HPA("shop", "web"), surge(), source, to.Add(-3*time.Hour), to)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestText: the text has the lack of pods after the surge, the change with its limit, and what is not known.
func TestText(t *testing.T) {
	r := report(t, Source{})
	var text bytes.Buffer
	if err := r.WriteText(&text, Style{Width: 80}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "surge.txt")
	if *update {
		if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("-want +got, -update writes it:\n%s", diff)
	}
	for line := range strings.Lines(text.String()) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("wider than 80: %s", line)
		}
	}
	var coloured bytes.Buffer
	if err := r.WriteText(&coloured, Style{Width: 80, InColour: true}); err != nil {
		t.Fatal(err)
	}
	bare := coloured.String()
	for _, colour := range append(colours[1:], plain) {
		if !strings.Contains(bare, colour) {
			t.Errorf("no %q in colour", colour)
		}
		bare = strings.ReplaceAll(bare, colour, "")
	}
	if bare != text.String() {
		t.Error("in colour it is another text")
	}
}

// TestCheckpointIsNamed: how old a checkpoint is is said, and why the controller's own history was not read.
func TestCheckpointIsNamed(t *testing.T) {
	at := begin.Add(3*time.Hour - 25*time.Minute)
	r := report(t, Source{SavedAt: at, NoLeader: "there is no Lease"})
	var text, narrow bytes.Buffer
	if err := r.WriteText(&text, Style{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteText(&narrow, Style{Width: 80, TextWidth: 80}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(narrow.String()) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("wider than 80: %s", line)
		}
	}
	if want := "from the AutoscalerCheckpoint that was saved 25m0s ago, as the controller's own cannot be read: there is " +
		"no Lease\n"; !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, text.String())
	}
	if o := r.Output(); o.Source != "AutoscalerCheckpoint" || !o.SavedAt.Equal(at) || o.NoController != "there is no Lease" {
		t.Errorf("%+v", o)
	}
}

// TestJSON: what is not known is absent, and never zero.
func TestJSON(t *testing.T) {
	var text bytes.Buffer
	if err := report(t, Source{}).WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var o Output
	if err := json.Unmarshal(text.Bytes(), &o); err != nil {
		t.Fatal(err)
	}
	if o.Kind+o.Namespace+o.Name != "HorizontalPodAutoscalershopweb" || o.Source != "Controller" ||
		o.ResolutionSeconds != 60 {
		t.Errorf("%+v", o)
	}
	checkPoints(t, o.Points)
	if len(o.Changes) != 1 || o.Changes[0].From != 2 || o.Changes[0].To != 5 || o.Changes[0].Limit != "TooManyReplicas" {
		t.Errorf("the changes are %+v", o.Changes)
	}
	var again bytes.Buffer
	if err := report(t, Source{}).WriteYAML(&again); err != nil {
		t.Fatal(err)
	}
	var same Output
	if err := yaml.Unmarshal(again.Bytes(), &same); err != nil || !cmp.Equal(same, o) {
		t.Errorf("as YAML it is another one: %v", err)
	}
}

// checkPoints checks those of surge, by the minute.
func checkPoints(t *testing.T, points []OutputPoint) {
	t.Helper()
	if n := len(points); n < 169 || n > 171 {
		t.Errorf("%d points, want those of 180 minutes without ten", n)
	}
	for _, p := range points {
		minute := int(p.Time.Sub(begin).Minutes())
		switch {
		case minute >= 125 && minute < 135:
			t.Errorf("a point of minute %d: %+v", minute, p)
		case minute >= 120 && minute < 125:
			if p.Load != nil || p.Limit != "MetricsFailed" || *p.Wanted != 5 {
				t.Errorf("minute %d: %+v", minute, p)
			}
		case p.Load == nil || *p.Load < 1.9 || p.PerPodMilli == nil || *p.PerPodMilli != 350:
			t.Errorf("minute %d: %+v", minute, p)
		}
	}
}

// TestNothingRecorded: it says so, and where it has looked.
func TestNothingRecorded(t *testing.T) {
	_, err := New(observe.WLA("shop", "web"), &loadhistory.History{}, Source{}, begin, begin.Add(time.Hour))
	if err == nil || !strings.Contains(err.Error(), "nothing is recorded of WorkloadAutoscaler shop/web in the last 1h0m0s "+
		"(read from the controller)") {
		t.Errorf("%v", err)
	}
}

// TestManyChanges: the table has the latest ones, and counts the others. Days are told apart.
func TestManyChanges(t *testing.T) {
	h := &loadhistory.History{}
	for minute := range 24 * 60 {
		n := int32(3 + minute/10%2)
		h.Add(begin.Add(time.Duration(minute)*time.Minute), loadhistory.Point{Load: float64(n), Wanted: n, Ready: n})
	}
	to := begin.Add(24 * time.Hour)
	r, err := New(observe.HPA("shop", "web"), h, Source{}, begin, to)
	if err != nil {
		t.Fatal(err)
	}
	table := r.table(time.UTC)
	if len(r.Changes) < 140 || strings.Count(table, "\n") != mostChanges+2 ||
		!strings.Contains(table, "the last 40\n") ||
		!strings.HasSuffix(table, "\n  Mar 03 07:50:00     3   4   4.0      4  None\n") {
		t.Errorf("%d changes\n%s", len(r.Changes), table)
	}
}

// TestCountsNotRecorded: of a time of which only the load is known there are no counts, and no changes of them.
func TestCountsNotRecorded(t *testing.T) {
	h := &loadhistory.History{}
	for minute := range 60 {
		at := begin.Add(time.Duration(minute) * time.Minute)
		h.AddMinute(at, loadhistory.Point{Load: 7, Limit: loadhistory.NotRecorded})
	}
	_, got := textOf(t, h)
	if !strings.Contains(got, "wanted    not recorded") || strings.Contains(got, "ready pods for") ||
		strings.Contains(got, "did not change") {
		t.Error(got)
	}
	for minute, wanted := range []int32{8, 9, 9} {
		h.Add(begin.Add(time.Hour+time.Duration(minute)*time.Minute), loadhistory.Point{Load: 7, Wanted: wanted, Ready: wanted})
	}
	r, got := textOf(t, h)
	if !strings.Contains(got, "wanted    8 to 9 pods") || !strings.Contains(got, "counts are not recorded for") {
		t.Error(got)
	}
	checkNotRecorded(t, r.Output())
}

// checkNotRecorded wants counts in the last point alone.
func checkNotRecorded(t *testing.T, o *Output) {
	t.Helper()
	first, last := &o.Points[0], &o.Points[len(o.Points)-1]
	if first.Wanted != nil || first.Ready != nil || first.Limit != "NotRecorded" || *first.Load < 6.9 {
		t.Errorf("%+v", first)
	}
	if last.Wanted == nil || *last.Wanted != 9 || len(o.Changes) != 1 || o.Changes[0].From != 8 {
		t.Errorf("%+v, changes %+v", last, o.Changes)
	}
}

// textOf returns the report of two hours, and its text.
func textOf(t *testing.T, h *loadhistory.History) (*Report, string) {
	t.Helper()
	r, err := New(observe.HPA("shop", "web"), h, Source{}, begin, begin.Add(2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text, Style{Width: 60}); err != nil {
		t.Fatal(err)
	}
	return r, text.String()
}

func TestPlotOfLittle(t *testing.T) {
	for seconds := 2; seconds < 90; seconds++ {
		h := &loadhistory.History{}
		for second := range seconds {
			h.Add(begin.Add(time.Duration(second)*time.Second), loadhistory.Point{Load: math.NaN()})
		}
		r, err := New(observe.HPA("shop", "web"), h, Source{}, begin, begin.Add(time.Minute))
		if err != nil {
			t.Fatal(seconds, err)
		}
		var text bytes.Buffer
		if err := r.WriteText(&text, Style{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), "load      not known\n") {
			t.Errorf("%d seconds without a load:\n%s", seconds, text.String())
		}
	}
}

// TestPartsAreNamed: where the controller knows the time since its start alone it is said what is from where.
func TestPartsAreNamed(t *testing.T) {
	at := begin.Add(3*time.Hour - 25*time.Minute)
	for want, source := range map[string]Source{
		"read from the controller, and before its start from the AutoscalerCheckpoint that was saved 25m0s ago, which the " +
			"controller has not read\n": {IsSinceStart: true, SavedAt: at},
		"read from the controller, which has not read what is saved of the time before its start; nor is that read here: " +
			"there is none\n": {IsSinceStart: true, NoCheckpoint: "there is none"},
	} {
		r := report(t, source)
		var text bytes.Buffer
		if err := r.WriteText(&text, Style{Width: 80}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
		o := r.Output()
		if isBoth := o.Source == "ControllerAndAutoscalerCheckpoint"; isBoth != (o.SavedAt != nil) ||
			isBoth != (o.NoCheckpoint == "") {
			t.Errorf("%+v", o)
		}
	}
}

// TestMetrics: the loads by each metric belong to the points of the report, and are unknown where nothing was recorded
// of them.
func TestMetrics(t *testing.T) {
	encoded := func(from int, load float64) []byte {
		h := loadhistory.OfMetric()
		for second := from; second < 3*3600; second++ {
			h.Add(begin.Add(time.Duration(second)*time.Second), loadhistory.Point{Load: load})
		}
		b, err := h.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	r := report(t, Source{})
	if err := r.AddMetrics([]loadhistory.EncodedMetric{
		{Name: "cpu", History: encoded(0, 2)}, {Name: "requests", History: encoded(2*3600, 6)}, {Name: "new", History: encoded(3*3600, 1)},
	}); err != nil {
		t.Fatal(err)
	}
	o := r.Output()
	if len(o.Metrics) != 3 {
		t.Fatalf("%+v", o.Metrics)
	}
	for i, p := range o.Points {
		cpu, requests, latest := o.Metrics[0].Loads[i], o.Metrics[1].Loads[i], o.Metrics[2].Loads[i]
		isLate := !p.Time.Before(begin.Add(2 * time.Hour))
		if cpu == nil || math.Abs(*cpu-2) > 0.05 || (requests != nil) != isLate || latest != nil {
			// The minute that is not over is in no history.
			if i < len(o.Points)-1 {
				t.Fatalf("%v: %v, %v, %v", p.Time, cpu, requests, latest)
			}
		}
	}
	checkMetricsText(t, r)
	if err := r.AddMetrics([]loadhistory.EncodedMetric{{Name: "cpu", History: []byte("damaged")}}); err == nil {
		t.Error("a damaged history was read")
	}
	if err := r.AddMetrics(make([]loadhistory.EncodedMetric, 1000)); err == nil || !strings.Contains(err.Error(), "8 at most") {
		t.Errorf("of too many metrics: %v", err)
	}
}

func checkMetricsText(t *testing.T, r *Report) {
	t.Helper()
	var text bytes.Buffer
	if err := r.WriteText(&text, Style{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"2.0 to 2.0, on average 2.0, by cpu", "6.0 to 6.0, on average 6.0, by requests", "not known by new"} {
		if !strings.Contains(text.String(), words) {
			t.Errorf("%q is missing in\n%s", words, text.String())
		}
	}
}
