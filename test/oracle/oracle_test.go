package oracle

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

var (
	steps       = flag.Int("steps", 3000, "how many steps to compare")
	seed        = flag.Uint64("seed", 1, "the seed of the timelines")
	timeline    = flag.Int("timeline", -1, "compare this one alone")
	unexplained = flag.String("unexplained", "unexplained", "where snapshots of unexplained differences are written")
	attribute   = flag.Int("attribute", 20, "attribute the differences of one in so many timelines to divergences")
)

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	// The default handlers slow down by a clock that the bubbles do not share.
	runtime.ErrorHandlers = nil
	m.Run()
}

// long is how many steps must reach every hard place, and shown is how often they must
// show each divergence.
const (
	long  = 500_000
	shown = 20
)

// shards share the timelines, whatever the number of cores, so that a seed always
// gives the same ones.
const shards = 4

// TestOracle compares Plimsoll with upstream: equal with every divergence off,
// and with them on different only where one of them says so.
func TestOracle(t *testing.T) {
	tallies := make([]*Tally, shards)
	defer report(time.Tick(10*time.Second), *steps)()
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
	all.Print(os.Stdout)
	for _, text := range all.Unexplained {
		t.Error(text)
	}
	if all.Steps < long {
		return
	}
	for _, place := range all.Unreached() {
		t.Errorf("a run of %d steps did not reach: %s", all.Steps, place)
	}
	for _, d := range divergence.All() {
		if d == divergence.SurgeWindow || d == divergence.OneDoubling {
			continue // about samples of kubelets and decisions between sync periods, which no timeline has
		}
		if n := all.Divergences[d]; n < shown {
			t.Errorf("a run of %d steps shows %s only %d times; give -attribute a smaller number", all.Steps, d, n)
		}
	}
}

// done counts the steps that were compared so far.
var done atomic.Int64

// report says how far it is, at each tick until it is stopped.
func report(ticks <-chan time.Time, of int) (stop func()) {
	end, began := make(chan struct{}), time.Now()
	go func() {
		for {
			select {
			case <-ticks:
				fmt.Fprintf(os.Stderr, "%8s  %d of %d steps\n", time.Since(began).Round(time.Second), done.Load(), of)
			case <-end:
				return
			}
		}
	}()
	return func() { close(end) }
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
	done.Add(int64(len(line.Situations)))
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

// TestSnapshotsReplay: what would be written of an unexplained difference is
// something that the program evaluates. That it decides the same is compared in
// every timeline that is attributed.
func TestSnapshotsReplay(t *testing.T) {
	line := Record(t, 1, 0)
	path, err := line.Save(t.TempDir(), len(line.Situations)-1)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "plimsoll")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", program, "./cmd/plimsoll")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program, "evaluate", "-f", path, "--divergences", "none", "-o",
		"json").Output()
	if err != nil {
		t.Fatal(err)
	}
	if read := bytes.Count(out, []byte("\n")); read != len(line.Situations) {
		t.Errorf("%d steps were written, plimsoll evaluate decided %d", len(line.Situations), read)
	}
}
