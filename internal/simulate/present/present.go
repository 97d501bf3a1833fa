package present

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
)

// Text writes what was simulated, and the scores side by side.
func Text(out io.Writer, s *simulate.Scene, runs []*simulate.Run) error {
	w := &s.Workload
	most := "no more than " + milli(w.CPULimitMilli)
	if w.CPULimitMilli <= 0 {
		most = fmt.Sprintf("without a limit: no more than %s here", milli(w.CPURequestMilli*w.Burst))
	}
	lines := []string{
		fmt.Sprintf("load    %s, %v of it, peak %.4g, burstiness %.4g, seed %d", s.Load.Name, s.For, s.Load.Peak,
			s.Burstiness, s.Seed),
		fmt.Sprintf("pods    %s: %s requested, %s; running after %v, ready %v later", w.Name, milli(w.CPURequestMilli), most,
			w.StartAfter, w.ReadyAfter),
		fmt.Sprintf("each    serves %.4g of the load at 100 %% of its request, of which the target takes %.0f %%",
			s.PodCapacity, 100*s.Target),
	}
	if s.Supply.CPUMilli > 0 {
		lines = append(lines, fmt.Sprintf("nodes   %d of %s, another one after %v",
			s.Supply.Nodes, milli(s.Supply.CPUMilli), s.Supply.Delay))
	}
	_, err := fmt.Fprintf(out, "%s\n\n%s", strings.Join(lines, "\n"), Table(runs))
	return err
}

func milli(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) + "m" }

// Table is the scores side by side.
func Table(runs []*simulate.Run) string {
	cells := [][]string{{""}}
	for _, run := range runs {
		cells[0] = append(cells[0], run.Setting.Name)
	}
	for _, r := range rows {
		line := []string{r.name}
		for _, run := range runs {
			line = append(line, r.text(r.value(&run.Score), &run.Score))
		}
		cells = append(cells, line)
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for _, line := range cells {
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				text.WriteString(cell + pad)
				continue
			}
			text.WriteString("   " + pad + cell)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// document is the JSON form.
type document struct {
	Load        string   `json:"load"`
	Seconds     float64  `json:"seconds"`
	Seed        uint64   `json:"seed"`
	Burstiness  float64  `json:"burstiness"`
	PodCapacity float64  `json:"podCapacity"`
	Target      float64  `json:"target"`
	Runs        []result `json:"runs"`
}

type result struct {
	Name    string      `json:"name"`
	As      string      `json:"as"`
	Score   score.Score `json:"score"`
	Changes []change    `json:"changes"`
}

type change struct {
	AtSeconds float64 `json:"atSeconds"`
	From      int32   `json:"from"`
	To        int32   `json:"to"`
	Surge     bool    `json:"surge,omitempty"`
}

// JSON writes scores and every change of the count.
func JSON(out io.Writer, s *simulate.Scene, runs []*simulate.Run) error {
	d := document{
		Load: s.Load.Name, Seconds: s.For.Seconds(), Seed: s.Seed, Burstiness: s.Burstiness, PodCapacity: s.PodCapacity,
		Target: s.Target,
	}
	for _, run := range runs {
		r := result{Name: run.Setting.Name, As: string(run.Setting.Side), Score: run.Score, Changes: []change{}}
		for _, c := range run.Changes {
			r.Changes = append(r.Changes, change{AtSeconds: c.At.Seconds(), From: c.From, To: c.To, Surge: c.Surge})
		}
		d.Runs = append(d.Runs, r)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(d)
}

// CSV writes a line for each run.
func CSV(out io.Writer, _ *simulate.Scene, runs []*simulate.Run) error {
	w := csv.NewWriter(out)
	head := []string{"name", "as"}
	for _, r := range rows {
		head = append(head, r.field)
	}
	if err := w.Write(head); err != nil {
		return err
	}
	for _, run := range runs {
		line := []string{run.Setting.Name, string(run.Setting.Side)}
		for _, r := range rows {
			line = append(line, strconv.FormatFloat(r.value(&run.Score), 'g', 8, 64))
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
