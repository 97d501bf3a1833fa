package vertical

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
	"github.com/plimsoll-dev/plimsoll/internal/process/kubelets"
)

// renamed are the defaults that are not upstream's: cAdvisor's labels have had these
// names since Kubernetes 1.16.
var renamed = map[string]string{"container-name-label": "container", "container-pod-name-label": "pod"}

// Upstream's flags, by name, type and default, and nothing more than what is listed
// here.
func TestRecommenderFlags(t *testing.T) {
	facts, err := os.ReadFile("testdata/recommender-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&standaloneRecommender{}).add(fs)
	kubelet := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddKubelets(kubelet, &kubelets.Config{})
	known := map[string]bool{}
	for line := range strings.Lines(string(facts)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind, value, _ := strings.Cut(rest, " "); name != "#" {
			known[name] = true
			isUpstreams(t, fs.Lookup(name), name, kind, value)
		}
	}
	if len(known) < 60 {
		t.Fatalf("the table has %d flags", len(known))
	}
	var ours []string
	fs.VisitAll(func(f *pflag.Flag) {
		if !known[f.Name] && !f.Hidden && kubelet.Lookup(f.Name) == nil {
			ours = append(ours, f.Name)
		}
	})
	if diff := cmp.Diff([]string{"count-cpu-contention", "divergences", "logging-format", "v", "vertical-conflict"},
		ours); diff != "" {
		t.Errorf("Plimsoll's own flags: (-want +got)\n%s", diff)
	}
}

// isUpstreams checks a flag's type and default.
func isUpstreams(t *testing.T, f *pflag.Flag, name, kind, value string) {
	t.Helper()
	if f == nil {
		t.Errorf("--%s is missing", name)
		return
	}
	kinds := map[string][]string{"float": {"float64"}, "mapStringBool": {"stringToString"}, "int": {"int", "int64"}}[kind]
	if kinds == nil {
		kinds = []string{kind}
	}
	if today, isOther := renamed[name]; isOther {
		value = today
	}
	if got := strings.Trim(f.DefValue, "[]"); got != value && (kind != "quantity" || got != "0") {
		t.Errorf("--%s is %q by default, want %q", name, got, value)
	}
	if !slices.Contains(kinds, f.Value.Type()) {
		t.Errorf("--%s is a %s, want a %s", name, f.Value.Type(), kind)
	}
}

func parsedRecommender(t *testing.T, args ...string) (*standaloneRecommender, error) {
	t.Helper()
	f := &standaloneRecommender{}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	err := f.validate()
	return f, err
}

func TestRecommenderFlagsMean(t *testing.T) {
	f, err := parsedRecommender(t, "--target-cpu-percentile=0.5", "--recommendation-upper-bound-memory-percentile=0.99",
		"--oom-bump-up-ratio=2",
		"--memory-aggregation-interval=1h", "--container-recommendation-max-allowed-memory=2Gi",
		"--feature-gates=PerVPAConfig=true",
		"--ignored-vpa-object-namespaces=a,b", "--pod-recommendation-min-cpu-millicores=10", "--v=4", "--logtostderr=true",
		"--divergences=none",
		"--vertical-conflict=allow", "--storage=checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	cfg := f.Config()
	p := cfg.Policy
	if p.Percentiles[vertical.CPU].Target != 0.5 || p.Percentiles[vertical.Memory].Upper != 0.99 ||
		p.Usage.BumpUpRatio != 2 ||
		p.Usage.Interval != time.Hour ||
		p.MaxAllowed != (vertical.Amounts{}.With(vertical.Memory, 2<<30).In(vertical.Memory, vertical.BinarySI)) ||
		p.PodMin[vertical.CPU] != 10 ||
		p.Usage.Divergences != 0 {
		t.Errorf("%+v", p)
	}
	if cfg.NoOverrides || cfg.SkipsConflicts || !slices.Equal(cfg.Ignored, []string{"a", "b"}) || cfg.Name != "default" {
		t.Errorf("%+v", cfg)
	}
}

func TestRecommenderFlagsThatCannotWork(t *testing.T) {
	for _, arg := range []string{
		"--recommender-interval=0s", "--storage=influx", "--update-worker-count=0", "--target-cpu-percentile=1.5",
		"--oom-bump-up-ratio=0.5",
		"--recommendation-margin-fraction=NaN", "--round-memory-bytes=0", "--container-recommendation-max-allowed-cpu=-1",
		"--divergences=unknown",
		"--vertical-conflict=fight", "--use-external-metrics=true", "--kube-api-qps=0", "--feature-gates=Unknown=true",
		"--cpu-histogram-decay-half-life=0s", "--memory-aggregation-interval-count=0",
	} {
		name, _, _ := strings.Cut(arg, "=")
		if _, err := parsedRecommender(t, arg); err == nil || !strings.Contains(err.Error(), name+"=") {
			t.Errorf("%s: %v", arg, err)
		}
	}
	if _, err := parsedRecommender(t, "--storage=prometheus", "--username=a", "--prometheus-bearer-token=b"); err == nil {
		t.Error("two ways to authenticate")
	}
	if f, err := parsedRecommender(t, "--storage=prometheus", "--history-length=2d"); err != nil ||
		f.Config().History == nil {
		t.Errorf("Prometheus is not asked: %v", err)
	}
	if _, err := parsedRecommender(t, "--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b"); err == nil {
		t.Error("a namespace and others to ignore")
	}
}
