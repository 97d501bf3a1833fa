package quick

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/campaign"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// part matches the cases that are played: odd and even ones of each family but big, whose hundreds of pods would hide
// the results of all others in the sums.
var part = regexp.MustCompile("^(b[^i]|[^b]).*[013578]$")

// Config returns the configuration of the quick campaign.
func Config() (campaign.Config, error) {
	kubelets, err := campaign.ParseKubelets(campaign.KubeletNames()[0])
	return campaign.Config{Cases: part, Seeds: []uint64{1, 2, 3}, Kubelets: kubelets}, err
}

// Record has the sums of a run.
type Record struct {
	// Sums are by column.
	Sums map[string]Sum `json:"sums"`
}

// Sum is a sum of all plays in parts of upstream's, and how far above it a sum may be by chance.
type Sum struct {
	Ratio float64 `json:"ratio"`
	Noise float64 `json:"noise"`
}

// deviations is the number of standard errors of a ratio that counts as chance: two of the difference of two ratios,
// which is sqrt(2) as uncertain as one.
const deviations = 2 * math.Sqrt2

// Three decimals are recorded, so that no noise is smaller.
const thousandth, leastNoise = 1000, 0.001

// Of returns the record of results.
func Of(results *campaign.Results) Record {
	r := Record{Sums: map[string]Sum{}}
	for _, name := range campaign.Judged() {
		q := results.Ratio(name)
		r.Sums[name] = Sum{Ratio: rounded(q.Ratio), Noise: max(leastNoise, rounded(deviations*q.Error))}
	}
	return r
}

func rounded(v float64) float64 { return math.Round(v*thousandth) / thousandth }

// WorseThan returns the sums that are worse than those of an earlier record by more than chance.
func (r *Record) WorseThan(earlier *Record) []string {
	var worse []string
	for _, name := range campaign.Judged() {
		now, before := r.Sums[name], earlier.Sums[name]
		if most := before.Ratio + before.Noise; !(now.Ratio <= most+leastNoise/2) {
			worse = append(worse, fmt.Sprintf("%s: %.3f of upstream's, recorded is %.3f, and %.3f is chance", name, now.Ratio,
				before.Ratio, before.Noise))
		}
	}
	return worse
}

// Read reads a record.
func Read(path string) (*Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("recorded sums: %w", err)
	}
	r := &Record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("recorded sums in %s: %w", path, err)
	}
	return r, nil
}

// Write writes a record.
func (r *Record) Write(path string) error { return report.WriteJSON(path, r) }
