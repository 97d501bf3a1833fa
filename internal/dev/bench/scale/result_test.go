package scale

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// twoMeasurements are of an autoscaler that works as it should.
func twoMeasurements() []measurement {
	return []measurement{
		{
			seconds: 30, seen: 600, counted: 600, periodP50: 15, periodP99: 16, perSecond: 2, sampleAgeP99: 14,
			cpuPerThousand: 2, cores: 0.04,
			residentBytes: 64 << 20, liveHeapBytes: 8 << 20,
			requestsPerSecond:        map[string]float64{"GET": 20, "PUT": 19, "DELETE": 0},
			metricsRequestsPerSecond: 20, statusWritesPerObjectMinute: 4, serverCPUPerThousand: 3,
			start: beginning{decidedSeconds: 15, restSeconds: 22},
		},
		{
			seconds: 31, seen: 610, counted: 611, periodP50: 15.5, periodP99: 18, perSecond: 1.94, sampleAgeP99: 14.5,
			cpuPerThousand: 3, cores: 0.06,
			residentBytes: 66 << 20, liveHeapBytes: 8 << 20,
			requestsPerSecond:        map[string]float64{"GET": 19, "PUT": 18, "WATCH": 0.01},
			metricsRequestsPerSecond: 19.5, statusWritesPerObjectMinute: 3.9, serverCPUPerThousand: 3,
			start: beginning{decidedSeconds: 17, restSeconds: 24},
		},
	}
}

func resultFor(t *testing.T, runs []measurement) Result {
	t.Helper()
	config := Config{
		Size: someSize(t), Resolution: 15 * time.Second, Noise: 0.05,
		Subjects: []Subject{{Name: "upstream, defaults", Kind: Upstream, Flags: []string{}}},
	}
	return config.result(report.Machine{CPUs: 2, CPUModel: "a CPU"}, [][]measurement{runs})
}

// The table shows that its subjects did not share the processors as usual.
func TestTitleTellsNice(t *testing.T) {
	result := resultFor(t, twoMeasurements())
	result.Nice = -10
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	if title, _, _ := strings.Cut(out.String(), "\n"); !strings.Contains(title, "nice value of -10") {
		t.Errorf("the title is %q", title)
	}
}

