package realnode

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// TestSamples reads what a real kubelet answered.
func TestSamples(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.Open(filepath.Join(root, "internal", "collect", "kubelet", "text", "testdata", "kubelet-v1.37.1.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	samples, err := ParseSamples(text)
	if err != nil {
		t.Fatal(err)
	}
	name := ContainerName{"plimsoll-system", "plimsoll-controller-7c58467fd5-jhwjz", "controller"}
	i := slices.IndexFunc(samples, func(s Sample) bool { return s.ContainerName == name })
	if len(samples) != 8 || i < 0 {
		t.Fatalf("%d samples: %+v", len(samples), samples)
	}
	if s := samples[i]; !s.At.Equal(time.UnixMilli(1795253872300)) || s.CPUSeconds != 0.077214531 ||
		s.WorkingSetBytes < 1<<20 {
		t.Errorf("got %+v", s)
	}
}
