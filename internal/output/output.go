// Package output writes what commands print: columns and lines with labels for people, documents for programs, commands
// to paste into a shell, and what a forecast would have done on each day.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// JSONLine writes a value as one line of JSON.
func JSONLine(w io.Writer, value any) error { return encode(w, value, "") }

// JSON writes a value as an indented document.
func JSON(w io.Writer, value any) error { return encode(w, value, "  ") }

// encode leaves <, > and & as they are: no command's output is part of a web page.
func encode(w io.Writer, value any, indent string) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// YAML writes a value as a document of a stream.
func YAML(w io.Writer, value any) error {
	text, err := yaml.Marshal(value)
	if err == nil {
		_, err = w.Write(append([]byte("---\n"), text...))
	}
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return nil
}

// Columns puts rows of as many cells each into columns: the first and the last to the left, those between, which are
// numbers, to the right.
func Columns(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		line := fmt.Sprintf("  %-*s", widths[0], row[0])
		last := len(row) - 1
		for i := 1; i < last; i++ {
			line += fmt.Sprintf("  %*s", widths[i], row[i])
		}
		text.WriteString(strings.TrimRight(line+"  "+row[last], " ") + "\n")
	}
	return text.String()
}
