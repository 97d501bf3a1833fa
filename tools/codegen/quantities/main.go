// Command quantities bounds the quantities of CustomResourceDefinitions that controller-gen has written.
//
// The API server stores the quantities of custom resources as they are written. A length, and at most two digits of an
// exponent, keep them readable: internal/quantity says why, and has the same bounds. No pattern matches an empty text;
// the message of minLength says so.
//
// What the rule beside a quantity says of its sign is in the pattern too, because Kubernetes 1.32 refuses a rule that
// reads the text: it counts as one of three megabytes, whatever maxLength says.
//
//	go run -C tools/codegen ./quantities FILE.yaml...
package main

import (
	"fmt"
	"os"
	"strings"
)

// written is the pattern that controller-gen gives a quantity.
const written = `pattern: ^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))` +
	`(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

const suffix = `(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`

// The patterns by the message of the rule beside them; others may have any sign.
const (
	anySign = `pattern: ^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))` + suffix

	notNegative = "message: must be greater than or equal to 0"
	noSign      = `pattern: ^\+?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))` + suffix

	positive = "message: must be positive"
	notZero  = `pattern: ^\+?(([0-9]*[1-9][0-9]*(\.[0-9]*)?)|([0-9]*\.[0-9]*[1-9][0-9]*))` + suffix
)

func main() {
	for _, file := range os.Args[1:] {
		if err := rewrite(file); err != nil {
			fmt.Fprintln(os.Stderr, "quantities:", err)
			os.Exit(1)
		}
	}
}

func rewrite(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the definition: %w", err)
	}
	if err := os.WriteFile(file, []byte(bound(string(content))), 0o600); err != nil { // the file keeps its mode
		return fmt.Errorf("write the definition: %w", err)
	}
	return nil
}

func bound(definition string) string {
	lines := strings.Split(definition, "\n")
	var out []string
	for i, line := range lines {
		key := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(key)]
		if key != written {
			out = append(out, line)
			continue
		}
		out = append(out, indent+"maxLength: 64", indent+"minLength: 1", indent+pattern(lines[i+1:], indent))
	}
	return strings.Join(out, "\n")
}

// pattern is the one for the rule among the keys of a quantity that follow its pattern.
func pattern(following []string, indent string) string {
	for _, line := range following {
		key, isWithin := strings.CutPrefix(line, indent)
		switch strings.TrimLeft(key, " -") {
		case notNegative:
			return noSign
		case positive:
			return notZero
		}
		if isOfQuantity := strings.HasPrefix(key, "x-kubernetes-") || strings.HasPrefix(key, "- ") ||
			strings.HasPrefix(key, " "); !isWithin || !isOfQuantity {
			break
		}
	}
	return anySign
}
