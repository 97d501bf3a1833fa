package quick

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/campaign"
)

var update = flag.Bool("update", false, "record the sums of this code")

// TestSums: the sums of the part are not worse than the recorded ones by more than chance.
func TestSums(t *testing.T) {
	c, err := Config()
	if err != nil {
		t.Fatal(err)
	}
	results, err := campaign.Measure(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	now, path := Of(results), filepath.Join("testdata", "sums.json")
	if *update {
		if err := now.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, worse := range now.WorseThan(recorded) {
		t.Error(worse)
	}
	if t.Failed() {
		t.Log("make campaign shows in which cases. To record the new sums: " +
			"go test -C internal/dev ./bench/campaign/quick -args -update")
		if err := results.WriteTables(os.Stdout, false); err != nil {
			t.Error(err)
		}
	}
}

func TestWorseThan(t *testing.T) {
	recorded := Record{Sums: map[string]Sum{}}
	for _, name := range campaign.Judged() {
		recorded.Sums[name] = Sum{Ratio: 0.8, Noise: 0.02}
	}
	if worse := recorded.WorseThan(&recorded); len(worse) > 0 {
		t.Errorf("worse than itself: %q", worse)
	}
	name := campaign.Judged()[0]
	for ratio, want := range map[float64]int{0.5: 0, 0.82: 0, 0.83: 1} {
		now := Record{Sums: map[string]Sum{}}
		for name, sum := range recorded.Sums {
			now.Sums[name] = sum
		}
		now.Sums[name] = Sum{Ratio: ratio}
		worse := now.WorseThan(&recorded)
		if len(worse) != want || want > 0 && !strings.HasPrefix(worse[0], name) {
			t.Errorf("%v of upstream's: %q", ratio, worse)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sums.json")
	if _, err := Read(path); err == nil {
		t.Error("a missing file is read")
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("half a record is read")
	}
}
