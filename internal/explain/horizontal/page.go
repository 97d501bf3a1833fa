package horizontal

import (
	"fmt"
	"strings"
)

// Style is how the text is printed.
type Style struct {
	// Bold emphasizes the most important lines; nil leaves them as they are.
	Bold func(string) string
	// AllPods names all pods that do not count, not the first few of a group.
	AllPods bool
}

// page collects the lines of an explanation: labels in one column, text in the other.
type page struct {
	strings.Builder
	style Style
}

// LabelWidth is how many characters the labels have, behind two blanks; those of package vertical have as many.
const LabelWidth = 14

func (p *page) line(label, format string, args ...any) {
	fmt.Fprintf(p, "  %-*s %s\n", LabelWidth, label, fmt.Sprintf(format, args...))
}

// detail is a line under the one before.
func (p *page) detail(label, text string) { p.line("  "+label, "%s", text) }

// table writes rows with their columns in line, the last one as it is.
func (p *page) table(label string, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		var text strings.Builder
		for i, cell := range row[:len(row)-1] {
			fmt.Fprintf(&text, "%-*s  ", widths[i], cell)
		}
		p.line(label, "%s%s", text.String(), row[len(row)-1])
		label = ""
	}
}

// strong is a line that stands out.
func (p *page) strong(label, text string) {
	if p.style.Bold != nil {
		text = p.style.Bold(text)
	}
	p.line(label, "%s", text)
}
