package forecastreport

import (
	"bytes"
	"encoding/json"
	"errors"
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

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/replay"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

var update = flag.Bool("update", false, "write the text as it is now to testdata")

const day = 24 * 60

// past returns a load of some days: 2, and 10 for an hour from noon on where jumps says so. Ten minutes at its end are
// not known.
func past(object observe.Key, days int, jumps func(day int) bool) Past {
	l := replay.Load{Start: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Full: 2}
	for i := range days * day {
		pods := 2.0
		if m := i % day; m >= 720 && m < 780 && jumps(i/day) {
			pods = 10
		}
		l.Pods, l.PerPodMilli = append(l.Pods, pods), append(l.PerPodMilli, 250)
	}
	for i := range 10 {
		l.Pods[len(l.Pods)-1-i] = math.NaN()
	}
	return Past{
		Object: object, Mode: forecast.Preview, Load: l, Source: "CPU use in Prometheus",
		Config: replay.Config{
			Settings:    forecast.Settings{Mode: forecast.Preview, Price: 10, WasteLimitPercent: 3},
			MinReplicas: 2, MaxReplicas: 40, StartUp: 62 * time.Second, Tolerance: 0.1,
		},
	}
}

func always(int) bool { return true }

// monday is the first day of the loads.
var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// daysWith are as they are printed, with these reasons.
func daysWith(reasons ...forecast.Reason) (all []replay.Day) {
	for i, reason := range reasons {
		d := replay.Day{Date: monday.AddDate(0, 0, i), KnownMinutes: day, Lacking: 10.67, Paid: 3380, Reason: reason}
		if reason == forecast.ReasonInUse {
			d.Avoided, d.Wasted, d.RaisedMinutes, d.MostReplicas = 10.67, 8.33, 3, 7
		}
		all = append(all, d)
	}
	return all
}

// results returns what a forecast has come to at the end of each of the texts.
func results() map[string]replay.Result {
	const needed = 30 * time.Hour
	learning, not, in := forecast.ReasonLearning, forecast.ReasonNotWorthItsPrice, forecast.ReasonInUse
	return map[string]replay.Result{
		"recurring": {Days: daysWith(learning, learning, in, in, in), Last: forecast.Result{
			Reason: in, Replicas: 2, Expected: 2.04, Horizon: 3 * time.Minute, StartUp: 62 * time.Second,
			Day: forecast.Day{AvoidedPodMinutes: 9.2, WastedPodMinutes: 7.1},
		}},
		"once": {Days: daysWith(learning, not, not), Last: forecast.Result{
			Reason: not, StartUp: 30 * time.Second, Day: forecast.Day{WastedPodMinutes: 2},
		}},
		"short": {Days: daysWith(learning), Last: forecast.Result{
			Reason: learning, StartUp: 62 * time.Second, LearntFor: 23 * time.Hour, Needed: needed,
		}},
	}
}

// TestText: a forecast that is of use, one that is not, with all that is to be known of its load, and one that learns
// and is turned on.
func TestText(t *testing.T) {
	recurring := past(observe.HPA("shop", "web"), 5, always)
	once := past(observe.WLA("shop", "web"), 3, func(day int) bool { return day == 1 })
	once.Source, once.Coarse, once.OtherMetrics, once.HasSchedules = "recorded by Plimsoll", 2*day, 1, true
	once.Config.StartUp = 0
	short := past(observe.HPA("shop", "web"), 1, always)
	short.Mode, short.IsStartUpGiven = forecast.Active, true
	for name, p := range map[string]Past{"recurring": recurring, "once": once, "short": short} {
		t.Run(name, func(t *testing.T) {
			r, err := New(p)
			if err != nil {
				t.Fatal(err)
			}
			// The text is about what was played, not about how well.
			r.Result = results()[name]
			var text bytes.Buffer
			if err := r.WriteText(&text, 0); err != nil {
				t.Fatal(err)
			}
			var narrow bytes.Buffer
			if err := r.WriteText(&narrow, 80); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(narrow.String()) {
				if utf8.RuneCountInString(line) > 81 && !strings.Contains(line, "kubectl ") && !strings.Contains(line, "-p '") {
					t.Errorf("wider than 80: %s", line)
				}
			}
			file := filepath.Join("testdata", name+".txt")
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
		})
	}
}

// TestOutput: programs get the same, as JSON and as YAML.
func TestOutput(t *testing.T) {
	r, err := New(past(observe.HPA("shop", "web"), 5, always))
	if err != nil {
		t.Fatal(err)
	}
	var text, yamlText bytes.Buffer
	if err := errors.Join(r.WriteJSON(&text), r.WriteYAML(&yamlText)); err != nil {
		t.Fatal(err)
	}
	var o, fromYAML Output
	if err := errors.Join(json.Unmarshal(text.Bytes(), &o), yaml.UnmarshalStrict(yamlText.Bytes(), &fromYAML)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o, fromYAML); diff != "" {
		t.Errorf("JSON and YAML differ:\n%s", diff)
	}
	if o.Mode != "Preview" || !strings.Contains(o.ToTurnOn, "kubectl annotate hpa web -n shop") {
		t.Errorf("%s", text.String())
	}
	checkNumbers(t, &o)
}

func checkNumbers(t *testing.T, o *Output) {
	t.Helper()
	if o.KnownMinutes != 5*day-10 || len(o.Days) != 5 || o.AtEnd.Reason != "InUse" ||
		o.StartUpSeconds != 62 ||
		!o.To.Equal(o.From.Add((5*day-10)*time.Minute)) || o.AtEnd.AvoidedPodMinutesPerDay < 1 {
		t.Errorf("%+v", o)
	}
	if first, last := o.Days[0], o.Days[4]; first.AvoidedPodMinutes != 0 ||
		last.AvoidedPodMinutes < last.LackingPodMinutes/2 || last.MostReplicas < 7 {
		t.Errorf("first %+v, last %+v", first, last)
	}
}

func TestNoLoad(t *testing.T) {
	p := past(observe.HPA("shop", "web"), 1, always)
	for i := range p.Load.Pods {
		p.Load.Pods[i] = math.NaN()
	}
	if _, err := New(p); !errors.Is(err, ErrNoLoad) {
		t.Errorf("%v", err)
	}
}
