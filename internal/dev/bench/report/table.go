package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is rows of text under a head. The first column is flush left, the others flush right.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// Add adds a row. Cells are printed by their String method, numbers with three significant digits.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		switch value := cell.(type) {
		case float64:
			row[i] = Number(value)
		default:
			row[i] = fmt.Sprint(value)
		}
	}
	t.Rows = append(t.Rows, row)
}

// WriteTo implements io.WriterTo.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	var text strings.Builder
	if t.Title != "" {
		text.WriteString(t.Title + "\n\n")
	}
	widths := t.widths()
	if len(t.Head) > 0 {
		writeRow(&text, t.Head, widths)
		rules := make([]string, len(t.Head))
		for i := range rules {
			rules[i] = strings.Repeat("-", widths[i])
		}
		writeRow(&text, rules, widths)
	}
	for _, row := range t.Rows {
		writeRow(&text, row, widths)
	}
	written, err := io.WriteString(w, text.String())
	if err != nil {
		return int64(written), fmt.Errorf("print the table: %w", err)
	}
	return int64(written), nil
}

// Markdown is the table as Markdown, numbers to the right; the title is left out.
func (t *Table) Markdown() string {
	widths := t.widths()
	var text strings.Builder
	writeMarkdownRow(&text, t.Head, widths)
	for i, width := range widths {
		if i == 0 {
			text.WriteString("|" + strings.Repeat("-", width+2))
		} else {
			text.WriteString("|" + strings.Repeat("-", width+1) + ":")
		}
	}
	text.WriteString("|\n")
	for _, row := range t.Rows {
		writeMarkdownRow(&text, row, widths)
	}
	return text.String()
}

func writeMarkdownRow(text *strings.Builder, row []string, widths []int) {
	for i, cell := range row {
		space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i == 0 {
			text.WriteString("| " + cell + space + " ")
		} else {
			text.WriteString("| " + space + cell + " ")
		}
	}
	text.WriteString("|\n")
}

func (t *Table) widths() []int {
	var widths []int
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func writeRow(text *strings.Builder, row []string, widths []int) {
	var line strings.Builder
	for i, cell := range row {
		space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i == 0 {
			line.WriteString(cell + space)
			continue
		}
		line.WriteString("  " + space + cell)
	}
	text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

var _ io.WriterTo = (*Table)(nil)
