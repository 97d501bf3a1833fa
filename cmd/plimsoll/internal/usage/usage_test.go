package usage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
)

// command is one with flags of each kind; what it returns is the error.
func command(err error) *cobra.Command {
	root := &cobra.Command{Use: "plimsoll", SilenceErrors: true, SilenceUsage: true}
	cmd := &cobra.Command{Use: "explain", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return err }}
	fs := cmd.Flags()
	fs.String("token", "", "")
	fs.Bool("watch", false, "")
	fs.StringP("output", "o", "text", "")
	fs.String("divergences", "default", "")
	fs.Duration("interval", time.Second, "")
	flags.AddValues(fs, "output", flags.Values{All: []string{"text", "json", "yaml"}})
	flags.AddValues(fs, "divergences", flags.Values{All: []string{"none", "surge-window", "stable-window"}, IsList: true})
	root.AddCommand(cmd, &cobra.Command{Use: "evaluate", Args: cobra.MaximumNArgs(1), Run: func(*cobra.Command, []string) {}})
	Apply(root)
	return root
}

// TestErrors: whatever cannot work is printed in one form, with the nearest that can.
func TestErrors(t *testing.T) {
	var checks flags.Errors
	checks.Check(false, "divergences", "none,surge-windw", "unknown divergence")
	refused := fmt.Errorf("listing pods: %w", &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api", Err: syscall.ECONNREFUSED})
	for name, tt := range map[string]struct {
		args string
		err  error
		want string
		code int
	}{
		"command":     {"explian", nil, "error: plimsoll has no command \"explian\"\n  next  did you mean explain?\n", 2},
		"odd command": {"zzz", nil, "error: plimsoll has no command \"zzz\"\n  next  plimsoll --help\n", 2},
		"flag": {"explain --ouptut=json", nil,
			"error: plimsoll explain has no flag --ouptut\n  next  did you mean --output?\n", 2},
		"short flag with a secret": {"explain -ts3cret", nil,
			"error: plimsoll explain has no flag -t\n  next  plimsoll explain --help\n", 2},
		"no value": {"explain --interval", nil,
			"error: --interval needs a value\n  next  --interval=DURATION\n", 2},
		"no duration": {"explain --interval=1x", nil,
			"error: --interval=1x\n  why   want a duration, such as 30s or 5m\n  next  plimsoll explain --help\n", 2},
		"no boolean": {"explain --watch=maybe", nil,
			"error: --watch=maybe\n  why   want true or false\n  next  plimsoll explain --help\n", 2},
		"argument": {"explain web", nil,
			"error: plimsoll explain takes no argument: \"web\"\n  next  plimsoll explain --help\n", 2},
		"arguments": {"evaluate a b", nil,
			"error: plimsoll evaluate: accepts at most 1 arg(s), received 2\n  next  plimsoll evaluate --help\n", 2},
		"value": {"explain", cmderror.OneOf("output", "jsn", "text", "json", "yaml"),
			"error: --output: \"jsn\"\n  why   want text, json or yaml\n  next  did you mean json?\n", 2},
		"value in a list": {"explain", checks.Join(),
			"error: --divergences=none,surge-windw\n  why   unknown divergence\n  next  did you mean surge-window?\n", 2},
		"failure": {"explain", errors.New("boom"), "error: boom\n", 1},
		"file": {"explain", fmt.Errorf("--usage: %w", &fs.PathError{Op: "stat", Path: "nope.yaml", Err: fs.ErrNotExist}),
			"error: --usage: there is no file or folder nope.yaml\n", 1},
		"file among others": {"explain", errors.Join(&fs.PathError{Op: "stat", Path: "a", Err: fs.ErrNotExist},
			errors.New("boom")), "error: there is no file or folder a\nerror: boom\n", 1},
		"file of another": {"explain", &fs.PathError{Op: "open", Path: "its.yaml", Err: fs.ErrPermission},
			"error: you may not open its.yaml\n", 1},
		"secret": {"explain --token=s3cret", errors.New("the token s3cret is wrong"), "error: the token REDACTED is wrong\n", 1},
		"connection": {"explain", refused, "error: listing pods: the API server at 10.0.0.1:6443 refuses the connection\n" +
			"  next  is the cluster running, and is the server of the kubeconfig right? kubectl config view --minify shows " +
			"which cluster is meant\n", 1},
	} {
		root := command(tt.err)
		root.SetArgs(strings.Fields(tt.args))
		root.SetOut(io.Discard)
		cmd, err := root.ExecuteC()
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		err = Finish(cmd, err)
		var out strings.Builder
		cmderror.Print(&out, err, cmd.CommandPath()+" --help", Secrets(cmd))
		if out.String() != tt.want || cmderror.ExitStatus(err) != tt.code {
			t.Errorf("%s: exit status %d\n%s\nwant\n%s", name, cmderror.ExitStatus(err), out.String(), tt.want)
		}
	}
}

// TestWrapError: the lines of an error fit, and those that go on are indented.
func TestWrapError(t *testing.T) {
	const text = "error: the API server refuses the connection\n  why   nobody listens there today\n  next  see kubectl\n"
	const want = `error: the API server refuses
       the connection
  why   nobody listens there
        today
  next  see kubectl
`
	if got := wrapError(text, 30); got != want {
		t.Errorf("\n%s", got)
	}
	if got := wrapError(text, 0); got != text {
		t.Errorf("\n%s", got)
	}
}
