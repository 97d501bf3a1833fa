// Package names writes sets of named switches as people do on a command line:
// none, default, or a list.
package names

import (
	"fmt"
	"slices"
	"strings"
)

// Names has the name of each switch; that of bit i stands at i. There are at
// most 63.
type Names []string

// All is the set of every switch.
func (n Names) All() uint64 { return 1<<len(n) - 1 }

// Format is "none", "default" for all, or the names, separated by commas.
func (n Names) Format(set uint64) string {
	switch set {
	case 0:
		return "none"
	case n.All():
		return "default"
	}
	var on []string
	for i, name := range n {
		if set&(1<<i) != 0 {
			on = append(on, name)
		}
	}
	return strings.Join(on, ",")
}

// Parse reads what Format writes; an empty text is the default. An unknown name
// is an error that lists the known ones.
func (n Names) Parse(text string) (uint64, error) {
	switch text {
	case "none":
		return 0, nil
	case "default", "":
		return n.All(), nil
	}
	var set uint64
	for name := range strings.SplitSeq(text, ",") {
		i := slices.Index(n, strings.TrimSpace(name))
		if i < 0 {
			return 0, fmt.Errorf("unknown divergence %q: known are none, default, %s", name, strings.Join(n, ", "))
		}
		set |= 1 << i
	}
	return set, nil
}
