package present

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

// between separates two columns.
const between = "   "

// column is a run in the table.
type column struct {
	// head is the name of the setting, in as many lines as it needs.
	head, cells []string
	width       int
}

// table is the scores side by side, in lines of at most width characters. Where not all runs have room beside each
// other, it has several blocks with the same rows, as few as possible.
func table(runs []*simulate.Run, chosen []briefRow, width int) string {
	var names column
	for _, r := range chosen {
		names.cells = append(names.cells, r.name)
		names.width = max(names.width, utf8.RuneCountInString(r.name))
	}
	room := width - names.width
	var best [][]column
	isBestCut := false
	for _, mayBreak := range headBreaks {
		columns, isCut := make([]column, len(runs)), false
		for i, run := range runs {
			parts, hasCut := headParts(run.Setting.Name, mayBreak, room-len(between))
			columns[i], isCut = columnOf(run, chosen, parts), isCut || hasCut
		}
		found := groups(columns, room)
		if best == nil || len(found) < len(best) || len(found) == len(best) && isBestCut && !isCut {
			best, isBestCut = found, isCut
		}
	}
	blocks := make([]string, len(best))
	for i, group := range best {
		blocks[i] = block(names, group)
	}
	return strings.Join(blocks, "\n")
}

// headBreaks say whether a setting's name may be broken before a character, which is behind another one: nowhere,
// between the name's parts, before a value or a field of a field, within the name of a field. A later one is used where
// it saves blocks.
var headBreaks = []func(behind, r rune) bool{
	func(_, _ rune) bool { return false },
	func(behind, _ rune) bool { return behind == ' ' },
	func(behind, r rune) bool { return behind == ' ' || strings.ContainsRune("=.[", r) },
	func(behind, r rune) bool {
		return behind == ' ' || strings.ContainsRune("=.[", r) || unicode.IsUpper(r)
	},
}

// headParts are the parts of a name between which it may be broken. None has more than most characters: longer ones are
// cut.
func headParts(name string, mayBreak func(behind, r rune) bool, most int) (parts []string, isCut bool) {
	part, n, behind := "", 0, rune(0)
	for _, r := range name {
		mayBegin := n > 0 && mayBreak(behind, r)
		isCut = isCut || !mayBegin && n == most
		if mayBegin || n == most {
			parts, part, n = append(parts, part), "", 0
		}
		part, n, behind = part+string(r), n+1, r
	}
	return append(parts, part), isCut
}

func columnOf(run *simulate.Run, chosen []briefRow, head []string) column {
	var c column
	for _, r := range chosen {
		c.cells = append(c.cells, r.text(&run.Score))
		c.width = max(c.width, utf8.RuneCountInString(c.cells[len(c.cells)-1]))
	}
	for _, part := range head {
		c.width = max(c.width, utf8.RuneCountInString(strings.TrimRight(part, " ")))
	}
	line := ""
	for _, part := range head {
		if utf8.RuneCountInString(strings.TrimRight(line+part, " ")) > c.width {
			c.head, line = append(c.head, strings.TrimRight(line, " ")), ""
		}
		line += part
	}
	c.head = append(c.head, line)
	return c
}

// groups are the columns in as few groups as have room each.
func groups(columns []column, room int) (found [][]column) {
	for n := 1; n <= len(columns); n++ {
		found = slices.Collect(slices.Chunk(columns, (len(columns)+n-1)/n))
		if !slices.ContainsFunc(found, func(group []column) bool { return widthOf(group) > room }) {
			break
		}
	}
	return found
}

func widthOf(group []column) (width int) {
	for i := range group {
		width += len(between) + group[i].width
	}
	return width
}

// block is columns beside the names of the rows. They end at the right, and the lines of their heads at the bottom.
func block(names column, group []column) string {
	heads := 0
	for i := range group {
		heads = max(heads, len(group[i].head))
	}
	var text strings.Builder
	for line := range heads + len(names.cells) {
		name := names.line(line, heads)
		text.WriteString(name + blanks(names.width, name))
		for i := range group {
			cell := group[i].line(line, heads)
			text.WriteString(between + blanks(group[i].width, cell) + cell)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// line is a line of a column in a block whose heads have as many lines.
func (c *column) line(n, heads int) string {
	switch {
	case n >= heads:
		return c.cells[n-heads]
	case n < heads-len(c.head):
		return ""
	}
	return c.head[n-heads+len(c.head)]
}

func blanks(width int, beside string) string {
	return strings.Repeat(" ", width-utf8.RuneCountInString(beside))
}
