package vertical

import (
	"fmt"
	"io"
	"os"
	"testing"
	"text/tabwriter"
)

// row is the result of one comparison.
type row struct {
	part string
	// compared are inputs; equal were those that both sides answered alike.
	compared, equal int
	// aside are left out or equal but for a named exception, in words.
	aside string
}

// summary has a row for each comparison that ran to its end. Tests run one after the other.
var summary []row

func TestMain(m *testing.M) {
	code := m.Run()
	if *historyShard < 0 && len(summary) > 0 {
		if err := printSummary(os.Stdout, code == 0); err != nil {
			code = 1
		}
	}
	os.Exit(code)
}

func printSummary(w io.Writer, passed bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nPlimsoll beside upstream 1.8.1, divergences off\tcompared\tequal\tset aside")
	for _, r := range summary {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", r.part, r.compared, r.equal, r.aside)
	}
	if !passed {
		fmt.Fprintln(table, "there are unexplained differences, or places that nothing came to: see above")
	}
	return table.Flush()
}
