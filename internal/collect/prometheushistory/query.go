package prometheushistory

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// MaxLoadDays is the longest time range of Load.
const MaxLoadDays = 92

// Query selects a load and a time range.
type Query struct {
	// Namespace, Kind and Name are those of the scale target. Its former pods are found by their names alone, so its kind
	// is Deployment, ReplicaSet or StatefulSet.
	Namespace, Kind, Name string
	// Container is the container of a ContainerResource metric; empty for all.
	Container string
	// From and To bound the time. Minutes that need samples after To stay unknown.
	From, To time.Time
	// UtilizationPercent is the target of a metric of type Utilization, and AverageMilli that of type AverageValue, in
	// thousandths of a core. One of the two is set.
	UtilizationPercent int32
	AverageMilli       int64
	// RequestMilli is the request of a pod, or of the container, today, in thousandths of a core. It counts where
	// Prometheus has no requests; 0 if it is unknown.
	RequestMilli int64
}

// ErrNoCPU is returned for an autoscaler without a CPU metric: Prometheus has no past of other metrics.
var ErrNoCPU = errors.New("it has no CPU metric with a target")

// SetMetric sets the container, the target and the request to those of the first CPU metric of an autoscaler with these
// pods.
func (q *Query) SetMetric(specs []source.Spec, pods []*observe.Pod) error {
	for i := range specs {
		spec := &specs[i]
		percent, milli := spec.Target.Percent, spec.Target.Milli
		switch {
		case !spec.IsCPU():
			continue
		case spec.Target.Type == source.Utilization && percent > 0:
			milli = 0
		case spec.Target.Type == source.AverageValue && milli > 0:
			percent = 0
		default:
			continue
		}
		q.Container, q.UtilizationPercent, q.AverageMilli = spec.Container, percent, milli
		q.RequestMilli = meanRequest(observe.AppendRequests(nil, pods, spec, divergence.Default))
		return nil
	}
	return ErrNoCPU
}

// meanRequest is that of the pods with one; 0 if there are none.
func meanRequest(requests []metric.Request) int64 {
	sum, n := 0.0, 0
	for i := range requests {
		if r := &requests[i]; r.Missing == metric.RequestSet && r.Milli > 0 {
			sum += float64(r.Milli)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return int64(min(sum/float64(n), math.MaxInt64/2))
}

// Validate returns an error for a query that cannot work. It makes no request.
func (q *Query) Validate() error {
	var found []error
	check := func(fine bool, format string, args ...any) {
		if !fine {
			found = append(found, fmt.Errorf(format, args...))
		}
	}
	check(q.Namespace != "" && q.Name != "", "the scale target has no namespace or no name")
	check(q.To.Sub(q.From) >= time.Minute && q.To.Sub(q.From) <= MaxLoadDays*24*time.Hour,
		"from %s to %s: want a minute at least and %d days at most", q.From, q.To, MaxLoadDays)
	check((q.UtilizationPercent > 0) != (q.AverageMilli > 0), "want a target: either a utilization or an average value")
	check(q.UtilizationPercent >= 0 && q.AverageMilli >= 0 && q.RequestMilli >= 0, "a target or request is negative")
	_, err := podNames(q.Kind, q.Name)
	return errors.Join(append(found, err)...)
}

// random matches the characters of pod-template hashes and of the ends of generated names: k8s.io/apimachinery's
// util/rand leaves out vowels and characters that look alike.
const random = "[bcdfghjklmnpqrstvwxz2456789]"

// longestPrefix is where the API server cuts a name before it adds five random characters (apiserver,
// pkg/storage/names).
const longestPrefix = 58

// podNames is a regular expression of the names of a target's pods.
func podNames(kind, name string) (string, error) {
	switch kind {
	case "Deployment":
		// A hash has up to ten characters.
		return generated(name, "-"+random+"{1,10}-", 12), nil
	case "ReplicaSet":
		return generated(name, "-", 1), nil
	case "StatefulSet":
		return regexp.QuoteMeta(name) + "-[0-9]+", nil
	}
	return "", fmt.Errorf("the names of the pods of a %s are not known; want Deployment, ReplicaSet or StatefulSet", kind)
}

// generated matches a name and the text after it, then five random characters. Where both together may be too long for
// a prefix, any part of that text may be missing.
func generated(name, follows string, longest int) string {
	const end = random + "{5}"
	if len(name)+longest <= longestPrefix {
		return regexp.QuoteMeta(name) + follows + end
	}
	prefix := name[:min(len(name), longestPrefix)]
	return regexp.QuoteMeta(prefix) + "[-0-9a-z]{0,12}" + end
}

// queries has the queries for one load.
type queries struct {
	// usage is the CPU use of all pods in cores, request the average request of one of them.
	usage, request string
	// seen is the fraction with a rate of the pods that have run for five minutes.
	seen string
}

func (c *Client) queriesOf(q *Query) (queries, error) {
	names, err := podNames(q.Kind, q.Name)
	if err != nil {
		return queries{}, err
	}
	usage := []string{
		fmt.Sprintf("%s=%q", c.config.NamespaceLabel, q.Namespace), fmt.Sprintf("%s=~%q", c.config.PodLabel, names),
	}
	state := []string{
		fmt.Sprintf("%s=%q", c.config.StateNamespaceLabel, q.Namespace),
		fmt.Sprintf("%s=~%q", c.config.StatePodLabel, names),
	}
	request := append([]string{`resource="cpu"`}, state...)
	if q.Container != "" {
		usage = append(usage, fmt.Sprintf("%s=%q", c.config.ContainerLabel, q.Container))
		request = append(request, fmt.Sprintf("%s=%q", c.config.StateContainerLabel, q.Container))
	} else {
		usage = append(usage, fmt.Sprintf(`%[1]s!="POD", %[1]s!=""`, c.config.ContainerLabel))
	}
	if c.config.Job != "" {
		usage = append(usage, fmt.Sprintf("job=%q", c.config.Job))
	}
	rate := fmt.Sprintf("rate(%s{%s}[%s])", c.config.CPUMetric, strings.Join(usage, ", "),
		model.Duration(c.config.RateWindow))
	requests := fmt.Sprintf("%s{%s}", c.config.RequestMetric, strings.Join(request, ", "))
	phase := fmt.Sprintf(`%s{%s, phase="Running"}`, c.config.PhaseMetric, strings.Join(state, ", "))
	return queries{
		// The largest of each container: a restarted container, and servers that are scraped twice, have several series.
		usage: fmt.Sprintf("sum(max by (%s, %s) (%s))", c.config.PodLabel, c.config.ContainerLabel, rate),
		request: fmt.Sprintf("sum(max by (%[1]s, %[2]s) (%[3]s)) / count(count by (%[1]s) (%[3]s))",
			c.config.StatePodLabel, c.config.StateContainerLabel, requests),
		seen: fmt.Sprintf("count(count by (%s) (%s)) / ", c.config.PodLabel, rate) + fmt.Sprintf(
			"count(count by (%[1]s) ((%[2]s == 1) and on (%[1]s) (%[2]s offset 5m == 1)))", c.config.StatePodLabel, phase),
	}, nil
}
