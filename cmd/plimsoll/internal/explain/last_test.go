package explain

import (
	"bytes"
	"strings"
	"testing"
)

// TestLastIsChecked: what --last cannot show is refused before anything is read.
func TestLastIsChecked(t *testing.T) {
	for args, want := range map[string]string{
		"vpa/web --last=1h":             "no load is recorded of a vpa",
		"hpa/web --last=400h":           "want 10s to 360h",
		"hpa/web --last=-1h":            "want 10s to 360h",
		"hpa/web --last=1s":             "want 10s to 360h",
		"hpa/web --last=1h --save=file": "leave out --from and --save",
		"--last=1h --from=file":         "leave out --from and --save",
		"--last=1h":                     "name the object to explain",
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
