package schedules_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the same zones everywhere

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

var update = flag.Bool("update", false, "write what the scenarios print into testdata")

// TestScenarios plays the files in testdata. A file is a sequence of blocks, each of them sentences (#), commands, a
// line of dashes and what is printed: every change of the bounds on the way.
//
//	object min=1 max=10
//	schedule NAME zone=Europe/Berlin duration=1h min=5 max=8 ramp=30m 30 2 * * *
//	schedule NAME zone=UTC end=0_6_*_*_* notBefore=2026-03-28T00:00 notAfter=2026-03-30T00:00 max=3 0 22 * * *
//	walk zone=Europe/Berlin from=2026-03-28T00:00 to=2026-03-30T00:00
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			played := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(played), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), played); diff != "" {
				t.Errorf("%s: (-file +played); -update writes it\n%s", file, diff)
			}
		})
	}
}

func play(t *testing.T, text string) string {
	var blocks []string
	for block := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n\n") {
		before, _, found := strings.Cut(block, "----")
		if !found {
			t.Fatalf("no ---- in %q", block)
		}
		blocks = append(blocks, before+"----\n"+playBlock(t, before))
	}
	return strings.Join(blocks, "\n")
}

func playBlock(t *testing.T, text string) string {
	own := schedules.Bounds{MinReplicas: 1, MaxReplicas: 10}
	var all []schedules.Schedule
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		words := strings.Fields(line)
		switch words[0] {
		case "#":
		case "object":
			args, _ := arguments(words[1:])
			own = schedules.Bounds{MinReplicas: count(t, args["min"]), MaxReplicas: count(t, args["max"])}
		case "schedule":
			all = append(all, scheduleOf(t, words[1:]))
		case "walk":
			args, _ := arguments(words[1:])
			walk(t, &out, all, own, args)
		default:
			t.Fatalf("what is %q?", line)
		}
	}
	return out.String()
}

func arguments(words []string) (args map[string]string, rest string) {
	args = map[string]string{}
	for i, word := range words {
		key, value, found := strings.Cut(word, "=")
		if !found {
			return args, strings.Join(words[i:], " ")
		}
		args[key] = value
	}
	return args, ""
}

func scheduleOf(t *testing.T, words []string) schedules.Schedule {
	args, expression := arguments(words[1:])
	s := schedules.Schedule{Name: words[0], Start: parse(t, expression)}
	for key, value := range args {
		switch key {
		case "zone":
			s.Location = location(t, value)
		case "duration":
			s.Duration = period(t, value)
		case "end":
			s.End = parse(t, strings.ReplaceAll(value, "_", " "))
		case "notBefore":
			s.NotBefore = moment(t, value, location(t, args["zone"]))
		case "notAfter":
			s.NotAfter = moment(t, value, location(t, args["zone"]))
		case "ramp":
			s.Ramp = period(t, value)
		case "min":
			s.MinReplicas = count(t, value)
		case "max":
			s.MaxReplicas = count(t, value)
		default:
			t.Fatalf("a schedule has no %s", key)
		}
	}
	return s
}

// walk prints the bounds after each of their changes. It checks that they do not change in between.
func walk(t *testing.T, out *strings.Builder, all []schedules.Schedule, own schedules.Bounds, args map[string]string) {
	zone := location(t, args["zone"])
	now, end := moment(t, args["from"], zone), moment(t, args["to"], zone)
	var cache schedules.Cache
	what := "from here on"
	for now.Before(end) {
		r := cache.At(now, all, own)
		fmt.Fprintf(out, "%-29s %3d to %-3d %-25s %s\n", now.In(zone).Format("Mon 2006-01-02 15:04:05 MST"), r.MinReplicas,
			r.MaxReplicas, what, inForce(&r, zone))
		if r.Next.At.IsZero() {
			out.WriteString("and nothing changes any more\n")
			return
		}
		var last schedules.Cache
		if before := last.At(r.Next.At.Add(-time.Nanosecond), all, own); before.Bounds != r.Bounds {
			t.Errorf("%v: %v just before %v, want %v", now, before.Bounds, r.Next.At, r.Bounds)
		}
		now, what = r.Next.At, r.Next.Kind.String()+" of "+r.Next.Schedule.Name
	}
}

func inForce(r *schedules.Result, zone *time.Location) string {
	_, reason, message := r.Condition()
	var until []string
	for _, f := range r.InForce {
		text := "no end"
		if !f.Until.IsZero() {
			text = f.Until.In(zone).Format("15:04")
		}
		until = append(until, text)
	}
	if until == nil {
		return reason
	}
	return fmt.Sprintf("%s, until %s; %s", reason, strings.Join(until, ", "), message)
}

func parse(t testing.TB, expression string) schedules.Cron {
	c, err := cron.ParseStandard(expression)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func location(t *testing.T, name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func moment(t *testing.T, text string, zone *time.Location) time.Time {
	at, err := time.ParseInLocation("2006-01-02T15:04", text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func period(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func count(t *testing.T, text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int32(n)
}

// TestScenariosHaveSentences: each scenario has an explanation.
func TestScenariosHaveSentences(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "\n\n")
		if i := slices.IndexFunc(blocks, func(b string) bool { return !strings.HasPrefix(b, "# ") }); i >= 0 {
			t.Errorf("%s: block %d does not say why", file, i)
		}
	}
}
