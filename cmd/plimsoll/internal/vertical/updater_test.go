package vertical

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// upstreamTypes are upstream's names of types that pflag calls otherwise.
var upstreamTypes = strings.NewReplacer("float64", "float")

// Each flag of upstream's updater is there, with its default, and no other but
// Plimsoll's own and those of the log.
func TestUpdaterHasUpstreamsFlags(t *testing.T) {
	text, err := os.ReadFile("testdata/updater-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			want = append(want, strings.TrimSpace(line))
		}
	}
	own := []string{"divergences", "vertical-conflict", "v", "max-eviction-percent", "max-eviction-window"}
	var got []string
	fs := pflag.NewFlagSet("updater", pflag.ContinueOnError)
	new(standaloneUpdater).add(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(own, f.Name) {
			got = append(got,
				strings.TrimSpace(strings.Join([]string{f.Name, upstreamTypes.Replace(f.Value.Type()), f.DefValue}, " ")))
		}
	})
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-upstream +plimsoll updater:\n%s", diff)
	}
}

// What upstream's manifests give, with the flags of its log, is taken.
func TestUpdaterTakesUpstreamsManifest(t *testing.T) {
	t.Setenv("NAMESPACE", "vpa")
	f := &standaloneUpdater{}
	fs := pflag.NewFlagSet("updater", pflag.ContinueOnError)
	f.add(fs)
	err := fs.Parse([]string{
		"--v=4", "--stderrthreshold=info", "--leader-elect=true", "--leader-elect-resource-namespace=vpa", "--min-replicas=1",
		"--feature-gates=InPlace=true,PerVPAConfig=true", "--divergences=none",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.validate(); err != nil {
		t.Fatal(err)
	}
	cfg := f.Config()
	if cfg.Lease.Namespace != "vpa" || cfg.Defaults.MinReplicas != 1 || f.set != divergence.None ||
		cfg.Interval != time.Minute {
		t.Errorf("the flags mean %+v", cfg)
	}
	if want := (observevertical.Gates{InPlace: true, PerVPAConfig: true}); cfg.Gates != want {
		t.Errorf("the gates are %+v, want %+v", cfg.Gates, want)
	}
}

func TestUpdaterRefusesFlags(t *testing.T) {
	for flag, why := range map[string]string{
		"--updater-interval=0s":                                      "updater-interval",
		"--concurrent-cpu-startup-boost-syncs=0":                     "must be greater than 0",
		"--admission-controller-status-lease-timeout=0s":             "lease-timeout",
		"--vertical-conflict=maybe":                                  "skip or allow",
		"--divergences=what":                                         "unknown divergence",
		"--max-eviction-percent=101":                                 "from 0 to 100",
		"--max-eviction-window=0s":                                   "must be greater than 0",
		"--eviction-tolerance=-1":                                    "not negative",
		"--leader-elect --leader-elect-resource-lock=other":          "must be leases",
		"--vpa-object-namespace=a --ignored-vpa-object-namespaces=b": "together",
	} {
		f := &standaloneUpdater{}
		fs := pflag.NewFlagSet("updater", pflag.ContinueOnError)
		f.add(fs)
		if err := fs.Parse(strings.Fields(flag)); err != nil {
			t.Fatal(err)
		}
		if err := f.validate(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s is answered with %v, want %q", flag, err, why)
		}
	}
	if err := new(gateFlag).Set("InPlace=perhaps"); err == nil {
		t.Error("a gate that is neither on nor off is taken")
	}
}

// The flags' defaults are the core's, by which plimsoll explain judges pods.
func TestUpdaterDefaults(t *testing.T) {
	var f UpdaterFlags
	f.Add(pflag.NewFlagSet("", pflag.ContinueOnError), "")
	got := f.Config().Defaults
	got.Divergences = divergence.Default // a flag of another set
	if diff := cmp.Diff(update.DefaultPolicy(), got); diff != "" {
		t.Errorf("(-core +flags):\n%s", diff)
	}
}
