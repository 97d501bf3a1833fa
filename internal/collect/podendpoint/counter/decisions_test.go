package counter_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/counter"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/sample"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

var update = flag.Bool("update", false, "write what the scenarios print into testdata")

// TestDecisions plays testdata/decisions.txt: counters of pods that share a load, scraped each second, and the decision on
// them each second. A block begins with sentences (#). A line is a second and what happens then:
//
//	0s pods 10 load 300 sample 4   so many pods that share so many requests per second; without sample all are scraped
//	40s load 900                   another load
//	40s restart 0 5..9             the counters of these pods begin again at 0
//	40s silent 0 1, answer 0 1     these pods answer no longer, or again
//	40s empty 0                    their pages are without the metric from now on
//	40s delete 0 1                 these pods are gone, and others take their place
//	40s end
//
// The target is 30 requests per second for each pod, and counts fall at once. Below ---- is what was decided, one line
// each time that a number in it changed.
func TestDecisions(t *testing.T) {
	const file = "testdata/decisions.txt"
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	var played strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		if i > 0 {
			played.WriteString("\n")
		}
		script, _, _ := strings.Cut(block, "\n----")
		s := stage{t: t}
		fmt.Fprintf(&played, "%s\n----\n%s", script, s.play(script))
	}
	if *update {
		if err := os.WriteFile(file, []byte(played.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), played.String()); diff != "" {
		t.Errorf("%s: (-file +played); -update writes it\n%s", file, diff)
	}
}

// app is a pod, with its counter and its history.
type app struct {
	uid              uint64
	readyAt          time.Duration
	total            float64
	isSilent, isBare bool
	history          counter.History
}

// stage is the state of a block.
type stage struct {
	t        *testing.T
	now      time.Duration
	pods     []*app
	born     int
	load     float64
	size     int
	circle   sample.Circle
	policy   horizontal.Policy
	state    horizontal.State
	sampled  map[int]bool
	lastLine string
}

// old is the age of the first pods, startup the time until later ones become ready.
const old, startup = time.Hour, 3 * time.Second

var epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func (s *stage) add(readyAt time.Duration) {
	uid := rand.New(rand.NewPCG(uint64(s.born), 0)).Uint64()
	s.born++
	s.pods = append(s.pods, &app{
		uid: uid, readyAt: readyAt, history: counter.New(counter.Config{Kind: counter.Rate}),
	})
}

func (s *stage) play(script string) string {
	s.policy = horizontal.Policy{
		MinReplicas: 1, MaxReplicas: 2000, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1}, Surge: surge.Defaults(),
		Divergences: divergence.Default, WorkloadAutoscaler: &horizontal.WorkloadAutoscaler{},
		CPUInitializationPeriod: 5 * time.Minute, InitialReadinessDelay: 30 * time.Second,
		Metrics: []source.Spec{{
			Type: source.PodEndpoint, Name: "requests", IsRate: true,
			Target: source.Target{Type: source.AverageValue, Milli: 30_000},
		}},
	}
	var out strings.Builder
	for line := range strings.Lines(script) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		at, err := time.ParseDuration(words[0])
		if err != nil {
			s.t.Fatal(err)
		}
		for s.now < at {
			s.second(&out)
		}
		s.happen(words[1:])
	}
	return out.String()
}

func (s *stage) happen(words []string) {
	for len(words) > 0 {
		what, of := words[0], []int(nil)
		for words = words[1:]; len(words) > 0; words = words[1:] {
			first, last, isRange := strings.Cut(words[0], "..")
			n, err := strconv.Atoi(first)
			if err != nil {
				break
			}
			of = append(of, n)
			for isRange && strconv.Itoa(n) != last {
				n++
				of = append(of, n)
			}
		}
		switch what {
		case "pods":
			for range of[0] {
				s.add(-old)
			}
		case "load":
			s.load = float64(of[0])
		case "sample":
			s.size = of[0]
		case "end":
		default:
			s.each(what, of)
		}
	}
}

func (s *stage) each(what string, of []int) {
	for _, i := range of {
		switch p := s.pods[i]; what {
		case "restart":
			p.total = 0
		case "silent", "answer":
			p.isSilent = what == "silent"
		case "empty":
			p.isBare = true
		case "delete":
			s.add(s.now + startup)
			s.pods[i] = s.pods[len(s.pods)-1]
			s.pods = s.pods[:len(s.pods)-1]
		default:
			s.t.Fatalf("what is %q?", what)
		}
	}
}

