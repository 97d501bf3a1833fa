package campaign

import (
	"fmt"
	"io"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// tables are all that are printed.
func (r *Results) tables() []*report.Table {
	tables := []*report.Table{r.familyTable()}
	if len(r.Sides) > len([]Side{upstream, plimsoll}) {
		tables = append(tables, r.ablationTable())
	}
	return append(tables, r.sumTable())
}

// WriteTables prints the results as aligned text, or as Markdown for the documentation.
func (r *Results) WriteTables(out io.Writer, isMarkdown bool) error {
	if err := r.writeWorse(out); err != nil {
		return err
	}
	for _, table := range r.tables() {
		if isMarkdown {
			if _, err := fmt.Fprintf(out, "\n%s\n\n%s", table.Title, table.Markdown()); err != nil {
				return fmt.Errorf("print results: %w", err)
			}
			continue
		}
		if _, err := fmt.Fprintln(out); err != nil {
			return fmt.Errorf("print results: %w", err)
		}
		if _, err := table.WriteTo(out); err != nil {
			return fmt.Errorf("print results: %w", err)
		}
	}
	return nil
}
