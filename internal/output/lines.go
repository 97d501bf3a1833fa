package output

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Line is one of them.
type Line struct {
	// Label is the line's subject, after two blanks for each level below the first; empty if the line continues the
	// subject of the line before.
	Label string `json:"label"`
	// Text is the line's text.
	Text string `json:"text"`
	// IsStrong says that it is of those that are read first, and IsHeading that it has no label and reaches over both
	// columns.
	IsStrong  bool `json:"strong,omitempty"`
	IsHeading bool `json:"heading,omitempty"`
}

// labelWidth is how many characters the labels have, behind two blanks.
const labelWidth = 14

// Page collects lines. The zero value is empty.
type Page struct{ all []Line }

// All are the lines so far.
func (p *Page) All() []Line { return p.all }

// Heading adds a line that reaches over both columns.
func (p *Page) Heading(format string, args ...any) {
	p.all = append(p.all, Line{Text: fmt.Sprintf(format, args...), IsHeading: true})
}

// Title adds a heading that stands out.
func (p *Page) Title(text string) {
	p.all = append(p.all, Line{Text: text, IsHeading: true, IsStrong: true})
}

// Add adds a line.
func (p *Page) Add(label, format string, args ...any) {
	p.all = append(p.all, Line{Label: label, Text: fmt.Sprintf(format, args...)})
}

// Detail adds a line about a part of what the line before is about.
func (p *Page) Detail(label, text string) { p.Add("  "+label, "%s", text) }

// Strong adds a line that stands out.
func (p *Page) Strong(label, text string) {
	p.all = append(p.all, Line{Label: label, Text: text, IsStrong: true})
}

// Table adds rows with their columns in line, the last one as it is. The first row has the label.
func (p *Page) Table(label string, rows [][]string) {
	var widths []int
	for _, row := range rows {
		widths = append(widths, make([]int, max(0, len(row)-len(widths)))...)
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		var text strings.Builder
		last := len(row) - 1
		for i, cell := range row[:last] {
			fmt.Fprintf(&text, "%-*s  ", widths[i], cell)
		}
		p.Add(label, "%s%s", text.String(), row[last])
		label = ""
	}
}

var inLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// AddLeftOut adds a line that counts the lines that are not printed, by their labels. Without such lines it adds none.
func (p *Page) AddLeftOut(lines []Line) {
	if len(lines) == 0 {
		return
	}
	var labels []string
	counts := map[string]int{}
	for _, line := range lines {
		label := strings.TrimRight(line.Label, " 0123456789")
		if counts[label]++; counts[label] == 1 {
			labels = append(labels, label)
		}
	}
	for i, label := range labels {
		if n := counts[label]; n == 1 {
			labels[i] = "1 " + label
		} else {
			labels[i] = fmt.Sprintf("%d %ss", n, label)
		}
	}
	p.Add("left out", "%s; --verbose prints all", strings.Join(labels, ", "))
}

// Labelled is a text behind a label of at most nine characters. Lines after the first begin below the text.
func Labelled(label, text string, width int) string {
	line := fmt.Sprintf("  %-9s ", label)
	return line + Wrap(text, width, len(line), len(line)) + "\n"
}

// Form has the format of printed lines.
type Form struct {
	// Width is the number of columns of a line; 0 breaks no lines.
	Width int
	// IsColoured says that lines which stand out are bold.
	IsColoured bool
}

// WriteLines prints lines. The rest of a broken line is indented to the start of its text.
func WriteLines(w io.Writer, all []Line, form Form) error {
	const further = 2 // below a heading
	var text strings.Builder
	for line := range slices.Values(all) {
		// A name with a line break, which an API may have, makes no line of its own.
		line.Label, line.Text = inLine.Replace(line.Label), inLine.Replace(line.Text)
		if line.IsStrong && form.IsColoured {
			line.Text = Bold.On(line.Text)
		}
		if line.IsHeading {
			line.Text = Wrap(line.Text, form.Width, 0, further)
		} else {
			label := fmt.Sprintf("  %-*s ", labelWidth, line.Label)
			line.Text = label + Wrap(line.Text, form.Width, columns(label), len("  ")+labelWidth+len(" "))
		}
		text.WriteString(strings.TrimRight(line.Text, " ") + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
