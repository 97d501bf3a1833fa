package text

import "github.com/plimsoll-dev/plimsoll/internal/collect/page"

// Family is a metric family of /metrics/resource or, the last three, of
// /metrics/cadvisor.
type Family uint8

// The families that can be read. All but ScrapeError carry timestamps in the kubelet's text; ContainerStart does not.
const (
	other           Family = iota
	NodeCPU                // seconds, cumulative
	NodeMemory             // bytes, working set
	ContainerCPU           // seconds, cumulative; container, namespace, pod
	ContainerMemory        // bytes, working set; container, namespace, pod
	ContainerStart         // seconds since 1970; container, namespace, pod
	PodCPU                 // seconds, cumulative; namespace, pod
	PodMemory              // bytes, working set; namespace, pod
	ScrapeError            // 1 if the kubelet could not gather its statistics
	PeriodsCPU             // CFS periods in which the container ran, cumulative
	ThrottledCPU           // periods in which its limit stopped it
	PressureCPU            // seconds in which some of its tasks waited for a CPU
	families
)

var names = [families]string{
	NodeCPU:         "node_cpu_usage_seconds_total",
	NodeMemory:      "node_memory_working_set_bytes",
	ContainerCPU:    "container_cpu_usage_seconds_total",
	ContainerMemory: "container_memory_working_set_bytes",
	ContainerStart:  "container_start_time_seconds",
	PodCPU:          "pod_cpu_usage_seconds_total",
	PodMemory:       "pod_memory_working_set_bytes",
	ScrapeError:     "resource_scrape_error",
	PeriodsCPU:      "container_cpu_cfs_periods_total",
	ThrottledCPU:    "container_cpu_cfs_throttled_periods_total",
	PressureCPU:     "container_pressure_cpu_waiting_seconds_total",
}

// String is the family's name in the text.
func (f Family) String() string {
	if f == other || f >= families {
		return "other"
	}
	return names[f]
}

func familyOf(name []byte) Family {
	for f := other + 1; f < families; f++ {
		if names[f] == string(name) {
			return f
		}
	}
	return other
}

// Families is a set of them.
type Families uint16

// All are the families that can be read.
const All = Families(1<<families - 2)

// Of makes a set.
func Of(list ...Family) Families {
	var set Families
	for _, f := range list {
		set |= 1 << f
	}
	return set & All
}

// Has reports whether the family is in the set.
func (s Families) Has(f Family) bool { return s&(1<<f) != 0 }

// Lines reads the lines of the families, of texts of at most so many bytes; 0 means the default, and all families. The
// name of a line is its family.
func Lines(of Families, maxBytes int) page.Lines {
	if of == 0 {
		of = All
	}
	wanted := make([]string, families)
	for f := other + 1; f < families; f++ {
		if of.Has(f) {
			wanted[f] = names[f]
		}
	}
	return page.NewLines(page.LinesConfig{Names: wanted, IsStrict: true, MaxBytes: maxBytes})
}

// FamilyOf returns the family of a line.
func FamilyOf(line *page.Line) Family {
	return Family(line.Name) //nolint:gosec // the index of one of few names
}
