package usage

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
)

// columns is how many a terminal has.
const columns = 80

// TestGroups: help shows flags by what they are about, in the order of the groups, and lines that a terminal holds.
func TestGroups(t *testing.T) {
	cmd := &cobra.Command{Use: "run", Long: "Run runs.", Example: "  run --wide=1", Run: func(*cobra.Command, []string) {}}
	flags.AddGroup(cmd.Flags(), "Second by name", func(fs *pflag.FlagSet) {
		fs.Int("wide", 7, strings.Repeat("many words ", 30))
		fs.StringP("v", "v", "", "Its `LEVEL`.")
	})
	flags.AddGroup(cmd.Flags(), "First by name", func(fs *pflag.FlagSet) {
		fs.Bool("on", false, "Whether it is on.")
		fs.Bool("secret", false, "Nobody sees that.")
		fs.Lookup("secret").Hidden = true
	})
	Apply(cmd)
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--help"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	want := []string{"Examples:", "Second by name:\n  -v, --v LEVEL\n      Its LEVEL.\n  --wide int (default 7)\n      many words ",
		"\nFirst by name:\n  --on\n      Whether it is on.\n", "\nOther:\n  -h, --help\n"}
	at := 0
	for _, part := range want {
		next := strings.Index(out.String()[at:], part)
		if next < 0 {
			t.Fatalf("%q is missing, or in another place:\n%s", part, out.String())
		}
		at += next
	}
	if strings.Contains(out.String(), "secret") {
		t.Error("a hidden flag is shown")
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > columns {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}

// TestSharedFlagsLast: a command's own flags come before those that it shares with others and with kubectl, and long
// lines go on below where they began.
func TestSharedFlagsLast(t *testing.T) {
	cmd := &cobra.Command{
		Use: "run", Long: strings.Repeat("some words\n", 20) + "\n\n  a name    " + strings.Repeat("what it is ", 10),
		Example: "  # Why" + strings.Repeat(" and how", 12) + "\n  run --zone=" + strings.Repeat("a", 30) +
			" \\\n    --namespace=" + strings.Repeat("b", 30) + " -o json",
		Run: func(*cobra.Command, []string) {},
	}
	cmd.Flags().String("zone", "", "Where.")
	cmd.Flags().StringSlice("modes", []string{"both"}, "How.")
	genericclioptions.NewConfigFlags(true).AddFlags(cmd.Flags())
	flags.AddFinder(cmd.Flags(), &leader.Finder{})
	var prometheus flags.Prometheus
	prometheus.Add(cmd.Flags())
	prometheus.AddLoad(cmd.Flags())
	Apply(cmd)
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--help"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, part := range []string{
		"some words some words some words some words some words some words some words\n", "  a name    what", "\n            ",
		"  # Why and how", "\n  # how and", " \\\n    --namespace=", "\nFlags:\n",
		"--help", "--modes strings (default both)\n", "--zone string\n      Where.\n",
		"\nFlags about Plimsoll's controller:\n  --controller-address", "--controller-port",
		"\nFlags about Prometheus, for the load of the past:\n", "--history-rate-window", "--prometheus-address",
		"\nFlags of kubectl, about the cluster:\n", "--namespace",
	} {
		next := strings.Index(out.String()[at:], part)
		if next < 0 {
			t.Fatalf("%q is missing, or in another place:\n%s", part, out.String())
		}
		at += next
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > columns {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}
