package vertical

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// heapSetting is a part of the setting by which a program fixes the size of its memory when it starts.
type heapSetting struct {
	program string
	text    string
	// followsLimit is set if the size is a fraction of the memory limit, and not an amount.
	followsLimit bool
}

const java, nodejs, dotnet, victoriaMetrics = "Java", "Node.js", ".NET", "VictoriaMetrics"

// heapSettings has the settings of a program in their precedence: with several, the first decides. Go's GOMEMLIMIT is
// not one: a program may use more than that.
var heapSettings = []heapSetting{
	{program: java, text: "-Xmx"}, {program: java, text: "MaxHeapSize="}, {program: java, text: "MaxRAM="},
	{program: java, text: "RAMPercentage", followsLimit: true},
	{program: java, text: "MaxRAMFraction", followsLimit: true},
	{program: nodejs, text: "max-old-space-size-percentage", followsLimit: true},
	{program: nodejs, text: "max-old-space-size="}, {program: nodejs, text: "max_old_space_size="},
	{program: dotnet, text: "GCHeapHardLimit="},
	{program: dotnet, text: "GCHeapHardLimitPercent", followsLimit: true},
	{program: victoriaMetrics, text: "memory.allowedBytes="},
	{program: victoriaMetrics, text: "memory.allowedPercent", followsLimit: true},
}

// isIn reports whether a text has the setting. The value may be another text: the next argument, or that of the
// variable.
func (s *heapSetting) isIn(text string) bool {
	return strings.Contains(text, s.text) || strings.HasSuffix(text, s.name())
}

func (s *heapSetting) name() string { return strings.TrimSuffix(s.text, "=") }

// HeapOfLimit returns the name of the setting by which a program takes a fraction of its memory limit when it starts;
// empty without one.
func HeapOfLimit(c *corev1.Container) string { return heapOf(c, true) }

// HeapAmount returns the name of the setting by which a program has a heap of a fixed amount; empty without one.
func HeapAmount(c *corev1.Container) string { return heapOf(c, false) }

func heapOf(c *corev1.Container, followsLimit bool) string {
	decided := ""
	for i := range heapSettings {
		s := &heapSettings[i]
		if s.program == decided || !s.isOf(c) {
			continue
		}
		if s.followsLimit == followsLimit {
			return s.name()
		}
		decided = s.program
	}
	return ""
}

func (s *heapSetting) isOf(c *corev1.Container) bool {
	isInVariable := func(e corev1.EnvVar) bool { return s.isIn(e.Name) || s.isIn(e.Value) }
	return slices.ContainsFunc(c.Command, s.isIn) || slices.ContainsFunc(c.Args, s.isIn) ||
		slices.ContainsFunc(c.Env, isInVariable)
}
