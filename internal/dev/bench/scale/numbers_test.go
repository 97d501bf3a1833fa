package scale

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
)

const somePage = `# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 12.5
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 5e+07
# TYPE go_memstats_next_gc_bytes gauge
go_memstats_next_gc_bytes 3e+07
# TYPE go_gc_gogc_percent gauge
go_gc_gogc_percent 50
# TYPE horizontal_pod_autoscaler_controller_reconciliations_total counter
horizontal_pod_autoscaler_controller_reconciliations_total{action="none",error="none"} 40
horizontal_pod_autoscaler_controller_reconciliations_total{action="none",error="internal"} 2
# TYPE plimsoll_resource_readings_total counter
plimsoll_resource_readings_total{source="agent"} 30
plimsoll_resource_readings_total{source="kubelet"} 9
# TYPE apiserver_request_total counter
apiserver_request_total{verb="GET",group="",resource="",subresource="/readyz",code="200"} 999
apiserver_request_total{verb="GET",group="apps",resource="deployments",subresource="scale",code="200"} 30
apiserver_request_total{verb="GET",group="apps",resource="deployments",subresource="scale",code="404"} 1
apiserver_request_total{verb="PUT",group="apps",resource="deployments",subresource="scale",code="200"} 3
apiserver_request_total{verb="PUT",group="autoscaling",resource="horizontalpodautoscalers",subresource="status",code="200"} 12
apiserver_request_total{verb="PUT",group="plimsoll.dev",resource="workloadautoscalers",subresource="status",code="200"} 8
apiserver_request_total{verb="PUT",group="autoscaling",resource="horizontalpodautoscalers",subresource="",code="200"} 4
apiserver_request_total{verb="PATCH",group="autoscaling",resource="horizontalpodautoscalers",subresource="status",code="200"} 5
`

func parsed(t *testing.T, text string) page {
	t.Helper()
	p, err := exposition.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return page{p}
}

func TestProcessOfAPage(t *testing.T) {
	got := parsed(t, somePage).process(start)
	// With GOGC=50 the next collection comes at one and a half times what the last one left.
	want := process{
		at: start, cpuSeconds: 12.5, residentBytes: 5e7, liveHeapBytes: 2e7, decisions: 42, readings: 39, agentReadings: 30,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	without := parsed(t, strings.ReplaceAll(somePage, "go_gc_gogc_percent 50", "go_gc_gogc_percent 0")).process(start)
	if without.liveHeapBytes != 1.5e7 {
		t.Errorf("without GOGC: %v", without.liveHeapBytes)
	}
}

func TestRequestsOfAPage(t *testing.T) {
	got := parsed(t, somePage).requests()
	if diff := cmp.Diff(map[string]float64{"GET": 31, "PUT": 27, "PATCH": 5}, got.verbs); diff != "" {
		t.Error(diff)
	}
	if got.statusWrites != 25 || got.scaleWrites != 3 {
		t.Errorf("%v status writes, %v scale writes", got.statusWrites, got.scaleWrites)
	}
	before := requests{verbs: map[string]float64{"GET": 11}, statusWrites: 5, scaleWrites: 3}
	difference := got.since(before)
	if diff := cmp.Diff(map[string]float64{"GET": 20, "PUT": 27, "PATCH": 5}, difference.verbs); diff != "" {
		t.Error(diff)
	}
	if difference.statusWrites != 20 || difference.scaleWrites != 0 {
		t.Errorf("%+v", difference)
	}
}

func TestFetchSaysWhatIsWrong(t *testing.T) {
	answers := map[string]string{"/metrics": somePage, "/garbage": "{]"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, found := answers[r.URL.Path]
		if !found {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	if p, err := exposition.Fetch(t.Context(), server.Client(), server.URL+"/metrics"); err != nil ||
		p.Sum("process_cpu_seconds_total") != 12.5 {
		t.Errorf("%v", err)
	}
	for _, path := range []string{"/garbage", "/secret"} {
		if _, err := exposition.Fetch(t.Context(), server.Client(), server.URL+path); err == nil {
			t.Errorf("%s is read", path)
		}
	}
}