func TestTable(t *testing.T) {
	result := resultFor(t, twoMeasurements())
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := "30 autoscalers with 3 pods each, 1 nodes, Kubernetes v1.37.1, on 2 CPUs (a CPU). Median of the runs (least " +
		"to most).\n\n"
	for _, row := range [][2]string{
		{"", "upstream, defaults"},
		{"-----------------------------", "----------------------"},
		{"decision period p50, s", "15.2 (15.0 to 15.5)"},
		{"decision period p99, s", "17.0 (16.0 to 18.0)"},
		{"newest sample's age p99, s", "14.2 (14.0 to 14.5)"},
		{"decisions a second", "1.97 (1.94 to 2.00)"},
		{"CPU s per 1000 decisions", "2.50 (2.00 to 3.00)"},
		{"CPU, cores", "0.050 (0.040 to 0.060)"},
		{"API server's CPU s per 1000", "3.00"},
		{"resident memory, MiB", "65.0 (64.0 to 66.0)"},
		{"live heap, MiB", "8.00"},
		{"status writes / object / min", "3.95 (3.90 to 4.00)"},
		{"metrics API requests a second", "19.8 (19.5 to 20.0)"},
		{"start: each decided once, s", "16.0 (15.0 to 17.0)"},
		{"start: at rest, s", "23.0 (22.0 to 24.0)"},
		{"GET a second", "19.5 (19.0 to 20.0)"},
		{"PUT a second", "18.5 (18.0 to 19.0)"},
	} {
		want += fmt.Sprintf("%-29s  %22s\n", row[0], row[1])
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// The agents' numbers are shown for a subject with agents, beside the ages of the oldest samples.
func TestAgentRows(t *testing.T) {
	runs := twoMeasurements()
	for i := range runs {
		runs[i].oldestAgeP50, runs[i].oldestAgeP99 = 0.21, 0.27
		runs[i].agents = agentNumbers{answersPerSecond: 40, cores: 0.02, decisionShare: 0.995}
	}
	config := Config{Size: someSize(t), Subjects: []Subject{
		{Name: "Plimsoll", Kind: Plimsoll}, {Name: "agents", Kind: Plimsoll, NodeAgents: true},
	}}
	result := config.result(report.Machine{}, [][]measurement{twoMeasurements(), runs})
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"oldest sample's age p50, s - 0.210", "oldest sample's age p99, s - 0.270",
		"agents' answers a second - 40.0", "all agents' CPU, cores - 0.020", "decided on agents alone, % - 99.5",
		"agents in relation to Plimsoll: 1 is the same.",
	} {
		if !strings.Contains(squeezed(out.String()), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
}

// Half of the objects as WorkloadAutoscalers are compared with HPAs alone and the same flags, run by run.
func TestRatios(t *testing.T) {
	alone, half := twoMeasurements(), twoMeasurements()
	half[0].cores, half[0].residentBytes = 0.05, 32<<20
	config := Config{Size: someSize(t), Subjects: []Subject{
		{Name: "upstream", Kind: Upstream}, {Name: "Plimsoll", Kind: Plimsoll},
		{Name: "half", Kind: Plimsoll, HalfWorkloadAutoscalers: true},
	}}
	result := config.result(report.Machine{}, [][]measurement{twoMeasurements(), alone, half})
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "\n\nhalf in relation to Plimsoll: 1 is the same.\n\n")
	for _, want := range []string{
		"decision period p99, s                 1.00                 1.00\n",
		"CPU, cores                             1.10  1.12 (1.00 to 1.25)\n",
		"resident memory, MiB                  0.754  0.750 (0.500 to 1.000)\n",
	} {
		if !strings.Contains(squeezed(got), squeezed(want)) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(got, "upstream") {
		t.Errorf("another autoscaler is compared:\n%s", got)
	}
}

// Metrics of the pods' own are compared with HPAs, too, and their pages are counted.
func TestOwnMetrics(t *testing.T) {
	own := twoMeasurements()
	own[0].pagesPerSecond, own[1].pagesPerSecond = 9000, 10000
	config := Config{Size: someSize(t), Subjects: []Subject{
		{Name: "Plimsoll", Kind: Plimsoll}, {Name: "own", Kind: Plimsoll, OwnMetrics: true},
	}}
	result := config.result(report.Machine{}, [][]measurement{twoMeasurements(), own})
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"pods' own pages a second - 9500 (9000 to 10000)", "own in relation to Plimsoll: 1 is the same.",
		"CPU, cores 1.00 1.00",
	} {
		if !strings.Contains(squeezed(out.String()), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestDoubts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*measurement)
		want   string
	}{
		"objects that were not decided again": {func(m *measurement) { m.waiting = 7 },
			"left 7 objects without a second decision"},
		"more status than at rest": {func(m *measurement) { m.start.isRestless = true },
			"still wrote more status than at rest"},
		"scaling at rest":                      {func(m *measurement) { m.scaleWrites = 3 }, "wrote 3 scales"},
		"more decisions than seen":             {func(m *measurement) { m.counted *= 1.5 }, "of its own for each one seen"},
		"decisions that are seen, not counted": {func(m *measurement) { m.counted *= 0.9 }, "of its own for each one seen"},
	} {
		t.Run(name, func(t *testing.T) {
			runs := twoMeasurements()
			c.change(&runs[1])
			result := resultFor(t, runs)
			doubts := result.doubts()
			if len(doubts) != 1 || !strings.Contains(doubts[0], c.want) {
				t.Errorf("%q, want something with %q", doubts, c.want)
			}
		})
	}
}

func TestResultAsJSON(t *testing.T) {
	text, err := json.Marshal(resultFor(t, twoMeasurements()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"benchmark":"scale"`, `"objects":30,"podsPerObject":3,"nodes":1,"namespaces":2,"metricResolutionSeconds":15`,
		`"subjects":[{"name":"upstream, defaults","kind":"upstream","flags":[],"runs":2,`,
		`"periodP99Seconds":{"median":17,"min":16,"max":18,"runs":[16,18]}`, `"WATCH":{"median":0.005`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if strings.Contains(string(text), "DELETE") {
		t.Error("an unused verb has a line")
	}
}

// If only the number of decisions is known, there are no periods and no doubts about them.
func TestOnlyCounted(t *testing.T) {
	runs := twoMeasurements()
	for i := range runs {
		runs[i].seen, runs[i].periodP50, runs[i].periodP99, runs[i].sampleAgeP99 = 0, math.NaN(), math.NaN(), math.NaN()
	}
	result := resultFor(t, runs)
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%-29s  %22s\n", "decision period p99, s", "-")
	if doubts := result.doubts(); len(doubts) > 0 || !strings.Contains(out.String(), want) {
		t.Errorf("%q in\n%s", doubts, out.String())
	}
	if _, err := json.Marshal(result); err != nil {
		t.Error(err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{
		Size: someSize(t), Runs: 1, Subjects: []Subject{{}}, Window: time.Second, PlimsollWindow: time.Second,
		Patience: time.Second, Idle: time.Second, BinDir: "bin", Plimsoll: "plimsoll",
	}
	completed, err := good.completed()
	if err != nil || completed.Out == nil || completed.Resolution == 0 {
		t.Errorf("%+v, %v", completed, err)
	}
	for name, change := range map[string]func(*Config){
		"no objects":   func(c *Config) { c.Size.Objects = 0 },
		"no runs":      func(c *Config) { c.Runs = 0 },
		"no subjects":  func(c *Config) { c.Subjects = nil },
		"no such way":  func(c *Config) { c.Decisions = "guess" },
		"no window":    func(c *Config) { c.Window = 0 },
		"no binaries":  func(c *Config) { c.BinDir = "" },
		"back in time": func(c *Config) { c.Settle = -1 },
		"WorkloadAutoscalers for upstream": func(c *Config) {
			c.Subjects = []Subject{{Kind: Upstream, HalfWorkloadAutoscalers: true}}
		},
		"agents for upstream": func(c *Config) { c.Subjects = []Subject{{Kind: Upstream, NodeAgents: true}} },
		"agents that the recommender requests too": func(c *Config) {
			c.Subjects, c.VerticalObjects = []Subject{{Kind: Plimsoll, NodeAgents: true}}, 1
		},
	} {
		bad := good
		change(&bad)
		if _, err := bad.completed(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
