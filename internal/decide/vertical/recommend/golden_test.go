package recommend

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden plays the timelines of workloads, each with every divergence off and on.
func TestGolden(t *testing.T) {
	const mib = 1 << 20
	for name, tell := range map[string]func(s *story){
		"steady": func(s *story) {
			s.say("A container uses 300m and 400 MiB, and is measured each minute. The bounds close in.")
			s.uses(300, 400*mib)
			s.tell("the first sample", 0)
			s.tell("five minutes: the lower bound is at 60 % of itself", 4*time.Minute)
			s.tell("an hour", 54*time.Minute)
			s.tell("twelve hours: the upper bound is at 300 %", 11*time.Hour-time.Minute)
			s.tell("two days", 36*time.Hour-time.Minute)
		},
		"out of memory": func(s *story) {
			s.say("A container with a request of 500 MiB and a limit of 1000 MiB runs out of memory at once, and again.")
			s.seen.OOMs = []OOM{{Container: "app", OOM: usage.OOM{Pod: "a", At: began, Request: 500 * mib, Limit: 1000 * mib}}}
			s.tell("seen before any sample", 0)
			s.seen.OOMs = []OOM{{Container: "app",
				OOM: usage.OOM{Pod: "a", At: began.Add(time.Minute), Request: 500 * mib, Limit: 1000 * mib}}}
			s.tell("once more, with the same request: nothing runs away", time.Minute)
			s.seen.OOMs = nil
			s.uses(100, 900*mib)
			s.tell("it lives, and uses 900 MiB: the peak of the day is still that of the OOM", time.Hour)
		},
		"renamed": func(s *story) {
			s.say("A container is renamed from app to web: the old one has no pods any more.")
			s.uses(10, 10*mib)
			s.tell("app", time.Hour)
			s.has("web")
			s.uses(10, 10*mib)
			s.tell("web", time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for _, on := range []divergence.Set{divergence.None, divergence.Default} {
				fmt.Fprintf(&text, "# divergences %s\n", on)
				tell(&story{workload: newWorkload(on, "app"), text: &text})
			}
			file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".txt")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text.String()); diff != "" {
				t.Errorf("%s (-file +now; -update writes it anew):\n%s", file, diff)
			}
		})
	}
}

// story is a workload over time.
type story struct {
	*workload
	text *strings.Builder
}

func (s *story) say(sentence string) { fmt.Fprintf(s.text, "%s\n", sentence) }

// tell advances the time, decides, and prints the sentence with the result.
func (s *story) tell(sentence string, after time.Duration) {
	s.lives(after)
	s.pass()
	fmt.Fprintf(s.text, "\n%s\n", sentence)
	for _, trace := range s.decision.Traces {
		for r := range vertical.Resource(vertical.Resources) {
			if !trace.Controlled[r] {
				fmt.Fprintf(s.text, "  %s %s is not recommended; unmeasured: %t\n", trace.Container, r, trace.Unmeasured[r])
				continue
			}
			fmt.Fprintf(s.text, "  %s %s, confidence %.4f, floor %d\n", trace.Container, r, trace.Confidence[r], trace.Floor[r])
			for _, b := range []estimate.Bound{estimate.Lower, estimate.Target, estimate.Upper} {
				e := trace.Estimates[r][b]
				fmt.Fprintf(s.text, "    %-10s p%g of use %d, with margin %d, times %.4g is %d, at least the floor %d\n",
					b, 100*e.Percentile, e.Used, e.WithMargin, e.Factor, e.Widened, e.Capped)
			}
		}
	}
	for _, c := range s.decision.Conditions {
		fmt.Fprintf(s.text, "  %s\n",
			strings.TrimSpace(strings.Join([]string{c.Type, string(c.Status), c.Reason, c.Message}, " ")))
	}
}
