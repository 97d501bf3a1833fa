package vertical

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

const somePage = `# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 12.5
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 5e+07
# TYPE vpa_recommender_execution_latency_seconds histogram
vpa_recommender_execution_latency_seconds_bucket{step="total",le="+Inf"} 3
vpa_recommender_execution_latency_seconds_sum{step="total"} 6
vpa_recommender_execution_latency_seconds_count{step="total"} 3
# TYPE vpa_updater_execution_latency_seconds histogram
vpa_updater_execution_latency_seconds_sum{step="ListVPAs"} 0.25
vpa_updater_execution_latency_seconds_count{step="ListVPAs"} 2
vpa_updater_execution_latency_seconds_sum{step="Decide"} 0.5
vpa_updater_execution_latency_seconds_count{step="Decide"} 2
vpa_updater_execution_latency_seconds_sum{step="EvictPods"} 8
vpa_updater_execution_latency_seconds_count{step="EvictPods"} 2
vpa_updater_execution_latency_seconds_sum{step="WriteConditions"} 1
vpa_updater_execution_latency_seconds_count{step="WriteConditions"} 2
vpa_updater_execution_latency_seconds_sum{step="total"} 10
vpa_updater_execution_latency_seconds_count{step="total"} 2
# TYPE vpa_updater_evicted_pods_total counter
vpa_updater_evicted_pods_total{vpa_name="a"} 4
vpa_updater_evicted_pods_total{vpa_name="b"} 3
# TYPE vpa_updater_in_place_updated_pods_total counter
vpa_updater_in_place_updated_pods_total{vpa_name="a"} 2
# TYPE plimsoll_updater_conditions_waiting gauge
plimsoll_updater_conditions_waiting 3
# TYPE apiserver_request_total counter
apiserver_request_total{verb="PATCH",group="autoscaling.k8s.io",resource="verticalpodautoscalers",subresource="status",code="200"} 20
apiserver_request_total{verb="PATCH",group="autoscaling.k8s.io",resource="verticalpodautoscalers",subresource="status",code="409"} 1
apiserver_request_total{verb="GET",group="autoscaling.k8s.io",resource="verticalpodautoscalers",subresource="",code="200"} 99
apiserver_request_total{verb="PATCH",group="autoscaling.k8s.io",resource="verticalpodautoscalercheckpoints",subresource="",code="200"} 7
apiserver_request_total{verb="POST",group="",resource="events",subresource="",code="201"} 4
apiserver_request_total{verb="POST",group="",resource="pods",subresource="eviction",code="201"} 2
apiserver_request_total{verb="PATCH",group="",resource="pods",subresource="status",code="200"} 500
apiserver_request_total{verb="PUT",group="coordination.k8s.io",resource="leases",subresource="",code="200"} 600
`

func parsed(t *testing.T) exposition.Page {
	t.Helper()
	page, err := exposition.Parse(strings.NewReader(somePage))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// Two processes are added up as one subject.
func TestProcessesOfASubject(t *testing.T) {
	var got own
	got.add(parsed(t))
	got.add(parsed(t))
	want := own{
		cpuSeconds: 25, residentBytes: 1e8, recommender: spell{12, 6}, updater: spell{20, 4},
		computingSeconds: 1.5, tellingSeconds: 2, telling: 6, evicted: 14, resized: 4,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if mean := got.recommender.since(spell{2, 1}).mean(); mean != 2 {
		t.Errorf("a pass took %v s", mean)
	}
}

// Writes by the kubelets, and those of leases, belong to none of the subjects.
func TestWritesByKind(t *testing.T) {
	got := writesOf(parsed(t))
	want := writes{
		"verticalpodautoscalers/status": 21, "verticalpodautoscalercheckpoints": 7, "events": 4, "pods/eviction": 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rates := got.perMinute(writes{"verticalpodautoscalers/status": 1, "events": 4}, 2*time.Minute)
	if diff := cmp.Diff(map[string]float64{
		"verticalpodautoscalers/status": 10, "verticalpodautoscalercheckpoints": 3.5, "pods/eviction": 1,
	}, rates); diff != "" {
		t.Error(diff)
	}
}

func someResult() Result {
	config := Config{
		Objects: 10, PodsPer: 3, Mode: Recreate, Passes: 2,
		Subjects: []Subject{{Name: "one", Kind: Upstream, Flags: []string{}}},
	}
	result := config.result(report.Machine{CPUs: 2}, [][]measurement{{
		{actions: 10, acting: 5, actingPass: 6, writesPerMinute: map[string]float64{"events": 2, "other": 4}},
		{actions: 8, acting: 8, actingPass: 9, writesPerMinute: map[string]float64{"events": 2}, residentBytes: 3 << 20,
			restActions: 1},
	}})
	result.Bare = bareOf([]bareRun{{90, 0.02}, {100, 0.02}})
	return result
}

func TestResult(t *testing.T) {
	result := someResult()
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"writes a minute at rest 4.00 (2.00 to 6.00)", "acting: pods a second 1.50 (1.00 to 2.00)",
		"Note: A client that does nothing else evicts 95.0 (90.0 to 100.0) pods a second here, for 20.0 CPU ms of the API " +
			"server each.",
		"Note: one changed 1 pods when there was nothing to change.", "Note: one changed only 8 of 10 pods in its pass",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"writesPerMinuteByKind":{"events":{"median":2,`; !strings.Contains(string(text), want) {
		t.Errorf("%s is not in %s", want, text)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{
		Objects: 1, PodsPer: 2, Runs: 1, Subjects: []Subject{{}}, Passes: 1, Patience: time.Second,
		BinDir: "bin", Recommender: "recommender", Updater: "updater", Plimsoll: "plimsoll",
	}
	if completed, err := good.completed(); err != nil || completed.Out == nil || completed.Mode != Recreate {
		t.Errorf("%+v, %v", completed, err)
	}
	for name, change := range map[string]func(*Config){
		"no objects":           func(c *Config) { c.Objects = 0 },
		"nothing to evict":     func(c *Config) { c.PodsPer = 1 },
		"no runs":              func(c *Config) { c.Runs = 0 },
		"no passes":            func(c *Config) { c.Passes = 0 },
		"an unknown mode":      func(c *Config) { c.Mode = "Off" },
		"no binaries":          func(c *Config) { c.Updater = "" },
		"nothing to measure":   func(c *Config) { c.Subjects = nil },
		"no patience":          func(c *Config) { c.Patience = 0 },
		"less than no objects": func(c *Config) { c.Objects = -1 },
	} {
		bad := good
		change(&bad)
		if _, err := bad.completed(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A pass over pods to change must be able to change some of each workload.
func TestActions(t *testing.T) {
	for pods, want := range map[int]int{2: 10, 3: 10, 4: 20} {
		config := Config{Objects: 10, PodsPer: pods}
		if got := config.actions(); got != want {
			t.Errorf("%d pods each: %d, want %d", pods, got, want)
		}
	}
}

func TestAnonymousMemory(t *testing.T) {
	if got, err := anonymousBytes(os.Getpid()); err != nil || got < 1<<20 || got > 1<<34 {
		t.Errorf("this process has %v bytes, %v", got, err)
	}
	if _, err := anonymousBytes(-1); err == nil {
		t.Error("no process has memory")
	}
}
