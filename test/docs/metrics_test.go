package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// A series is what the page has of one: the fields of a row.
type series struct{ name, kind, labels, help string }

// registered are the collectors that a part of the program registers.
type registered struct {
	prometheus.Registerer
	collectors []prometheus.Collector
}

func newRegistered() *registered { return &registered{Registerer: prometheus.NewRegistry()} }

// Register implements prometheus.Registerer.
func (r *registered) Register(c prometheus.Collector) error {
	err := r.Registerer.Register(c)
	if err == nil {
		r.collectors = append(r.collectors, c)
	}
	return err
}

// description matches a prometheus.Desc, which has no other way to its parts.
var description = regexp.MustCompile(
	`^Desc\{fqName: "([^"]+)", help: (".*"), constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}\}$`)

// all reads the collectors, in the order of the names.
func (r *registered) all(t *testing.T) []series {
	t.Helper()
	var all []series
	for _, c := range r.collectors {
		kind := kindOf(t, c)
		descriptions := make(chan *prometheus.Desc, 100)
		c.Describe(descriptions)
		close(descriptions)
		for d := range descriptions {
			parts := description.FindStringSubmatch(d.String())
			if parts == nil {
				t.Fatalf("a description in another form: %s", d)
			}
			var help string
			if _, err := fmt.Sscanf(parts[2], "%q", &help); err != nil {
				t.Fatalf("%s: %v", d, err)
			}
			all = append(all, series{parts[1], kind, labelsOf(parts[3], parts[4]), help})
		}
	}
	slices.SortFunc(all, func(a, b series) int { return strings.Compare(a.name, b.name) })
	return all
}

// labelsOf are the names of the labels, with the constant ones first.
func labelsOf(constant, variable string) string {
	var names []string
	for pair := range strings.SplitSeq(constant, ",") {
		if name, _, has := strings.Cut(pair, "="); has {
			names = append(names, name)
		}
	}
	if variable != "" {
		names = append(names, strings.Split(variable, ",")...)
	}
	return strings.Join(names, ", ")
}

// computed is the type of the series that collectors of Plimsoll's own make when they are scraped.
const computed = "gauge"

func kindOf(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	switch c := c.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec:
		return "gauge"
	case *prometheus.HistogramVec:
		return "histogram"
	case prometheus.Metric:
		return kindOfMetric(t, c)
	default:
		// What there is before the first object shows whether that is so.
		metrics := make(chan prometheus.Metric, 1000)
		c.Collect(metrics)
		close(metrics)
		for m := range metrics {
			if kind := kindOfMetric(t, m); kind != computed {
				t.Errorf("%s is a %s", m.Desc(), kind)
			}
		}
		return computed
	}
}

func kindOfMetric(t *testing.T, m prometheus.Metric) string {
	t.Helper()
	var values dto.Metric
	if err := m.Write(&values); err != nil {
		t.Fatal(err)
	}
	switch {
	case values.GetCounter() != nil:
		return "counter"
	case values.GetGauge() != nil:
		return "gauge"
	case values.GetHistogram() != nil:
		return "histogram"
	}
	t.Fatalf("%s has another type", m.Desc())
	return ""
}

// TestMetrics: docs/reference/metrics.md has what the parts of the program register.
func TestMetrics(t *testing.T) {
	t.Parallel()
	b := generated("Metrics", "Each series, as the program registers it. [Monitoring](../monitoring.md) says which of them "+
		"to watch, and what to do about alerts.",
		"the series that the program registers")
	b.WriteString("\nNames that begin with `plimsoll_` are Plimsoll's own, the others are upstream's. A histogram has the " +
		"series `_bucket`, `_sum` and `_count`. All processes have the series of Go's runtime (`go_…`) and of the process " +
		"(`process_…`) too, and plimsoll-controller those of controller-runtime.\n")
	names := map[string]bool{}
	for _, part := range parts(t) {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n| series | type | labels | |\n|---|---|---|---|\n", part.title, part.where)
		for _, s := range part.series {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(s.name), s.kind, s.labels, cell(s.help))
			names[s.name] = true
		}
	}
	compare(t, "metrics.md", b.String())
	checkMonitoring(t, names)
	checkSources(t)
}

// checkMonitoring: docs/monitoring.md and config/monitoring name no series that is not there.
func checkMonitoring(t *testing.T, names map[string]bool) {
	t.Helper()
	own := regexp.MustCompile(`\b(plimsoll|vpa_[a-z]+|horizontal_pod_autoscaler_controller)_[a-z0-9_]*[a-z0-9]\b`)
	files := []string{"docs/monitoring.md", "config/monitoring/alerts.yaml", "config/monitoring/dashboard.json"}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(repository(t), filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range own.FindAllString(string(text), -1) {
			base := name
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if !names[name] && !names[base] && !isPrefix(name, names) {
				t.Errorf("%s has %s, which nothing registers", file, name)
			}
		}
	}
}

// isPrefix: a page may name a group of series by what they begin with.
func isPrefix(name string, names map[string]bool) bool {
	for of := range names {
		if strings.HasPrefix(of, name+"_") {
			return true
		}
	}
	return false
}

// checkSources: parts has each package that makes series.
func checkSources(t *testing.T) {
	t.Helper()
	makes := regexp.MustCompile(`prometheus\.New(Gauge|Counter|Histogram|Summary|Desc)`)
	root := repository(t)
	found := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if makes.Match(text) {
			relative, _ := filepath.Rel(root, file)
			found[path.Dir(filepath.ToSlash(relative))] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder := range found {
		if !slices.Contains(sources, folder) && !strings.HasPrefix(folder, "internal/dev/") {
			t.Errorf("%s makes series that docs/reference/metrics.md does not have: add it to parts", folder)
		}
	}
	for _, folder := range sources {
		if !found[folder] {
			t.Errorf("%s makes no series", folder)
		}
	}
}
