package podendpoint

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/counter"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// object is an autoscaler with metrics of its target's pods.
type object struct {
	source *Source
	key    observe.Key
	// name is the key's text.
	name string

	// mu guards the following, and the pages and their targets with the exceptions noted there.
	mu    sync.Mutex
	pages []*podPage
	// series counts the series in the histories of its targets.
	series int
}

// wanted is a metric to read from a page. It is immutable.
type wanted struct {
	page *podPage
	spec sources.PodEndpoint
	want page.Want
	// since is when the metric was set.
	since time.Time
}

// subscribe adds a metric to its page.
func (s *Source) subscribe(key observe.Key, spec *sources.PodEndpoint) *wanted {
	s.mu.Lock()
	o := s.objects[key]
	if o == nil {
		o = &object{source: s, key: key, name: key.String()}
		s.objects[key] = o
	}
	s.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.pageAtLocked(spec.Page())
	m := &wanted{page: p, spec: *spec, want: wantOf(spec), since: time.Now()}
	p.setMetrics(append(slices.Clone(p.metrics), m))
	for _, t := range p.targets {
		t.histories = append(t.histories, m.newHistory())
	}
	return m
}

// pageAtLocked returns the page at that place; it makes a missing one.
func (o *object) pageAtLocked(place sources.PodEndpoint) *podPage {
	for _, p := range o.pages {
		if p.place == place {
			return p
		}
	}
	p := o.source.newPage(o, place)
	o.pages = append(o.pages, p)
	return p
}

// unsubscribe removes a metric from its page, and the page with its last metric.
func (s *Source) unsubscribe(m *wanted) {
	p, o := m.page, m.page.object
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(p.metrics, m)
	p.setMetrics(slices.Concat(p.metrics[:i], p.metrics[i+1:]))
	for _, t := range p.targets {
		t.histories = slices.Delete(t.histories, i, i+1)
	}
	if len(p.metrics) > 0 {
		return
	}
	p.end()
	o.pages = slices.DeleteFunc(o.pages, func(other *podPage) bool { return other == p })
	if len(o.pages) == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.objects, o.key)
	}
}

// reportingLocked returns the number of targets with samples in one round.
func (o *object) reportingLocked() int {
	n := 0
	for _, p := range o.pages {
		n += p.reporting
	}
	return n
}

func (m *wanted) newHistory() counter.History {
	config := counter.Config{Kind: counter.Gauge, IsAbsentZero: m.spec.IsNullZero, Aggregate: m.spec.Aggregate,
		Window: m.window()}
	if m.spec.IsRate {
		config.Kind = counter.Rate
	}
	return counter.New(config)
}

func (m *wanted) window() time.Duration { return cmp.Or(m.spec.Window, averaging.StableWindow) }

func wantOf(spec *sources.PodEndpoint) page.Want {
	want := page.Want{Name: spec.Metric}
	for _, r := range spec.Selector.Requirements() {
		want.Selector = append(want.Selector, page.Requirement{
			Label: r.Label, Operator: operators[r.Operator], Values: spellings(r.Label, r.Values),
		})
	}
	return want
}

// spellings returns the values of a label, and for the two labels with numbers all spellings of libraries: Prometheus 3
// shows 1.0 where the page has 1.
func spellings(label string, values []string) []string {
	if label != "le" && label != "quantile" {
		return values
	}
	all := slices.Clone(values)
	for _, value := range values {
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		for _, format := range []byte("gf") {
			text := strconv.FormatFloat(number, format, -1, 64)
			if all = append(all, text); !strings.ContainsAny(text, ".eIN") {
				all = append(all, text+".0")
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

var operators = map[metav1.LabelSelectorOperator]page.Operator{
	metav1.LabelSelectorOpIn: page.In, metav1.LabelSelectorOpNotIn: page.NotIn,
	metav1.LabelSelectorOpExists: page.Exists, metav1.LabelSelectorOpDoesNotExist: page.DoesNotExist,
}

// newPage is a page that is not scraped yet.
func (s *Source) newPage(o *object, at sources.PodEndpoint) *podPage {
	p := &podPage{
		source: s, object: o, place: at, targets: map[uint64]*target{},
		auth: clientauth.New(s.config.Secret, clientauth.Target{Namespace: o.key.Namespace, Host: clientauth.Pods,
			IsTLS: at.IsTLS, TLS: at.TLS, Credentials: at.Credentials}),
	}
	p.auth.Notify(p.retry)
	p.setMetrics(nil)
	return p
}

// retry scrapes the failing targets. A scrape that waited for the API server would take the slot of another; so it
// fails instead, and is repeated when Secrets have been read.
func (p *podPage) retry() {
	p.object.mu.Lock()
	keys := make([]string, 0, len(p.targets))
	for _, t := range p.targets {
		keys = append(keys, t.key)
	}
	p.object.mu.Unlock()
	p.source.rounds.Retry(keys...)
}