// second advances a second, scrapes and decides.
func (s *stage) second(out *strings.Builder) {
	s.now += time.Second
	var ready float64
	for _, p := range s.pods {
		if p.readyAt < s.now {
			ready++
		}
	}
	for _, p := range s.pods {
		if p.readyAt < s.now {
			p.total += s.load / ready
		}
	}
	s.scrape()
	o := s.observation()
	now := epoch.Add(s.now)
	var d horizontal.Decision
	d, s.state = horizontal.Decide(now, &s.policy, s.state, &o)
	s.state = horizontal.Settle(s.state, horizontal.Outcome{At: now})
	s.print(out, &d)
	for int32(len(s.pods)) < d.Desired {
		s.add(s.now + startup)
	}
	s.pods = s.pods[:d.Desired]
}

// scrape reads the pages of the sample, which is one of the ready pods, and of the pods that are next.
func (s *stage) scrape() {
	var places []int
	var uids []uint64
	for i, p := range s.pods {
		if p.readyAt <= s.now {
			places, uids = append(places, i), append(uids, p.uid)
		}
	}
	size := s.size
	if size == 0 {
		size = len(uids)
	}
	s.sampled = map[int]bool{}
	now := epoch.Add(s.now)
	for n, i := range s.circle.Choose(now, uids, size, nil) {
		s.sampled[places[i]] = n < size
		p := s.pods[places[i]]
		switch {
		case p.isSilent:
		case p.isBare:
			p.history.Add(now, now, nil)
		default:
			p.history.Add(now, now, []counter.Value{{Series: 1, Value: p.total / 2}, {Series: 2, Value: p.total / 2}})
		}
	}
}

// observation has the samples of the pods in the sample; samples that are older than some seconds do not count.
func (s *stage) observation() horizontal.Observation {
	n, fresh := int32(len(s.pods)), epoch.Add(s.now-3*time.Second)
	o := horizontal.Observation{Target: horizontal.Target{SpecReplicas: n, StatusReplicas: n}}
	var r metric.Reading
	for i, p := range s.pods {
		pod := metric.Pod{
			Phase: metric.PhaseRunning, Ready: metric.ReadyFalse, StartTime: epoch.Add(p.readyAt - startup),
			ReadyTransition: epoch.Add(p.readyAt - startup),
		}
		if p.readyAt <= s.now {
			pod.Ready, pod.ReadyTransition = metric.ReadyTrue, epoch.Add(p.readyAt)
		}
		one, recent := p.history.Average(averaging.PodWindow(s.now-p.readyAt, averaging.StableWindow)), p.history.Recent()
		switch {
		case !s.sampled[i]:
			one, recent = metric.Sample{Unsampled: true}, metric.Recent{}
		case !one.At.After(fresh) && p.isSilent:
			one, recent = metric.Sample{Silent: true, Milli: one.Milli, At: one.At}, metric.Recent{}
		case !one.At.After(fresh):
			one, recent = metric.Sample{}, metric.Recent{}
		}
		o.Pods, r.Samples, r.Recent = append(o.Pods, pod), append(r.Samples, one), append(r.Recent, recent)
	}
	o.Readings = []metric.Reading{r}
	return o
}

// print writes a line if a number in it has changed since the last one. Averages are rounded to whole requests.
func (s *stage) print(out *strings.Builder, d *horizontal.Decision) {
	m := &d.Metrics[0]
	line := fmt.Sprintf("%3d replicas, wanted %3d: ", d.Current, d.Desired)
	if m.Failure != nil {
		line += "no values"
	} else {
		c := &m.Counts
		line += fmt.Sprintf("%3.0f/s of %d pods", float64(m.Milli)/1000, c.Counted)
		if c.Missing > 0 {
			line += fmt.Sprintf(", %d missing", c.Missing)
		}
		if c.Unready > 0 {
			line += fmt.Sprintf(", %d unready", c.Unready)
		}
		if c.Unsampled > 0 {
			line += fmt.Sprintf(", %d not sampled", c.Unsampled)
		}
		if d.Surge.Proposes() {
			line += ", surge"
		}
	}
	if line != s.lastLine {
		fmt.Fprintf(out, "%4ds %s\n", int(s.now.Seconds()), line)
	}
	s.lastLine = line
}
