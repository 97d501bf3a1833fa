package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// inLine is text in one line. What is found in clusters is anybody's, and could otherwise be read as further findings.
var inLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// Style has the format of a report for people.
type Style struct {
	// Width is the number of columns of a line; 0 breaks no lines.
	Width int
	// InColour has the levels in colours.
	InColour bool
}

// The columns of a report.
const (
	levelWidth, checkWidth = 8, 18
	// textColumn is where the texts begin, commandColumn where commands do, which are long.
	textColumn    = levelWidth + 2 + checkWidth + 2
	commandColumn = levelWidth + 2
)

// colours has the colour of each level.
var colours = [...]output.Colour{
	OK: output.Green, Unknown: output.Cyan, Warning: output.Yellow, Problem: output.BoldRed,
}

func (s *Style) level(level Level) string {
	text := fmt.Sprintf("%-*s", levelWidth, level)
	if s.InColour {
		return colours[level].On(text)
	}
	return text
}

// WriteText writes a line for each finding, and below it why it matters and what to do.
func WriteText(w io.Writer, report *Report, style Style) error {
	var out strings.Builder
	for i := range report.Findings {
		f := &report.Findings[i]
		line := f.What
		if f.Object != "" {
			line = f.Object + ": " + f.What
		}
		fmt.Fprintf(&out, "%s  %-*s  %s\n", style.level(f.Level), checkWidth, f.Check,
			output.Wrap(inLine.Replace(line), style.Width, textColumn, textColumn))
		for _, detail := range [][2]string{{"why", f.Why}, {"do", f.Do}} {
			const label = 5
			if detail[1] != "" {
				fmt.Fprintf(&out, "%*s%-*s%s\n", textColumn, "", label, detail[0],
					output.Wrap(inLine.Replace(detail[1]), style.Width, textColumn+label, textColumn+label))
			}
		}
		if f.Command != "" {
			command := output.WrapCommand(inLine.Replace(f.Command), style.Width, commandColumn)
			fmt.Fprintf(&out, "%*s%s\n", commandColumn, "", command)
		}
	}
	out.WriteString(summary(report))
	_, err := io.WriteString(w, out.String())
	return err
}

// summary counts the findings of each level that there is.
func summary(report *Report) string {
	var counts []string
	for level, name := range []string{Problem: "problems", Warning: "warnings", Unknown: "unknown", OK: "ok"} {
		if n := report.Count(Level(level)); n > 0 {
			counts = append(counts, fmt.Sprintf("%s: %d", name, n))
		}
	}
	if len(counts) == 0 {
		return "nothing is wrong.\n"
	}
	slices.Reverse(counts) // the worst first
	return strings.Join(counts, ", ") + ".\n"
}

// Output is the report that -o json and -o yaml print.
type Output struct {
	// Worst is the worst level of all findings: ok, unknown, warning or problem.
	Worst    string          `json:"worst"`
	Findings []FindingOutput `json:"findings"`
}

// FindingOutput is one of them.
type FindingOutput struct {
	Check   string `json:"check"`
	Level   string `json:"level"`
	Object  string `json:"object,omitempty"`
	What    string `json:"what"`
	Why     string `json:"why,omitempty"`
	Do      string `json:"do,omitempty"`
	Command string `json:"command,omitempty"`
}

func outputOf(report *Report) *Output {
	out := &Output{Worst: report.Worst().String(), Findings: []FindingOutput{}}
	for i := range report.Findings {
		f := &report.Findings[i]
		out.Findings = append(out.Findings, FindingOutput{
			Check: f.Check, Level: f.Level.String(), Object: f.Object, What: f.What, Why: f.Why, Do: f.Do, Command: f.Command,
		})
	}
	return out
}

// WriteJSON writes the report as one document.
func WriteJSON(w io.Writer, report *Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(outputOf(report))
}

// WriteYAML writes the same as YAML.
func WriteYAML(w io.Writer, report *Report) error {
	text, err := yaml.Marshal(outputOf(report))
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte("---\n"), text...))
	return err
}
