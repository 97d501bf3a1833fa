package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// inLine is text in one line. What is found in clusters is anybody's, and could otherwise be read as further findings.
var inLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// WriteText writes a line for each finding, and below it why it matters and what to do.
func WriteText(w io.Writer, report *Report) error {
	var out strings.Builder
	for i := range report.Findings {
		f := &report.Findings[i]
		line := f.What
		if f.Object != "" {
			line = f.Object + ": " + f.What
		}
		fmt.Fprintf(&out, "%-8s  %-18s  %s\n", f.Level, f.Check, inLine.Replace(line))
		for _, detail := range [][2]string{{"why", f.Why}, {"do", f.Do}, {"", f.Command}} {
			if detail[1] != "" {
				fmt.Fprintf(&out, "%30s%-4s %s\n", "", detail[0], inLine.Replace(detail[1]))
			}
		}
	}
	fmt.Fprintf(&out, "problems: %d, warnings: %d, unknown: %d, ok: %d.\n", report.Count(Problem),
		report.Count(Warning), report.Count(Unknown), report.Count(OK))
	_, err := io.WriteString(w, out.String())
	return err
}

// Output is what -o json and -o yaml print.
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
