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

	// mu guards the following, and all of the pages and their targets but what is said there.
	mu    sync.Mutex
	pages []*podPage
	// series is how many series its targets have to remember.
	series int
	// isGone says that the source forgot it.
	isGone bool
}

// wanted is a metric that is read of a page. Only until is changed.
type wanted struct {
	// index is the metric's among the object's.
	index int
	spec  sources.PodEndpoint
	want  page.Want
	// since is when it was first looked at; until is how long it is read.
	since, until time.Time
}

// subscribe finds the page and what is read of it, which are made if they are new.
func (o *object) subscribe(now time.Time, q *Query) (*podPage, *wanted) {
	period := q.SyncPeriod
	if period <= 0 {
		period = defaultSyncPeriod
	}
	until := now.Add(keptPeriods * max(period, o.source.config.Interval))
	at := q.Spec.Page()
	var found *podPage
	for _, p := range o.pages {
		if p.place != at {
			continue
		}
		found = p
		for _, m := range p.metrics {
			if m.index == q.Metric && m.spec == *q.Spec {
				m.until = until
				return p, m
			}
		}
	}
	if found == nil {
		found = o.source.newPage(o, at)
		o.pages = append(o.pages, found)
	}
	o.supersede(now, q.Metric)
	m := &wanted{index: q.Metric, spec: *q.Spec, want: wantOf(q.Spec), since: now, until: until}
	found.setMetrics(append(slices.Clone(found.metrics), m))
	for _, t := range found.targets {
		t.histories = append(t.histories, m.newHistory())
	}
	return found, m
}

// supersede ends what was read of the metric with this index before its spec was edited. A page that the new spec is on
// too stays.
func (o *object) supersede(now time.Time, index int) {
	for _, p := range o.pages {
		for _, m := range p.metrics {
			if m.index == index && m.until.After(now) {
				m.until = now
			}
		}
	}
}

// expire ends what was not looked at for too long, and tells whether anything is left.
func (o *object) expire(now time.Time) (isLeft bool) {
	o.pages = slices.DeleteFunc(o.pages, func(p *podPage) bool {
		for i := len(p.metrics) - 1; i >= 0; i-- {
			if p.metrics[i].until.After(now) {
				continue
			}
			p.setMetrics(slices.Concat(p.metrics[:i], p.metrics[i+1:]))
			for _, t := range p.targets {
				t.histories = slices.Delete(t.histories, i, i+1)
			}
		}
		if len(p.metrics) == 0 {
			p.end()
		}
		return len(p.metrics) == 0
	})
	return len(o.pages) > 0
}

// reporting is how many targets bring samples in one round.
func (o *object) reporting() int {
	n := 0
	for _, p := range o.pages {
		n += p.reporting
	}
	return n
}

func (m *wanted) newHistory() counter.History {
	config := counter.Config{Kind: counter.Gauge, IsAbsentZero: m.spec.IsNullZero, Window: m.window()}
	if m.spec.IsRate {
		config.Kind = counter.Rate
	}
	return counter.New(config)
}

// window is what values are averaged over.
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

// spellings are the values of a label, and of the two labels that are numbers the ways in which libraries write them:
// Prometheus 3 shows 1.0 where the page has 1.
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

// newPage is a page that nobody scrapes yet.
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

// retry scrapes the targets that fail. A scrape that waited for the API server would take the place of
// another; so it fails, and is repeated when Secrets have been read.
func (p *podPage) retry() {
	p.object.mu.Lock()
	keys := make([]string, 0, len(p.targets))
	for _, t := range p.targets {
		keys = append(keys, t.key)
	}
	p.object.mu.Unlock()
	p.source.rounds.Retry(keys...)
}
