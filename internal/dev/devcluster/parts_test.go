package devcluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithFlagsReplacesByName(t *testing.T) {
	got := withFlags([]string{"--controllers=*,-a", "--v=1", "--profiling"},
		[]string{"--controllers=*", "--profiling=false"})
	want := []string{"--v=1", "--controllers=*", "--profiling=false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}
