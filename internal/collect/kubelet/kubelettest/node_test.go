package kubelettest_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
)

var update = flag.Bool("update", false, "write the golden files")

// TestText fixes the format of the text, on which tests of the parser depend.
func TestText(t *testing.T) {
	start := time.Date(2026, 11, 20, 11, 0, 0, 123456789, time.UTC)
	node := kubelettest.Filled(2, 2, start)
	node.Pods[1].Containers[1].Start = time.Time{}
	got := node.Text(start.Add(time.Hour))
	failing := kubelettest.Node{Failed: true}
	got = append(got, "\n"...)
	got = append(got, failing.Text(start)...)

	const golden = "testdata/node.txt"
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
