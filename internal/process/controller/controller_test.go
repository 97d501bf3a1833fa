package controller

import (
	"strings"
	"testing"
)

// TestFieldManager: installations with different Leases have different names, which the
// API server takes.
func TestFieldManager(t *testing.T) {
	long := strings.Repeat("n", 63)
	for name, tt := range map[string]struct{ namespace, lease, want string }{
		"by default":          {"plimsoll-system", "plimsoll-controller", "plimsoll"},
		"another namespace":   {"team-a", "plimsoll-controller", "plimsoll/team-a"},
		"another name":        {"plimsoll-system", "second", "plimsoll/plimsoll-system/second"},
		"names that are long": {long, long, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := fieldManager(tt.namespace, tt.lease)
			if tt.want != "" && got != tt.want || len(got) > 128 {
				t.Errorf("%q of %d characters, want %q", got, len(got), tt.want)
			}
			if tt.want == "" && got == fieldManager(tt.namespace, tt.lease[1:]+"m") {
				t.Error("another Lease has the same name")
			}
		})
	}
}
