package nodeagent

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestFlags(t *testing.T) {
	for name, test := range map[string]struct{ args, wrong string }{
		"none":                     {"", ""},
		"of version 1 in a folder": {"--cgroup-directory=/host/cgroup --kubelet-cgroup-root=/kubelet --v=1", ""},
		"no address":               {"--listen-address=", "listen-address"},
		"no tree":                  {"--cgroup-directory=", "cgroup-directory"},
		"no authority":             {"--client-ca-file=", "client-ca-file"},
		"no token":                 {"--token-file=", "token-file"},
		"another format":           {"--logging-format=xml", "logging-format"},
	} {
		f := &Flags{}
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.Add(fs)
		if err := fs.Parse(strings.Fields(test.args)); err != nil {
			t.Fatal(err)
		}
		err := f.Complete()
		if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), "--"+test.wrong+"=") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
