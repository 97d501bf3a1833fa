package controller

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/process/controller"
)

// otherDefaults are those that are not upstream's. cAdvisor's labels have had other names since Kubernetes 1.16; the
// rest are kube-controller-manager's, as the process decides HPAs too.
var otherDefaults = map[string]string{
	"container-name-label": "container", "container-pod-name-label": "pod", "address": ":8080",
	"kube-api-qps": "0", "kube-api-burst": "0",
	"leader-elect": "true", "leader-elect-resource-name": "", "leader-elect-resource-namespace": "plimsoll-system",
}

// otherTypes are the types here of upstream's flags.
var otherTypes = map[string][]string{
	"float": {"float64", "float32", "int"}, "mapStringBool": {"stringToString"}, "int": {"int", "int64"},
}

// refused are flags of upstream's that there are none of: with them upstream reads metrics that Plimsoll does not.
var refused = []string{"external-metrics-cpu-metric", "external-metrics-memory-metric", "use-external-metrics"}

// TestUpstreamsFlags: the flags of upstream's recommender and updater are there, by their names, with their defaults.
func TestUpstreamsFlags(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&Flags{}).Add(fs)
	count := 0
	for _, component := range []string{controller.Recommender, controller.Updater} {
		facts, err := os.ReadFile("testdata/" + component + "-flags.txt")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(facts)) {
			name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			kind, value, _ := strings.Cut(rest, " ")
			if name == "#" || slices.Contains(refused, name) {
				continue
			}
			count++
			isUpstreams(t, fs.Lookup(name), name, kind, value)
		}
	}
	if count < 80 {
		t.Errorf("the tables have %d flags", count)
	}
}

// isUpstreams checks a flag's type and default.
func isUpstreams(t *testing.T, f *pflag.Flag, name, kind, value string) {
	t.Helper()
	if f == nil {
		t.Errorf("--%s is missing", name)
		return
	}
	if other, isOther := otherDefaults[name]; isOther {
		value = other
	}
	if got := strings.Trim(f.DefValue, "[]"); got != value && (kind != "quantity" || got != "0") {
		t.Errorf("--%s is %q by default, want %q", name, got, value)
	}
	if !slices.Contains(append(otherTypes[kind], kind), f.Value.Type()) {
		t.Errorf("--%s is a %s, want a %s", name, f.Value.Type(), kind)
	}
}

// TestUpstreamsManifests: what they give is taken, with the flags of upstream's log.
func TestUpstreamsManifests(t *testing.T) {
	t.Setenv("NAMESPACE", "vpa")
	f, err := parsed(t, "--components=updater", "--v=4", "--stderrthreshold=info", "--leader-elect=true",
		"--leader-elect-resource-namespace=vpa", "--min-replicas=1", "--address=:8943", "--profiling",
		"--feature-gates=InPlace=true,PerVPAConfig=true,InPlaceOrRecreate=true", "--vertical-divergences=none")
	if err != nil {
		t.Fatal(err)
	}
	cfg := f.Config()
	if u := &cfg.Updater; u.Lease.Namespace != "vpa" || u.Defaults.MinReplicas != 1 || u.Interval != time.Minute ||
		u.Gates != (observevertical.Gates{InPlace: true, PerVPAConfig: true}) {
		t.Errorf("the flags mean %+v", u)
	}
	if cfg.MetricsAddress != ":8943" || cfg.VerticalDivergences != divergence.None ||
		cfg.LeaderElection.ResourceName != "plimsoll-updater" {
		t.Errorf("the flags mean %+v", cfg)
	}
}

