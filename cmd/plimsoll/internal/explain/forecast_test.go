package explain

import (
	"bytes"
	"strings"
	"testing"
)

// TestForecastIsChecked: what --forecast cannot show is refused before anything is read.
func TestForecastIsChecked(t *testing.T) {
	for args, want := range map[string]string{
		"vpa/web --forecast":                                        "a vpa has none",
		"hpa/web --forecast --last=1h":                              "leave out --last",
		"hpa/web --forecast --save=file":                            "leave out --from and --save",
		"--forecast --from=file":                                    "leave out --from and --save",
		"hpa/web --prometheus-address=http://x":                     "go with --forecast",
		"hpa/web --startup-time=1m":                                 "go with --forecast",
		"hpa/web --forecast --startup-time=2h":                      "--startup-time=2h0m0s",
		"hpa/web --forecast --history-length=1m":                    "--history-length=1m",
		"hpa/web --forecast --history-length=1y":                    "--history-length=1y",
		"hpa/web --forecast --prometheus-address=x --password=x":    "--password goes with --username",
		"hpa/web --forecast --prometheus-address=http://x/\x7f":     "prometheus-address",
		"hpa/web --forecast --prometheus-address=http://x -o=plain": "--output",
	} {
		cmd := Command()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append(strings.Fields(args), "--server=http://127.0.0.1:1"))
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
