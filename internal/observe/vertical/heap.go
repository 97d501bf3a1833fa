package vertical

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// heapSetting is a part of the setting by which a program fixes the size of its memory when it starts.
type heapSetting struct {
	text string
	// followsLimit is set if the size is a fraction of the memory limit, and not an amount.
	followsLimit bool
}

// heapSettings are those of Java, Node.js, .NET and VictoriaMetrics. Go's GOMEMLIMIT is not one: a program may use more
// than that.
var heapSettings = []heapSetting{
	{text: "-Xmx"}, {text: "MaxHeapSize="}, {text: "MaxRAM="},
	{text: "RAMPercentage", followsLimit: true}, {text: "MaxRAMFraction", followsLimit: true},
	{text: "max-old-space-size="}, {text: "max_old_space_size="},
	{text: "max-old-space-size-percentage", followsLimit: true},
	{text: "GCHeapHardLimit="}, {text: "GCHeapHardLimitPercent", followsLimit: true},
	{text: "memory.allowedBytes="}, {text: "memory.allowedPercent", followsLimit: true},
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

// FixedHeap returns the name of the setting by which a program has a heap of a fixed amount; empty without one.
func FixedHeap(c *corev1.Container) string { return heapOf(c, false) }

func heapOf(c *corev1.Container, followsLimit bool) string {
	for i := range heapSettings {
		s := &heapSettings[i]
		isInVariable := func(e corev1.EnvVar) bool { return s.isIn(e.Name) || s.isIn(e.Value) }
		if s.followsLimit == followsLimit && (slices.ContainsFunc(c.Command, s.isIn) ||
			slices.ContainsFunc(c.Args, s.isIn) || slices.ContainsFunc(c.Env, isInVariable)) {
			return s.name()
		}
	}
	return ""
}
