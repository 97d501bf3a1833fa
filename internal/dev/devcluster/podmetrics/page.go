package podmetrics

import (
	"math"
	"strconv"
	"time"
)

// The metrics of a page.
const (
	// MetricRequests is a counter with the label code: 200 of requests that were served, 503 of those that were dropped.
	MetricRequests = "http_requests_total"
	// MetricQueueLength is a gauge: the requests that wait.
	MetricQueueLength = "queue_length"
)

// Values are the values on a pod's page.
type Values struct {
	ServedTotal, DroppedTotal float64
	QueueLength               float64
	CPUSeconds                float64
	MemoryBytes               float64
	Began                     time.Time
}

// whole is added before counters are cut to whole requests: sums of parts come out a little too small, and a counter
// must never fall.
const whole = 1e-6

// AppendPage appends a typical page of a program with client_golang: about 4 kB, of which a scraper needs little.
func AppendPage(page []byte, v Values) []byte {
	page = append(page, runtimeMetrics...)
	page = append(page, "# HELP "+MetricRequests+" Requests that were answered.\n# TYPE "+MetricRequests+" counter\n"...)
	page = appendCount(append(page, MetricRequests+`{code="200"} `...), v.ServedTotal)
	page = appendCount(append(page, MetricRequests+`{code="503"} `...), v.DroppedTotal)
	page = append(page, "# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.\n"+
		"# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total "...)
	page = appendValue(page, math.Floor(v.CPUSeconds*100+whole)/100) // in the system's ticks
	page = append(page, "# HELP process_resident_memory_bytes Resident memory size in bytes.\n"+
		"# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes "...)
	page = appendCount(page, v.MemoryBytes)
	page = append(page, "# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.\n"+
		"# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds "...)
	page = appendValue(page, float64(v.Began.UnixMilli())/1000)
	page = append(page, "# HELP "+MetricQueueLength+" Requests that wait.\n# TYPE "+MetricQueueLength+" gauge\n"+
		MetricQueueLength+" "...)
	return appendValue(page, v.QueueLength)
}

func appendCount(page []byte, value float64) []byte {
	return appendValue(page, math.Floor(value+whole))
}

func appendValue(page []byte, value float64) []byte {
	return append(strconv.AppendFloat(page, value, 'g', -1, 64), '\n')
}

// runtimeMetrics stand for what every program of Go exposes beside its own metrics.
var runtimeMetrics = func() []byte {
	var page []byte
	for _, m := range []struct{ name, kind, help string }{
		{"go_gc_gogc_percent", "gauge", "Heap size target percentage configured by the user, otherwise 100."},
		{"go_gc_gomemlimit_bytes", "gauge", "Go runtime memory limit configured by the user, otherwise math.MaxInt64."},
		{"go_goroutines", "gauge", "Number of goroutines that currently exist."},
		{"go_memstats_alloc_bytes", "gauge", "Number of bytes allocated in heap and currently in use."},
		{"go_memstats_alloc_bytes_total", "counter", "Total number of bytes allocated in heap until now."},
		{"go_memstats_buck_hash_sys_bytes", "gauge", "Number of bytes used by the profiling bucket hash table."},
		{"go_memstats_frees_total", "counter", "Total number of heap objects frees."},
		{"go_memstats_gc_sys_bytes", "gauge", "Number of bytes used for garbage collection system metadata."},
		{"go_memstats_heap_alloc_bytes", "gauge", "Number of heap bytes allocated and currently in use."},
		{"go_memstats_heap_idle_bytes", "gauge", "Number of heap bytes waiting to be used."},
		{"go_memstats_heap_inuse_bytes", "gauge", "Number of heap bytes that are in use."},
		{"go_memstats_heap_objects", "gauge", "Number of currently allocated objects."},
		{"go_memstats_heap_released_bytes", "gauge", "Number of heap bytes released to OS."},
		{"go_memstats_heap_sys_bytes", "gauge", "Number of heap bytes obtained from system."},
		{"go_memstats_mallocs_total", "counter", "Total number of heap objects allocated, both live and gc-ed."},
		{"go_memstats_mspan_inuse_bytes", "gauge", "Number of bytes in use by mspan structures."},
		{"go_memstats_next_gc_bytes", "gauge", "Number of heap bytes when next garbage collection will take place."},
		{"go_memstats_stack_inuse_bytes", "gauge", "Number of bytes obtained from system for stack allocator."},
		{"go_memstats_sys_bytes", "gauge", "Number of bytes obtained from system."},
		{"go_sched_gomaxprocs_threads", "gauge", "The current runtime.GOMAXPROCS setting."},
		{"go_threads", "gauge", "Number of OS threads created."},
		{"process_open_fds", "gauge", "Number of open file descriptors."},
	} {
		page = append(page, "# HELP "+m.name+" "+m.help+"\n# TYPE "+m.name+" "+m.kind+"\n"+m.name+" 1.048576e+06\n"...)
	}
	return page
}()
