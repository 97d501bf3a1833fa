package report

import (
	"fmt"
	"io"
	"slices"
)

// Mebibyte is a mebibyte in bytes.
const Mebibyte = 1 << 20

// Row is a line of a table that compares subjects of a kind.
type Row[S any] struct {
	Name string
	Of   func(*S) Spread
}

// Compare lays subjects side by side, a column for each.
func Compare[S any](title string, subjects []S, name func(*S) string, rows []Row[S]) *Table {
	table := &Table{Title: title, Head: []string{""}}
	for i := range subjects {
		table.Head = append(table.Head, name(&subjects[i]))
	}
	for _, row := range rows {
		cells := []any{row.Name}
		for i := range subjects {
			cells = append(cells, row.Of(&subjects[i]))
		}
		table.Add(cells...)
	}
	return table
}

// MeasuredRows returns the rows for which a subject has values.
func MeasuredRows[S any](subjects []S, rows ...Row[S]) []Row[S] {
	return slices.DeleteFunc(rows, func(row Row[S]) bool {
		return !slices.ContainsFunc(subjects, func(s S) bool { return len(row.Of(&s).Runs) > 0 })
	})
}

// Over returns the spread of a number over several runs.
func Over[R any](runs []R, of func(*R) float64) Spread {
	values := make([]float64, len(runs))
	for i := range runs {
		values[i] = of(&runs[i])
	}
	return Of(values...)
}

// WriteNotes writes the table and, below it, what may make its numbers doubtful.
func (t *Table) WriteNotes(w io.Writer, notes []string) error {
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	return WriteNotes(w, notes)
}

// WriteNotes writes what may make the numbers above it doubtful.
func WriteNotes(w io.Writer, notes []string) error {
	for _, note := range notes {
		if _, err := fmt.Fprintln(w, "\nNote: "+note); err != nil {
			return fmt.Errorf("print the notes: %w", err)
		}
	}
	return nil
}

// Times is the spread of the values in another unit.
func (s Spread) Times(factor float64) Spread {
	values := slices.Clone(s.Runs)
	for i := range values {
		values[i] *= factor
	}
	return Of(values...)
}
