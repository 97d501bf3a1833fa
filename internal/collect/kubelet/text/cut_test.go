package text_test

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/text"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
)

var containers = text.Of(text.ContainerCPU, text.ContainerMemory, text.ContainerStart)

// The text before the cut is the same however it arrives, and has each sample that is wanted.
func TestCutKeepsWantedSamples(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		whole := kubelettest.Filled(rapid.IntRange(1, 9).Draw(t, "pods"), rapid.IntRange(1, 3).Draw(t, "containers"),
			start).Text(start.Add(time.Hour))
		cut, end, found := text.Cut{Families: containers}, 0, false
		for arrived := 0; arrived < len(whole) && !found; {
			arrived = min(len(whole), arrived+rapid.IntRange(1, 3000).Draw(t, "piece"))
			end, found = cut.In(whole[:arrived])
		}
		if !found {
			t.Fatal("no end was found in a kubelet's whole text")
		}
		if all, some := samples(t, whole), samples(t, whole[:end]); all != some {
			t.Fatalf("%d samples in the whole text, %d before the cut", all, some)
		}
		if !bytes.HasPrefix(whole[end:], []byte("# TYPE container_swap")) {
			t.Fatalf("the text was cut before %.40q", whole[end:])
		}
	})
}

func samples(t *rapid.T, from []byte) (n int) {
	p := text.Lines(containers, 0)
	for p.Reset(page.Text, from); p.Next(""); n++ {
	}
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// A kubelet that could not gather its statistics writes no family of containers; its error is at the end.
func TestNoCutBeforeAnError(t *testing.T) {
	failed := kubelettest.Node{Failed: true}
	whole := failed.Text(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	cut := text.Cut{Families: containers}
	if end, found := cut.In(whole); found {
		t.Errorf("cut at %d of %q", end, whole)
	}
}

func TestNoCutWhileOneIsMissing(t *testing.T) {
	whole := []byte("# TYPE x gauge\nx 1\n# TYPE container_cpu_usage_seconds_total counter\n# TYPE " +
		"node_cpu_usage_seconds_total counter\n" +
		"# TYPE container_memory_working_set_bytes gauge\n# TYPE y gauge\ny 1\n# TYPE container_start_time_seconds gauge\n")
	cut := text.Cut{Families: containers}
	if end, found := cut.In(whole); found {
		t.Errorf("cut at %d, before the last family came", end)
	}
}
