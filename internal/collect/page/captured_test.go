package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
)

// The pages in testdata/pages are in the syntax of libraries and servers that many pods have. They differ in: a comma
// after the last label, values like 1.0E9, empty lines between families, exemplars, timestamps, braces and quotes
// within labels, and a last line without an end.

// format returns the format of a page, by its file's name.
func format(file string) page.Format {
	if strings.HasSuffix(file, ".openmetrics") {
		return page.OpenMetrics
	}
	return page.Text
}

func with(name, label string, values ...string) page.Want {
	return page.Want{Name: name, Selector: []page.Requirement{{Label: label, Values: values}}}
}

func TestPagesOfLibraries(t *testing.T) {
	tests := map[string]struct {
		want []page.Want
		got  []got
	}{
		"java-simpleclient.txt": {
			[]page.Want{with("shop_orders_total", "state", "paid"), {Name: "shop_checkout_seconds_count"},
				{Name: "jvm_memory_bytes_used"}, with("jvm_info", "vendor", `Example "Java" GmbH`)},
			[]got{{0, 1523}, {0, 871}, {1, 2406}, {2, 134217728}, {2, 51380224}, {3, 1}},
		},
		"java-micrometer.txt": {
			[]page.Want{with("http_server_requests_seconds_count", "status", "200", "201"),
				with("http_server_requests_seconds_sum", "uri", "/orders/{id}"),
				{Name: "http_server_requests_active_seconds_count"}, {Name: "executor_queued_tasks"}},
			[]got{{0, 4021}, {1, 61.337421852}, {0, 377}, {2, 7}, {3, 18}},
		},
		"java-micrometer.openmetrics": {
			[]page.Want{{Name: "http_server_requests_seconds_count"}, with("http_server_requests_seconds_bucket", "le", "0.001"),
				with("logback_events_total", "level", "warn", "error")},
			[]got{{1, 12}, {0, 250}, {2, 4}},
		},
		"rust-exporter.txt": {
			[]page.Want{{Name: "http_requests_total"}, {Name: "http_requests_pending"},
				{Name: "http_requests_duration_seconds_count"}},
			[]got{{0, 90210}, {0, 4}, {1, 3}, {2, 90214}},
		},
		"rust-client.openmetrics": {
			[]page.Want{{Name: "http_requests_total"}, {Name: "response_bytes_sum"}, {Name: "jobs"}},
			[]got{{0, 61}, {0, 4096}, {1, 1048576}, {2, -1}},
		},
		"nginx-exporter.txt": {
			named("nginx_http_requests_total", "nginx_connections_active"), []got{{1, 31}, {0, 10487133}},
		},
		"kubelet.txt": {
			[]page.Want{with("kubelet_http_requests_total", "path", "exec/{namespace}/{pod}/{container}"),
				{Name: "kubelet_pod_start_duration_seconds_count"}, with("rest_client_requests_total", "code", "<error>"),
				{Name: "container_cpu_usage_seconds_total"}},
			[]got{{0, 6}, {1, 22}, {2, 5}, {3, 4417}, {3, 12.5}},
		},
		"handwritten.txt": {named("worker_jobs_total"), []got{{0, 42}, {0, 1337}}},
	}
	files, err := filepath.Glob("testdata/pages/*")
	if err != nil || len(files) != len(tests) {
		t.Fatalf("%d pages, %d of them tested: %v", len(files), len(tests), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tt, isTested := tests[filepath.Base(file)]
		if !isTested {
			t.Errorf("%s is not tested", file)
		}
		all, _, err := read(format(file), string(text), page.Config{}, tt.want...)
		if diff := cmp.Diff(tt.got, all, cmpopts.EquateNaNs()); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", file, err, diff)
		}
	}
}

// captured returns the pages, as seeds of the fuzzers.
func captured(t testing.TB) [][]byte {
	files, err := filepath.Glob("testdata/pages/*")
	if err != nil {
		t.Fatal(err)
	}
	var pages [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, text)
	}
	return pages
}
