package scale

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/viewers"
)

// A controller with pages is compared with one without, and the table has what plimsoll ui takes itself.
func TestPagesAreCompared(t *testing.T) {
	with := twoMeasurements()
	for i := range with {
		with[i].residentBytes *= 1.5
		with[i].ui = uiNumbers{answersPerSecond: 5, answerP50: 0.02, answerP99: 0.03, cores: 0.1, residentBytes: 80 << 20,
			bytesPerAnswer: 6000}
	}
	config := Config{Size: someSize(t), Subjects: []Subject{
		{Name: "Plimsoll", Kind: Plimsoll}, {Name: "ten pages", Kind: Plimsoll, Pages: 10},
	}}
	result := config.result(report.Machine{}, [][]measurement{twoMeasurements(), with})
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"plimsoll ui: CPU, cores - 0.100", "plimsoll ui: resident memory, MiB - 80.0", "plimsoll ui: answer p99, ms - 30.0",
		"plimsoll ui: kB an answer - 6.00", "ten pages in relation to Plimsoll: 1 is the same.", "resident memory, MiB 1.50 1.50",
	} {
		if !strings.Contains(squeezed(out.String()), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestPagesThatLack(t *testing.T) {
	at := time.Unix(1000, 0)
	before := numbers{ui: viewers.Seen{
		At: at, CPUSeconds: 1, Answers: 1, Lacking: 1, Failures: 3, Bytes: 500, Took: []time.Duration{time.Hour},
	}}
	after := numbers{ui: viewers.Seen{
		At: at.Add(4 * time.Second), CPUSeconds: 3, ResidentBytes: 7, Answers: 3, Lacking: 1, Failures: 3, Bytes: 2500,
		Took: []time.Duration{time.Hour, time.Second, 2 * time.Second},
	}}
	want := uiNumbers{
		answersPerSecond: 0.5, bytesPerAnswer: 1000, answerP50: 1, answerP99: 2, cores: 0.5, residentBytes: 7,
	}
	if got, err := uiBetween(before, after); err != nil || got != want {
		t.Errorf("%v: %+v, want %+v", err, got, want)
	}
	for name, change := range map[string]func(*viewers.Seen){
		"no answer":       func(u *viewers.Seen) { u.Answers = 1 },
		"a failure":       func(u *viewers.Seen) { u.Failures++ },
		"without history": func(u *viewers.Seen) { u.Lacking++ },
	} {
		bad := after
		change(&bad.ui)
		if _, err := uiBetween(before, bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got, err := uiBetween(numbers{}, numbers{}); err != nil || got != (uiNumbers{}) {
		t.Errorf("without pages: %v, %+v", err, got)
	}
}

// Each page has an autoscaler of its own, spread over the namespaces.
func TestLooked(t *testing.T) {
	size := population.Size{Objects: 1000, ObjectsPerNamespace: 20}
	seen := map[viewers.Object]bool{}
	for _, object := range looked(size, 10) {
		seen[object] = true
		if _, found := size.Find(object.Namespace, object.Name); !found {
			t.Errorf("there is no %+v", object)
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d autoscalers", len(seen))
	}
}
