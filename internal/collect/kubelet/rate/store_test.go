package rate_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return noon.Add(time.Duration(math.Round(seconds*1000)) * time.Millisecond)
}

const labels = `{container="app",namespace="shop",pod="web-1"}`

// scrape is one response about container app of pod shop/web-1.
type scrape struct {
	arrived float64 // seconds after noon, by our clock
	taken   float64 // seconds after noon, by the node's clock
	cpu     string  // seconds; empty for none
	memory  string  // bytes; empty for none
	start   float64 // seconds after noon; 0 for none
	text    string  // in place of all that
}

func (s scrape) input() []byte {
	if s.text != "" {
		return []byte(s.text)
	}
	var b strings.Builder
	millis := at(s.taken).UnixMilli()
	if s.cpu != "" {
		fmt.Fprintf(&b, "container_cpu_usage_seconds_total%s %s %d\n", labels, s.cpu, millis)
	}
	if s.memory != "" {
		fmt.Fprintf(&b, "container_memory_working_set_bytes%s %s %d\n", labels, s.memory, millis)
	}
	if s.start != 0 {
		fmt.Fprintf(&b, "container_start_time_seconds%s %f\n", labels, float64(at(s.start).UnixMilli())/1000)
	}
	b.WriteString("resource_scrape_error 0\n")
	return []byte(b.String())
}

// seen is the usage of the container in short form: its cores, the seconds that they are averaged over, each single
// interval's cores, its memory.
type seen struct {
	found  bool
	cores  float64
	span   float64
	recent []float64
	memory int64
}

