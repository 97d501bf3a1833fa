package nodeagent

import (
	"strconv"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// page writes a text in the kubelet's format: with the names, types and units of the families in its /metrics/resource
// and /metrics/cadvisor.
type page struct{ text []byte }

func (p *page) family(name, kind, help string) {
	p.text = append(p.text, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n"...)
}

// labelsOf returns the labels of a container's samples. Its names need no escapes.
func labelsOf(c *selection.Container) string {
	return `container="` + c.Name + `",namespace="` + c.Namespace + `",pod="` + c.Pod + `"`
}

// sample writes a line; without a time if at is zero.
func (p *page) sample(name, labels string, value float64, at time.Time) {
	p.text = append(p.text, name...)
	if labels != "" {
		p.text = append(p.text, '{')
		p.text = append(p.text, labels...)
		p.text = append(p.text, '}')
	}
	p.text = append(p.text, ' ')
	p.text = strconv.AppendFloat(p.text, value, 'g', -1, 64)
	if !at.IsZero() {
		p.text = append(p.text, ' ')
		p.text = strconv.AppendInt(p.text, at.UnixMilli(), 10)
	}
	p.text = append(p.text, '\n')
}

// The names of the families.
const (
	cpuFamily       = "container_cpu_usage_seconds_total"
	memoryFamily    = "container_memory_working_set_bytes"
	startFamily     = "container_start_time_seconds"
	errorFamily     = "resource_scrape_error"
	periodsFamily   = "container_cpu_cfs_periods_total"
	throttledFamily = "container_cpu_cfs_throttled_periods_total"
	stoppedFamily   = "container_cpu_cfs_throttled_seconds_total"
	pressureFamily  = "container_pressure_cpu_waiting_seconds_total"
)

func (p *page) usages(labels []string, all []usage) {
	p.family(cpuFamily, "counter", "[STABLE] Cumulative cpu time consumed by the container in core-seconds")
	for i := range all {
		if u := &all[i]; u.hasCPU {
			p.sample(cpuFamily, labels[i], float64(u.cpuNanos)/1e9, u.cpuAt)
		}
	}
	p.family(memoryFamily, "gauge", "[STABLE] Current working set of the container in bytes")
	for i := range all {
		if u := &all[i]; u.hasMemory {
			p.sample(memoryFamily, labels[i], float64(u.memoryBytes), u.memoryAt)
		}
	}
	p.family(startFamily, "gauge", "[STABLE] Start time of the container since unix epoch in seconds")
	for i := range all {
		if u := &all[i]; !u.began.IsZero() {
			p.sample(startFamily, labels[i], float64(u.began.UnixMilli())/1e3, time.Time{})
		}
	}
	p.family(errorFamily, "gauge", "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise")
	p.sample(errorFamily, "", 0, time.Time{})
}

// withID returns the labels of the counters of stalls: a restarted container has series of its own, as with a kubelet.
// An ID needs no escapes.
func withID(labels string, c *selection.Container) string { return labels + `,id="` + c.ID + `"` }

// stalls writes the counters of CPU throttling and pressure.
func (p *page) stalls(wanted *remembered, all []stalls) {
	labels := make([]string, len(all))
	for i := range all {
		labels[i] = withID(wanted.labels[i], &wanted.containers[i])
	}
	p.family(periodsFamily, "counter", "Number of elapsed enforcement period intervals.")
	for i := range all {
		if s := &all[i]; s.hasThrottling {
			p.sample(periodsFamily, labels[i], float64(s.throttling.Periods), s.at)
		}
	}
	p.family(throttledFamily, "counter", "Number of throttled period intervals.")
	for i := range all {
		if s := &all[i]; s.hasThrottling {
			p.sample(throttledFamily, labels[i], float64(s.throttling.Throttled), s.at)
		}
	}
	p.family(stoppedFamily, "counter", "Total time duration the container has been throttled.")
	for i := range all {
		if s := &all[i]; s.hasThrottling {
			p.sample(stoppedFamily, labels[i], s.throttling.Time.Seconds(), s.at)
		}
	}
	p.family(pressureFamily, "counter", "Total time duration tasks in the container have waited due to CPU congestion.")
	for i := range all {
		if s := &all[i]; s.hasPressure {
			p.sample(pressureFamily, labels[i], s.pressure.Seconds(), s.at)
		}
	}
}
