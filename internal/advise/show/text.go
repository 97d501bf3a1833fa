// Package show prints findings: as text, as JSON, and as SARIF for tools that show
// findings beside code.
package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/rules"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// indent is where texts of a finding stand.
const indent = 11

// Style is how findings are printed for people.
type Style struct {
	// Width is how many columns a line has; 0 breaks none.
	Width int
	// InColour has the levels in colours.
	InColour bool
}

// colours are those of the levels.
var colours = [...]output.Colour{rules.Advice: output.Cyan, rules.Warning: output.Yellow, rules.Error: output.BoldRed}

func (s *Style) level(level rules.Level) string {
	text := level.String()
	blanks := strings.Repeat(" ", len("warning ")-len(text))
	if s.InColour {
		text = colours[level].On(text)
	}
	return text + blanks
}

// Text writes the findings object by object, with the patches.
func Text(w io.Writer, report *rules.Report, style Style) error {
	width := style.Width
	var out strings.Builder
	var last string
	for _, f := range report.Findings {
		if key := f.Object.Key() + place(f.Object.Place, nil); key != last {
			if last != "" {
				out.WriteByte('\n')
			}
			fmt.Fprintf(&out, "%s\n", title(f.Object))
			last = key
		}
		writeFinding(&out, &f, &style)
	}
	if last != "" {
		out.WriteByte('\n')
	}
	out.WriteString(Summary(report))
	for _, u := range unexamined(report) {
		writeWrapped(&out, fmt.Sprintf("Not examined, as %s: %s.", u.why, strings.Join(u.names, ", ")), width, 0)
	}
	for _, s := range skips(report) {
		writeWrapped(&out, fmt.Sprintf("Not looked for, as %s: %s.", s.why, strings.Join(s.names, ", ")), width, 0)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// writeWrapped writes a text with so many blanks before it; further lines have two more where there are none.
func writeWrapped(out *strings.Builder, text string, width, indent int) {
	further := indent
	if indent == 0 {
		further = 2
	}
	fmt.Fprintf(out, "%*s%s\n", indent, "", output.Wrap(text, width, indent, further))
}

func title(o *objects.Object) string {
	namespace := o.NamedNamespace()
	if namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + namespace + "/" + o.Name
}

// place is the line in a file where a field stands; empty on a cluster.
func place(p objects.Place, field objects.Field) string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.LineOf(field))
}

func writeFinding(out *strings.Builder, f *rules.Finding, style *Style) {
	width := style.Width
	line := fmt.Sprintf("  %s %-32s %s", style.level(f.Rule.Level), f.Rule.Name, f.Field)
	if at := place(f.Object.Place, f.Field); at != "" {
		line += "  (" + at + ")"
	}
	fmt.Fprintln(out, output.Wrap(strings.TrimRight(line, " "), width, 0, indent))
	writeWrapped(out, f.Why, width, indent)
	if f.Remedy != "" {
		writeWrapped(out, f.Remedy, width, indent)
	}
	writeYAML(out, f.Snippet)
	if f.Patch == nil {
		return
	}
	switch command := f.Patch.Command(); {
	case command == "":
		writeYAML(out, f.Patch.YAML())
	case f.Patch.Create != nil:
		fmt.Fprintln(out, command) // a shell finds the end of the object where no blank precedes it
	default:
		fmt.Fprintf(out, "%*s%s\n", indent, "", output.WrapCommand(command, width, indent))
	}
}

func writeYAML(out *strings.Builder, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		fmt.Fprintf(out, "%*s%s\n", indent+2, "", line)
	}
}

// Summary counts the findings in a line.
func Summary(report *rules.Report) string {
	counts := map[rules.Level]int{}
	for _, f := range report.Findings {
		counts[f.Rule.Level]++
	}
	line, separator := "Nothing found", ": "
	if len(report.Unexamined) > 0 {
		line = "Nothing found in what was examined"
	}
	if len(report.Findings) > 0 {
		line = fmt.Sprintf("error: %d, warning: %d, advice: %d", counts[rules.Error], counts[rules.Warning],
			counts[rules.Advice])
		separator = "; "
	}
	if report.Autoscalers == 0 {
		line += separator + number(report.Workloads, "workload") + ", no autoscaler"
	}
	if report.Ignored > 0 {
		line += fmt.Sprintf("; annotations ignore %d", report.Ignored)
	}
	return line + ".\n"
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// skip is why some rules were not looked for, or some objects not examined.
type skip struct {
	why   string
	names []string
}

// group adds a name to those with the same cause.
func group(all []skip, why, name string) []skip {
	for i := range all {
		if all[i].why == why {
			all[i].names = append(all[i].names, name)
			return all
		}
	}
	return append(all, skip{why: why, names: []string{name}})
}

// skips groups the rules that were not looked for by why, in the order of rules.
func skips(report *rules.Report) []skip {
	var all []skip
	for _, s := range report.Skipped {
		all = group(all, s.Why, s.Rule.Name)
	}
	return all
}

// unexamined groups the objects that were not examined by why.
func unexamined(report *rules.Report) []skip {
	var all []skip
	for _, u := range report.Unexamined {
		name := title(u.Object)
		if u.Target != "" {
			name += " (" + u.Target + ")"
		}
		all = group(all, u.Why, name)
	}
	return all
}