func ask(s *rate.Store, window time.Duration, now time.Time) seen {
	usages, ok := s.Usage(rate.Query{Node: "node-1", Namespace: "shop", Pod: "web-1", Window: window, Now: now}, nil)
	if !ok {
		return seen{}
	}
	u := usages[0]
	result := seen{found: true, cores: float64(u.CPU.NanoCores) / 1e9, span: u.CPU.Span.Seconds(), memory: u.MemoryBytes}
	for _, r := range u.Recent[:u.RecentCount] {
		result.recent = append(result.recent, float64(r.NanoCores)/1e9)
	}
	return result
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(seen{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestTroubles: the effect of each kind of trouble on a history. All rounds but the last are correct; the last one's
// Round is compared.
func TestTroubles(t *testing.T) {
	steady := []scrape{{1, 1, "10", "100", -60, ""}, {2, 2, "11", "100", -60, ""}, {3, 3, "12", "100", -60, ""}}
	after := func(more ...scrape) []scrape { return append(append([]scrape(nil), steady...), more...) }
	for name, tt := range map[string]struct {
		scrapes []scrape
		round   rate.Round
		want    seen
	}{
		"two samples make a rate": {
			steady[:2], rate.Round{Containers: 1, Fresh: 1}, seen{true, 1, 1, []float64{1}, 100}},
		"one sample makes none, but has memory": {
			steady[:1], rate.Round{Containers: 1, Fresh: 1}, seen{true, 0, 0, nil, 100}},
		"the window spans all that it holds, the newest interval comes first": {
			after(scrape{4, 4, "16", "200", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 2, 3, []float64{4, 1, 1}, 200}},
		"a counter that stands still is a rate of zero": {
			after(scrape{4, 4, "12", "100", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1}, seen{true, .666666666, 3, []float64{0, 1, 1}, 100}},
		"a sample of the same instant is one": {
			after(scrape{4, 3, "12.5", "100", -60, ""}),
			rate.Round{Containers: 1, Same: 1}, seen{true, 1, 2, []float64{1, 1}, 100}},
		"a sample almost of the same instant is one": {
			after(scrape{4, 3.099, "12.5", "100", -60, ""}),
			rate.Round{Containers: 1, Same: 1}, seen{true, 1, 2, []float64{1, 1}, 100}},
		"a restart begins anew, even if the counter is higher": {
			after(scrape{4, 4, "50", "100", 3.5, ""}),
			rate.Round{Containers: 1, Fresh: 1, Restarts: 1}, seen{true, 0, 0, nil, 100}},
		"after a restart the second sample makes a rate": {
			after(scrape{4, 4, "0.5", "100", 3.5, ""}, scrape{5, 5, "1", "100", 3.5, ""}),
			rate.Round{Containers: 1, Fresh: 1}, seen{true, .5, 1, []float64{.5}, 100}},
		"a counter that falls is a restart, whatever the start time": {
			after(scrape{4, 4, "0.5", "100", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1, Restarts: 1}, seen{true, 0, 0, nil, 100}},
		"a start time that wavers is no restart": {
			after(scrape{4, 4, "13", "100", -30, ""}),
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 1, 3, []float64{1, 1, 1}, 100}},
		"no start time is no restart": {
			after(scrape{4, 4, "13", "100", 0, ""}),
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 1, 3, []float64{1, 1, 1}, 100}},
		"a clock that goes back begins anew": {
			after(scrape{4, -3600, "13", "100", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1, ClockJumps: 1}, seen{true, 0, 0, nil, 100}},
		"after a clock that went back start times lie ahead": {
			after(scrape{4, -3600, "13", "100", -60, ""}, scrape{5, -3599, "14", "100", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 1, 1, []float64{1}, 100}},
		"a clock that jumps ahead begins anew": {
			after(scrape{4, 3604, "13", "100", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1, ClockJumps: 1}, seen{true, 0, 0, nil, 100}},
		"a clock that jumps ahead by seconds begins anew": {
			after(scrape{4, 7, "13", "100", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1, ClockJumps: 1}, seen{true, 0, 0, nil, 100}},
		"a delay is no jump": {
			after(scrape{4, 5.5, "14.5", "100", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 1, 4.5, []float64{1, 1, 1}, 100}},
		"samples that are seldom renewed are no jump": {
			[]scrape{{10, 2, "2", "", 0, ""}, {11, 10.5, "10.5", "", 0, ""}, {20, 10.5, "10.5", "", 0, ""},
				{21, 20.5, "20.5", "", 0, ""}},
			rate.Round{Containers: 1, Fresh: 1, Ignored: 0}, seen{true, 1, 10, []float64{1, 1}, 0}},
		"nor are samples that arrive old at times": {
			[]scrape{{10, 1, "1", "", 0, ""}, {25, 16, "16", "", 0, ""}, {40, 39.5, "39.5", "", 0, ""}},
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 1, 23.5, []float64{1, 1}, 0}},
		"nor is a first one that is as old as those of idle containers become": {
			[]scrape{{30, 1, "1", "", 0, ""}, {31, 31, "31", "", 0, ""}},
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 1, 30, []float64{1}, 0}},
		"a clock that is wrong all the time does not matter": {
			[]scrape{{1, 5001, "10", "100", 4000, ""}, {2, 5002, "11", "100", 4000, ""}},
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 1, 1, []float64{1}, 100}},
		"a long silence begins anew": {
			after(scrape{200, 200, "209", "100", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1, Gaps: 1}, seen{true, 0, 0, nil, 100}},
		"a shorter one is a long interval": {
			after(scrape{63, 63, "42", "100", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1}, seen{true, .5, 60, []float64{.5, 1, 1}, 100}},
		"NaN is no sample": {
			after(scrape{4, 4, "NaN", "NaN", -60, ""}),
			rate.Round{Containers: 1, Ignored: 2}, seen{true, 1, 2, []float64{1, 1}, 0}},
		"nor is infinity": {
			after(scrape{4, 4, "+Inf", "+Inf", -60, ""}),
			rate.Round{Containers: 1, Ignored: 2}, seen{true, 1, 2, []float64{1, 1}, 0}},
		"nor what is negative": {
			after(scrape{4, 4, "-1", "-1", -60, ""}),
			rate.Round{Containers: 1, Ignored: 2}, seen{true, 1, 2, []float64{1, 1}, 0}},
		"nor zero, which runtimes say before they looked": {
			after(scrape{4, 4, "0", "0", -60, ""}),
			rate.Round{Containers: 1, Ignored: 2}, seen{true, 1, 2, []float64{1, 1}, 0}},
		"nor what no counter can be": {
			after(scrape{4, 4, "1e300", "1e300", -60, ""}),
			rate.Round{Containers: 1, Ignored: 2}, seen{true, 1, 2, []float64{1, 1}, 0}},
		"a time before 1970 is none": {
			after(scrape{4, -2e9, "13", "200", -60, ""}),
			rate.Round{Containers: 1, Ignored: 2}, seen{true, 1, 2, []float64{1, 1}, 0}},
		"without timestamps the arrival counts": {
			[]scrape{
				{1, 0, "", "", 0, "container_cpu_usage_seconds_total" + labels + " 5\n"},
				{2, 0, "", "", 0, "container_cpu_usage_seconds_total" + labels + " 7\n"}},
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 2, 1, []float64{2}, 0}},
		"memory alone is reported": {
			[]scrape{{1, 1, "", "100", -60, ""}}, rate.Round{Containers: 1}, seen{true, 0, 0, nil, 100}},
		"a container without CPU keeps its history": {
			after(scrape{4, 4, "", "100", -60, ""}),
			rate.Round{Containers: 1}, seen{true, 1, 2, []float64{1, 1}, 100}},
		"a container that is gone for a round is not reported": {
			after(scrape{4, 4, "", "", 0, ""}),
			rate.Round{}, seen{}},
		"and goes on if it comes back": {
			after(scrape{4, 4, "", "", 0, ""}, scrape{5, 5, "14", "100", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 1, 4, []float64{1, 1, 1}, 100}},
		"after two rounds it is forgotten": {
			after(scrape{4, 4, "", "", 0, ""}, scrape{5, 5, "", "", 0, ""}),
			rate.Round{Gone: 1}, seen{}},
		"and is new if it comes back then": {
			after(scrape{4, 4, "", "", 0, ""}, scrape{5, 5, "", "", 0, ""}, scrape{6, 6, "15", "100", -60, ""}),
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 0, 0, nil, 100}},
		"of a container that is there twice the first counts": {
			[]scrape{steady[0], {2, 2, "", "", 0, "container_cpu_usage_seconds_total" + labels + " 11 1795176002000\n" +
				"container_cpu_usage_seconds_total" + labels + " 99 1795176002500\n"}},
			rate.Round{Containers: 1, Fresh: 1, Ignored: 1}, seen{true, 1, 1, []float64{1}, 0}},
		"labels in another order are the same container": {
			[]scrape{steady[0], {2, 2, "", "", 0,
				`container_cpu_usage_seconds_total{pod="web-1",namespace="shop",container="app",more="x"} 11 1795176002000` +
					"\n"}},
			rate.Round{Containers: 1, Fresh: 1}, seen{true, 1, 1, []float64{1}, 0}},
		"labels that are missing or empty are nobody's": {
			after(scrape{4, 4, "", "", 0, "container_cpu_usage_seconds_total 1\n" +
				`container_cpu_usage_seconds_total{pod="web-1",namespace="shop",container=""} 1` + "\n"}),
			rate.Round{Ignored: 2}, seen{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := rate.New(rate.Config{})
			var round rate.Round
			for _, one := range tt.scrapes {
				var err error
				if round, err = s.Ingest("node-1", at(one.arrived), one.input()); err != nil {
					t.Fatal(err)
				}
			}
			tt.round.Node, round.Newest = "node-1", time.Time{}
			same(t, "round", tt.round, round)
			same(t, "usage", tt.want, ask(s, 15*time.Second, at(tt.scrapes[len(tt.scrapes)-1].arrived)))
		})
	}
}

// TestErrorsChangeNothing: a text with an error changes nothing, also where samples stand before the error.
func TestErrorsChangeNothing(t *testing.T) {
	s := rate.New(rate.Config{MaxTextBytes: 10_000})
	for i := range 3 {
		one := scrape{float64(i), float64(i), fmt.Sprint(10 + i), "100", -60, ""}
		if _, err := s.Ingest("node-1", at(one.arrived), one.input()); err != nil {
			t.Fatal(err)
		}
	}
	want := ask(s, 15*time.Second, at(3))
	good := string(scrape{3, 3, "99", "999", -60, ""}.input())
	other := strings.ReplaceAll(good, "web-1", "web-2")
	for name, tt := range map[string]struct {
		text string
		is   error
	}{
		"cut short":           {good + other + "container_cpu_usage_seconds_total{con", page.ErrTruncated},
		"broken":              {good + other + "<html>\n", nil},
		"too large":           {strings.Repeat(good, 100), page.ErrTooLarge},
		"the kubelet's error": {good + other + "resource_scrape_error 1\n", rate.ErrNoStatistics},
	} {
		_, err := s.Ingest("node-1", at(3), []byte(tt.text))
		if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), "node-1") {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name, want, ask(s, 15*time.Second, at(3)))
		same(t, name, rate.Sizes{Nodes: 1, Pods: 1, Containers: 1}, s.Sizes())
	}
	if _, err := s.Ingest("node-1", at(4), scrape{4, 4, "14", "100", -60, ""}.input()); err != nil {
		t.Fatal(err)
	}
	same(t, "afterwards", seen{true, 1, 4, []float64{.5, 1, 1}[1:], 100}.cores, ask(s, 15*time.Second, at(4)).cores)
}

func TestUsageOfOnePod(t *testing.T) {
	s := rate.New(rate.Config{})
	node := kubelettest.Filled(3, 2, noon)
	for i := range 2 {
		node.Burn(1e9)
		if _, err := s.Ingest("node-1", at(float64(i)), node.Text(at(float64(i)))); err != nil {
			t.Fatal(err)
		}
	}
	pod := node.Pods[1]
	q := rate.Query{Node: "node-1", Namespace: pod.Namespace, Pod: pod.Name, Window: time.Minute, Now: at(2)}
	buffer := make([]rate.ContainerUsage, 0, 4)
	got, ok := s.Usage(q, buffer)
	if !ok || len(got) != 2 {
		t.Fatalf("%v, %v", got, ok)
	}
	for _, u := range got {
		if !u.HasCPU || !u.HasMemory || u.CPU.NanoCores != 1e9 || u.CPU.MilliCores() != 1000 || !u.CPU.End.Equal(at(1)) {
			t.Errorf("%+v", u)
		}
	}
	for name, change := range map[string]func(*rate.Query){
		"another node":      func(q *rate.Query) { q.Node = "node-2" },
		"another namespace": func(q *rate.Query) { q.Namespace = "shop" },
		"another pod":       func(q *rate.Query) { q.Pod = "web-1" },
		"much later":        func(q *rate.Query) { q.Now = at(32) },
	} {
		other := q
		change(&other)
		if got, ok := s.Usage(other, got[:1]); ok || len(got) != 1 {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	s.Forget("node-1")
	if _, ok := s.Usage(q, nil); ok {
		t.Error("a forgotten node still answers")
	}
	same(t, "sizes", rate.Sizes{}, s.Sizes())
}

// TestRefused: impossible values are reported; 0 only means that the runtime has not measured yet.
func TestRefused(t *testing.T) {
	for value, cannotBe := range map[string]bool{
		"NaN": true, "-1": true, "-Inf": true, "+Inf": true, "1e300": true, "0": false, "1e-12": false, "20": false,
	} {
		for of, want := range map[rate.Refused]scrape{
			rate.RefusedCPU: {2, 2, value, "100", -60, ""}, rate.RefusedMemory: {2, 2, "20", value, -60, ""},
		} {
			s := rate.New(rate.Config{})
			for _, one := range []scrape{{1, 1, "10", "100", -60, ""}, want} {
				if _, err := s.Ingest("node-1", at(one.arrived), one.input()); err != nil {
					t.Fatal(err)
				}
			}
			if !cannotBe {
				of = 0
			}
			query := rate.Query{Node: "node-1", Namespace: "shop", Pod: "web-1", Window: time.Minute, Now: at(2)}
			if usage, ok := s.Usage(query, nil); !ok || usage[0].Refused != of {
				t.Errorf("%q: refused %d of %+v, want %d", value, usage[0].Refused, usage, of)
			}
			sound := scrape{3, 3, "30", "100", -60, ""}
			if _, err := s.Ingest("node-1", at(3), sound.input()); err != nil {
				t.Fatal(err)
			}
			query.Now = at(3)
			if usage, ok := s.Usage(query, nil); !ok || usage[0].Refused != 0 {
				t.Errorf("%q: it stays: %+v", value, usage)
			}
		}
	}
}

// TestStuckKubelet: responses that keep coming with the same old samples do not make them young.
func TestStuckKubelet(t *testing.T) {
	s := rate.New(rate.Config{MaxAge: 10 * time.Second})
	for i := range 30 {
		taken := math.Min(float64(i), 5)
		one := scrape{float64(i), taken, fmt.Sprint(10 + taken), "100", -60, ""}
		if _, err := s.Ingest("node-1", at(one.arrived), one.input()); err != nil {
			t.Fatal(err)
		}
		if got := ask(s, time.Minute, at(one.arrived)); got.found != (i <= 15) {
			t.Errorf("after %d s: %+v", i, got)
		}
	}
}

// TestStuckContainer: the newest sample of a container may be older than the last answer of its node.
func TestStuckContainer(t *testing.T) {
	s := rate.New(rate.Config{MaxAge: 3 * time.Second, MaxSampleAge: 10 * time.Second})
	for i := range 30 {
		taken := math.Min(float64(i), 5)
		one := scrape{float64(i), taken, fmt.Sprint(10 + taken), "100", -60, ""}
		if _, err := s.Ingest("node-1", at(one.arrived), one.input()); err != nil {
			t.Fatal(err)
		}
		if got := ask(s, time.Minute, at(one.arrived)); got.found != (i <= 15) {
			t.Errorf("after %d s: %+v", i, got)
		}
		if got := ask(s, time.Minute, at(one.arrived+3.5)); got.found {
			t.Errorf("3.5 s after the node's last answer: %+v", got)
		}
	}
}

// TestContainersComeAndGo: the order of the lines changes from scrape to scrape,
// and every container keeps its own history.
func TestContainersComeAndGo(t *testing.T) {
	s := rate.New(rate.Config{})
	full := kubelettest.Filled(8, 2, noon)
	for i, pod := range full.Pods {
		for j := range pod.Containers {
			pod.Containers[j].CPUNanos = int64(1000*i+j+1) * 1e6
		}
	}
	for round := range 64 {
		node := &kubelettest.Node{}
		for i := range full.Pods {
			for j := range full.Pods[i].Containers {
				full.Pods[i].Containers[j].CPUNanos += int64(100*i+j+1) * 1e6
			}
			// Each pod is away now and then, never twice in a row.
			if round%2 == 0 || round%(i+3) != 1 {
				node.Pods = append(node.Pods, full.Pods[i])
			}
		}
		now := at(float64(round + 1))
		if _, err := s.Ingest("node-1", now, node.Text(now)); err != nil {
			t.Fatal(err)
		}
		for i, pod := range full.Pods {
			q := rate.Query{Node: "node-1", Namespace: pod.Namespace, Pod: pod.Name, Window: 15 * time.Second, Now: now}
			usages, _ := s.Usage(q, nil)
			for _, u := range usages {
				want := int64(100*i+1) * 1e6
				if u.Name != "app" {
					want += 1e6
				}
				if u.HasCPU && u.CPU.NanoCores != want {
					t.Fatalf("round %d, pod %d, container %s: %d nanocores, want %d", round, i, u.Name, u.CPU.NanoCores, want)
				}
			}
		}
	}
	same(t, "sizes", rate.Sizes{Nodes: 1, Pods: 8, Containers: 16}, s.Sizes())
}

func TestMissingContainerIsNotZero(t *testing.T) {
	s := rate.New(rate.Config{})
	node := kubelettest.Filled(1, 2, noon)
	pod := node.Pods[0]
	for i := range 3 {
		node.Burn(1e9)
		if i == 2 {
			node.Pods[0].Containers = pod.Containers[:1]
		}
		if _, err := s.Ingest("node-1", at(float64(i)), node.Text(at(float64(i)))); err != nil {
			t.Fatal(err)
		}
	}
	usages, ok := s.Usage(rate.Query{
		Node: "node-1", Namespace: pod.Namespace, Pod: pod.Name, Window: time.Minute, Now: at(2),
	}, nil)
	has := map[string]bool{}
	for _, u := range usages {
		has[u.Name] = u.HasCPU
	}
	same(t, "containers", map[string]bool{"app": true, "istio-proxy": false}, has)
	if !ok {
		t.Error("the pod is known")
	}
}

// TestManyAtATime: scrapes, questions and nodes that go, all at once, for the race
// detector.
func TestManyAtATime(t *testing.T) {
	s := rate.New(rate.Config{})
	node := kubelettest.Filled(5, 2, noon)
	pod := node.Pods[0]
	var texts [][]byte
	for i := range 10 {
		node.Burn(1e9)
		texts = append(texts, node.Text(at(float64(i))))
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			name := fmt.Sprintf("node-%d", worker%4)
			for i := range 50 {
				if _, err := s.Ingest(name, at(float64(i)), texts[i%10]); err != nil {
					t.Error(err)
				}
				usages, ok := s.Usage(rate.Query{
					Node: name, Namespace: pod.Namespace, Pod: pod.Name, Window: time.Minute, Now: at(float64(i)),
				}, nil)
				for _, u := range usages {
					if ok && u.HasCPU && u.CPU.NanoCores != 1e9 {
						t.Errorf("%+v", u)
					}
				}
				if i%20 == 19 {
					s.Forget(name)
				}
				s.Sizes()
			}
		})
	}
	all.Wait()
}

// named is a text about containers whose names begin with a prefix.
func named(prefix string, from, to int) []byte {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "container_memory_working_set_bytes{container=\"app\",namespace=\"shop\",pod=\"%s-%d\"} 1\n", prefix, i)
	}
	b.WriteString("resource_scrape_error 0\n")
	return []byte(b.String())
}

// TestMostContainers: a node that always names new containers fills no memory. Its first containers stay.
func TestMostContainers(t *testing.T) {
	s := rate.New(rate.Config{})
	for second, prefix := range []string{"a", "b", "c", "d"} {
		round, err := s.Ingest("node-1", at(float64(second)), named(prefix, 0, 3000))
		if err != nil {
			t.Fatal(err)
		}
		if known := s.Sizes().Containers; known > rate.MaxContainers || round.Containers+round.Ignored != 3000 {
			t.Errorf("%s: %d containers, %+v", prefix, known, round)
		}
	}
	if _, err := s.Ingest("node-2", at(0), named("a", 0, rate.MaxContainers+100)); err != nil {
		t.Fatal(err)
	}
	if round, err := s.Ingest("node-2", at(1), named("a", 0, 100)); err != nil || round.Containers != 100 || round.Gone != 0 {
		t.Errorf("%+v, %v", round, err)
	}
	long := strings.ReplaceAll(string(named("a", 0, 1)), "a-0", strings.Repeat("x", 2000))
	if round, err := s.Ingest("node-3", at(0), []byte(long)); err != nil || round.Containers != 0 || round.Ignored != 1 {
		t.Errorf("a long name: %+v, %v", round, err)
	}
}

// TestWanted: containers that are not wanted are left out. A known one stays as long as the text has it.
func TestWanted(t *testing.T) {
	s := rate.New(rate.Config{})
	of := func(pods string) rate.Wanted {
		return func(namespace, pod, container []byte) bool {
			return string(namespace) == "shop" && strings.Contains(pods, string(pod)) && string(container) == "app"
		}
	}
	for second, step := range []struct {
		from, to int
		wanted   rate.Wanted
		known    int
	}{
		{0, 9, of("a-0 a-1"), 2},
		{0, 9, of("a-1"), 2},
		{1, 9, of("a-1"), 2}, // until two rounds lack it
		{1, 9, of("a-1"), 1},
		{0, 9, nil, 9},
	} {
		if _, err := s.IngestOf("node-1", at(float64(second)), named("a", step.from, step.to), step.wanted); err != nil {
			t.Fatal(err)
		}
		if known := s.Sizes().Containers; known != step.known {
			t.Errorf("%d: %d containers are known, want %d", second, known, step.known)
		}
	}
}
