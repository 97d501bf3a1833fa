package oracle

import (
	"errors"
	"flag"
	"io"
	"os"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

var (
	steps       = flag.Int("steps", 3000, "how many steps to compare")
	seed        = flag.Uint64("seed", 1, "the seed of the timelines")
	timeline    = flag.Int("timeline", -1, "compare this one alone")
	unexplained = flag.String("unexplained", "unexplained", "where snapshots of unexplained differences are written")
	attribute   = flag.Int("attribute", 20, "attribute the differences of one in so many timelines to divergences")
)

func init() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	// The default handlers slow down by a clock that the bubbles do not share.
	runtime.ErrorHandlers = nil
}

// shards share the timelines, whatever the number of cores, so that a seed always
// gives the same ones.
const shards = 4

// TestOracle compares Plimsoll with upstream: equal with every divergence off,
// and with them on different only where one of them says so.
func TestOracle(t *testing.T) {
	tallies := make([]*Tally, shards)
	t.Run("shards", func(t *testing.T) {
		for i := range tallies {
			tallies[i] = NewTally()
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				shard(t, tallies[i], uint64(i))
			})
		}
	})
	all := NewTally()
	for _, tally := range tallies {
		all.Add(tally)
	}
	for _, text := range all.Unexplained {
		t.Error(text)
	}
	all.Print(os.Stdout)
}

// shard compares every shards-th timeline, or the one that was asked for.
func shard(t *testing.T, tally *Tally, number uint64) {
	if *timeline >= 0 {
		if number == 0 {
			compare(t, tally, uint64(*timeline), true)
		}
		return
	}
	for ; tally.Steps < *steps/shards && len(tally.Unexplained) < 3; number += shards {
		compare(t, tally, number, number/shards%uint64(*attribute) == 0)
	}
}

func compare(t *testing.T, tally *Tally, number uint64, attribution bool) {
	t.Helper()
	line := Record(t, *seed, number)
	odd := line.Compare(t, tally)
	if odd < 0 && attribution {
		odd = line.Attribute(t, tally)
		if err := tally.branches(line); err != nil {
			t.Errorf("seed %d timeline %d: %v", *seed, number, err)
		}
	}
	if odd >= 0 {
		save(t, line, odd)
	}
}

// TestDifferencesAreNoticed: with every divergence on, Plimsoll does differ.
func TestDifferencesAreNoticed(t *testing.T) {
	differ := 0
	for number := range uint64(5) {
		line := Record(t, 1, number)
		for i, result := range line.play(t, divergence.Default) {
			if diff(&line.Upstream[i], &result) != "" {
				differ++
			}
		}
	}
	if differ == 0 {
		t.Error("no step differs")
	}
}

func save(t *testing.T, line *Timeline, step int) {
	t.Helper()
	path, err := line.Save(*unexplained, step)
	if err != nil {
		t.Error(err)
	}
	t.Logf("plimsoll evaluate replays %s", path)
}

// TestSnapshotsReplay: what would be written of an unexplained difference can be
// read and evaluated.
func TestSnapshotsReplay(t *testing.T) {
	line := Record(t, 1, 0)
	path, err := line.Save(t.TempDir(), len(line.Situations)-1)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, read, evaluator := snapshot.NewReader(file), 0, snapshot.NewEvaluator(divergence.None)
	for ; ; read++ {
		step, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := evaluator.Next(step); err != nil {
			t.Fatal(err)
		}
	}
	if read != len(line.Situations) {
		t.Errorf("%d steps were written, %d read", len(line.Situations), read)
	}
}
