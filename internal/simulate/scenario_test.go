package simulate_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/plot"
)

// The golden scenarios are files in testdata, as text and numbers: a sentence that
// says why, the setting, what must be true, and below a line of dashes the result,
// which -update writes. A new one needs no Go. testdata/README.md has the words.

var update = flag.Bool("update", false, "write what comes of the golden scenarios into their files")

// outcome is a scenario that was played with a seed.
type outcome struct {
	*simulate.Run
	moments []simulate.Moment
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, golden, _ := strings.Cut(string(content), separator)
			s, err := parseScenario(text)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			outcomes := s.play(t)
			for _, miss := range s.misses(outcomes) {
				t.Error(miss)
			}
			got := "\n" + describe(outcomes[0])
			if *update {
				if err := os.WriteFile(file, []byte(text+separator+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(golden, got); diff != "" {
				t.Errorf("not what it was (-update if it is meant):\n%s", diff)
			}
		})
	}
}

const separator = "\n----\n"

// play plays all seeds.
func (s *scenario) play(t *testing.T) []outcome {
	t.Helper()
	var outcomes []outcome
	for seed := range s.seeds {
		scene := *s.scene
		scene.Seed = uint64(seed) + 1
		o := outcome{}
		var err error
		o.Run, err = simulate.Play(t.Context(), &scene, s.setting,
			simulate.Watch{Moment: func(m *simulate.Moment) { o.moments = append(o.moments, *m) }})
		if err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
}

// misses are the demands that are not met.
func (s *scenario) misses(outcomes []outcome) []string {
	var misses []string
	for _, d := range s.demands {
		for i := range outcomes {
			if d.median == nil {
				if miss := d.check(&outcomes[i]); miss != "" {
					misses = append(misses, fmt.Sprintf("%q does not hold with seed %d: %s", d.text, i+1, miss))
				}
			}
		}
		if d.median != nil {
			if miss := d.median(outcomes); miss != "" {
				misses = append(misses, fmt.Sprintf("%q does not hold: %s", d.text, miss))
			}
		}
	}
	return misses
}

// describe is what came of the first seed.
func describe(o outcome) string {
	s := &o.Score
	var changes []string
	for _, c := range o.Changes {
		changes = append(changes, fmt.Sprintf("%s %d→%d", c.At.Round(100*time.Millisecond), c.From, c.To))
	}
	if len(changes) == 0 {
		changes = []string{"none"}
	}
	return fmt.Sprintf(
		"changes: %s\npod-hours %.2f, short %.2f %% of the time, longest %.0f s, lost %.2f %%, p99 %.3f s\n\n%s",
		strings.Join(changes, ", "), s.PodHours, s.ShortPercent, s.LongestShortSeconds, s.LostPercent, s.P99Seconds,
		plot.Text([]*simulate.Run{o.Run}, plot.Size{Width: 70, Height: 8}, false))
}

// TestDemandsCanFail: the demands of a scenario are checked. None of these is met.
func TestDemandsCanFail(t *testing.T) {
	const setting = `# A surge.
autoscaler: cpu 50 %, 2 to 20 pods
load: step:10@0s,100@2m
for: 5m
as: upstream
must:
  `
	for _, demand := range []string{
		"steady from 0s on", "never short", "never short longer than 1s", "no more than 1 action", "at least 9 actions",
		"at least 20 ready from 1m to 2m", "at most 3 wanted from 3m on", "less than 0 % lost", "recovered within 1s",
		"turned round at least 5 times", "change 1 comes at 4m, give or take 10s",
		"in the median, change 2 comes at 1s, give or take 10s",
		"change 40 comes at 1s, give or take 10h",
	} {
		s, err := parseScenario(setting + demand + "\n")
		if err != nil {
			t.Errorf("%s: %v", demand, err)
			continue
		}
		if misses := s.misses(s.play(t)); len(misses) != 1 {
			t.Errorf("%q holds, or more than it does not: %v", demand, misses)
		}
	}
}

func TestScenarioErrors(t *testing.T) {
	const fine = "# Why.\nautoscaler: cpu 50 %, 2 to 20 pods\nload: poisson:5\nfor: 5m\nas: upstream\nmust:\n  steady from 1m on\n"
	for name, text := range map[string]string{
		"no sentence":        strings.TrimPrefix(fine, "# Why.\n"),
		"no demand":          strings.Replace(fine, "  steady from 1m on\n", "", 1),
		"an unknown demand":  fine + "  be good\n",
		"an unknown key":     strings.Replace(fine, "for:", "four:", 1),
		"an unknown side":    strings.Replace(fine, "upstream", "keda", 1),
		"no load":            strings.Replace(fine, "load: poisson:5\n", "", 1),
		"words not numbers":  strings.Replace(fine, "2 to 20 pods", "some pods", 1),
		"an unknown pod key": strings.Replace(fine, "load:", "pods: red\nload:", 1),
	} {
		if _, err := parseScenario(text); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
	if s, err := parseScenario(fine); err != nil || s.seeds != 1 || len(s.demands) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

func medianOf(values []time.Duration) time.Duration {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
