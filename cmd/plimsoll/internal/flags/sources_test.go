package flags

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/process/sources"
)

func parsed(args ...string) (*sources.Config, error) {
	c := &sources.Config{}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddSources(fs, c)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	var errs Errors
	ValidateSources(c, errs.Check)
	return c, errs.Join()
}

func TestSources(t *testing.T) {
	c, err := parsed()
	if err != nil || c.ReadsSecrets || len(c.Servers) > 0 || len(c.PodCIDRs) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = parsed("--metric-server=mimir.example.com:443=team-a,team-b", "--metric-server", "[2001:db8::7]:9090",
		"--pod-endpoint-allowed-cidr=127.0.0.0/8", "--pod-endpoint-allowed-cidr=fd00::/8", "--metric-secrets")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Servers) != 2 || c.Servers[0].String() != "mimir.example.com:443=team-a,team-b" ||
		c.Servers[1].Host != "2001:db8::7" || len(c.PodCIDRs) != 2 || !c.ReadsSecrets {
		t.Errorf("%+v", c)
	}
}

func TestInvalidSources(t *testing.T) {
	for _, arg := range []string{
		"--metric-server=prometheus:9090", "--metric-server=mimir.example.com", "--metric-server=169.254.169.254:80",
		"--pod-endpoint-allowed-cidr=127.0.0.1", "--pod-endpoint-allowed-cidr=127.0.0.1/8",
		"--pod-endpoint-allowed-cidr=::ffff:127.0.0.0/104", "--pod-endpoint-interval=0s",
		"--pod-endpoint-max-scrapes-per-second=0", "--pod-endpoint-max-scrapes-per-second=NaN",
		"--pod-endpoint-max-cpu=+Inf", "--pod-endpoint-max-cpu=-1", "--pod-endpoint-max-concurrent=0",
		"--metrics-api-timeout=0s", "--concurrent-metrics-api-requests=0",
	} {
		name, _, _ := strings.Cut(arg, "=")
		if c, err := parsed(arg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %+v, %v", arg, c, err)
		}
	}
}