// TestIgnoredFlags: what upstream's manifests may give and what changes nothing is known, for the log.
func TestIgnoredFlags(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&Flags{}).Add(fs)
	if err := fs.Parse([]string{"--memory-saver", "--logtostderr=true", "--min-checkpoints=3", "--v=2"}); err != nil {
		t.Fatal(err)
	}
	got := flags.Ignored(fs)
	slices.Sort(got)
	if want := []string{"--logtostderr", "--memory-saver", "--min-checkpoints"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestComponents: processes that run different components side by side elect their leaders apart.
func TestComponents(t *testing.T) {
	for components, lease := range map[string]string{
		"horizontal,recommender,updater": "plimsoll-controller", "horizontal": "plimsoll-controller",
		"recommender": "plimsoll-recommender", "updater": "plimsoll-updater", "updater,recommender": "plimsoll-recommender",
		"updater,horizontal": "plimsoll-controller",
	} {
		f, err := parsed(t, "--components="+components)
		if err != nil || f.Config().LeaderElection.ResourceName != lease {
			t.Errorf("%s: %s, %v; want %s", components, f.Config().LeaderElection.ResourceName, err, lease)
		}
	}
	if f, err := parsed(t); err != nil || !slices.Equal(f.Config().Components, controller.Components()) {
		t.Errorf("by default %q runs, %v", f.Config().Components, err)
	}
	for _, bad := range []string{"--components=", "--components=vertical", "--components=updater,recomender"} {
		if _, err := parsed(t, bad); err == nil || !strings.Contains(err.Error(), "components") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestVerticalDefaults: the flags' defaults are the core's, by which plimsoll explain judges.
func TestVerticalDefaults(t *testing.T) {
	f, err := parsed(t)
	if err != nil {
		t.Fatal(err)
	}
	cfg := f.Config()
	if diff := cmp.Diff(recommend.DefaultPolicy(), cfg.Recommender.Policy,
		cmp.AllowUnexported(vertical.Amounts{})); diff != "" {
		t.Errorf("recommender (-core +flags):\n%s", diff)
	}
	updates := cfg.Updater.Defaults
	updates.Divergences = divergence.Default // of another flag
	if diff := cmp.Diff(update.DefaultPolicy(), updates); diff != "" {
		t.Errorf("updater (-core +flags):\n%s", diff)
	}
}

func TestRecommenderFlagsMean(t *testing.T) {
	f, err := parsed(t, "--target-cpu-percentile=0.5", "--recommendation-upper-bound-memory-percentile=0.99",
		"--oom-bump-up-ratio=2", "--memory-aggregation-interval=1h", "--container-recommendation-max-allowed-memory=2Gi",
		"--feature-gates=PerVPAConfig=true", "--ignored-vpa-object-namespaces=a,b",
		"--pod-recommendation-min-cpu-millicores=10", "--vertical-divergences=none", "--vertical-conflict=allow",
		"--storage=checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	cfg := f.Config().Recommender
	p := cfg.Policy
	if p.Percentiles[vertical.CPU].Target != 0.5 || p.Percentiles[vertical.Memory].Upper != 0.99 ||
		p.Usage.BumpUpRatio != 2 || p.Usage.Interval != time.Hour ||
		p.MaxAllowed != (vertical.Amounts{}.With(vertical.Memory, 2<<30).In(vertical.Memory, vertical.BinarySI)) ||
		p.PodMin[vertical.CPU] != 10 || p.Usage.Divergences != 0 {
		t.Errorf("%+v", p)
	}
	if cfg.NoOverrides || cfg.SkipsConflicts || !slices.Equal(cfg.Ignored, []string{"a", "b"}) || cfg.Name != "default" {
		t.Errorf("%+v", cfg)
	}
	if f, err = parsed(t, "--storage=prometheus", "--history-length=2d"); err != nil ||
		f.Config().Recommender.History == nil {
		t.Errorf("Prometheus is not asked: %v", err)
	}
}

func TestVerticalFlagsThatCannotWork(t *testing.T) {
	for args, want := range map[string]string{
		"--recommender-interval=0s": "", "--storage=influx": "", "--update-worker-count=0": "",
		"--target-cpu-percentile=1.5": "", "--oom-bump-up-ratio=0.5": "", "--recommendation-margin-fraction=NaN": "",
		"--round-memory-bytes=0": "", "--container-recommendation-max-allowed-cpu=-1": "",
		"--vertical-divergences=unknown": "", "--vertical-conflict=fight": "skip or allow",
		"--feature-gates=Unknown=true": "", "--feature-gates=InPlace=perhaps": "",
		"--cpu-histogram-decay-half-life=0s": "", "--memory-aggregation-interval-count=0": "",
		"--storage=prometheus --username=a --prometheus-bearer-token=b": "storage",
		"--vpa-object-namespace=a --ignored-vpa-object-namespaces=b":    "cannot be used with",
		"--updater-interval=0s":                                        "",
		"--updater-concurrent-cpu-startup-boost-syncs=0":               "must be greater than 0",
		"--updater-admission-controller-status-lease-timeout=0s":       "",
		"--updater-max-eviction-percent=101":                           "from 0 to 100",
		"--updater-max-eviction-window=0s":                             "must be greater than 0",
		"--eviction-tolerance=-1":                                      "updater-eviction-tolerance=-1",
		"--components=updater --leader-elect-resource-lock=configmaps": "must be leases",
	} {
		if want == "" {
			want, _, _ = strings.Cut(strings.TrimPrefix(args, "--"), "=")
		}
		if _, err := parsed(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
