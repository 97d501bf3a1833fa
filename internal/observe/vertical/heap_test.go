package vertical

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestHeapOfTwoSettings: the setting that has precedence in the program decides, in whatever order they come.
func TestHeapOfTwoSettings(t *testing.T) {
	for options, want := range map[string]struct{ ofLimit, fixed string }{
		"-XX:MaxRAMPercentage=75":                                      {ofLimit: "RAMPercentage"},
		"-XX:MaxRAMPercentage=75 -Xmx2g":                               {fixed: "-Xmx"},
		"-XX:MaxRAMFraction=2 -XX:MaxHeapSize=2g":                      {fixed: "MaxHeapSize"},
		"-XX:MaxRAMPercentage=75 -XX:MaxRAM=4g":                        {fixed: "MaxRAM"},
		"--max-old-space-size-percentage=75":                           {ofLimit: "max-old-space-size-percentage"},
		"--max-old-space-size=512 --max-old-space-size-percentage=75":  {ofLimit: "max-old-space-size-percentage"},
		"DOTNET_GCHeapHardLimit=2000 DOTNET_GCHeapHardLimitPercent=4B": {fixed: "GCHeapHardLimit"},
		"-memory.allowedPercent=60 -memory.allowedBytes=1GiB":          {fixed: "memory.allowedBytes"},
		"-Xmx2g -memory.allowedPercent=60":                             {fixed: "-Xmx", ofLimit: "memory.allowedPercent"},
		"-Xms2g":                                                       {},
	} {
		for name, c := range map[string]*corev1.Container{
			"arguments":  {Args: strings.Fields(options)},
			"a variable": {Env: []corev1.EnvVar{{Name: "OPTIONS", Value: options}}},
		} {
			if got := HeapOfLimit(c); got != want.ofLimit {
				t.Errorf("%s in %s: %q takes a fraction of the limit, want %q", options, name, got, want.ofLimit)
			}
			if got := HeapAmount(c); got != want.fixed {
				t.Errorf("%s in %s: %q is a fixed amount, want %q", options, name, got, want.fixed)
			}
		}
	}
}
