package prometheushistory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Series is the load of a scale target, minute by minute.
type Series struct {
	// Start is the beginning of the first minute.
	Start time.Time
	// Pods is the number of pods that carry the load of each minute at the target of the metric. It is NaN where that is
	// unknown. While the pods use all the CPU that they can, the load may be larger.
	Pods []float64
	// PerPodMilli is the use of one pod at the target in each minute, in thousandths of a core; NaN where that is unknown.
	PerPodMilli []float64
}

// ErrNoLoad is returned if Prometheus has no data about the target's pods.
var ErrNoLoad = errors.New(
	"no CPU use of its pods: check --history-cpu-metric, --prometheus-cadvisor-job-name and the names of labels")

// ErrNoRequest is returned if the requests of the pods are unknown.
var ErrNoRequest = errors.New(
	"no CPU requests of its pods: neither the workload nor --history-request-metric has them")

const (
	// chunk is the time range of one query.
	chunk = 24 * time.Hour
	// leastSeen is the smallest fraction of the running pods with a rate: below it, the sum would be a load that is far
	// too small.
	leastSeen = 0.5
)

// Load reads the load of a scale target from Prometheus, in pods at the target: the CPU use of all pods divided by the
// use of one at the target. It takes --prometheus-query-timeout at most.
//
// A minute's CPU use is the rate over the window around it. The sum is unknown where less than half of the pods that
// have run for five minutes have a rate. Where the requests of a minute are unknown, the ones before count, and before
// the first the workload's of today.
func (c *Client) Load(ctx context.Context, q Query) (Series, error) {
	if err := q.Validate(); err != nil {
		return Series{}, fmt.Errorf("load of %s %s/%s: %w", q.Kind, q.Namespace, q.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.QueryTimeout)
	defer cancel()
	s, err := c.load(ctx, &q)
	if err != nil {
		return Series{}, fmt.Errorf("load of %s %s/%s: %w", q.Kind, q.Namespace, q.Name, err)
	}
	return s, nil
}

func (c *Client) load(ctx context.Context, q *Query) (Series, error) {
	asked, err := c.queriesOf(q)
	if err != nil {
		return Series{}, err
	}
	start := q.From.Truncate(time.Minute)
	if start.Before(q.From) {
		start = start.Add(time.Minute)
	}
	m := minutes{client: c, start: start, count: int(q.To.Sub(start) / time.Minute), end: q.To}
	usage, err := m.read(ctx, asked.usage)
	if err != nil {
		return Series{}, fmt.Errorf("CPU use: %w", err)
	}
	if !anyKnown(usage) {
		return Series{}, ErrNoLoad
	}
	if err := m.forgetUnseen(ctx, asked.seen, usage); err != nil {
		return Series{}, err
	}
	perPod, err := m.perPod(ctx, q, asked.request)
	if err != nil {
		return Series{}, err
	}
	const milli = 1000
	for i := range usage {
		usage[i] *= milli / perPod[i]
	}
	return Series{Start: start, Pods: usage, PerPodMilli: perPod}, nil
}

// minutes has the minutes of one load.
type minutes struct {
	client *Client
	// start is the beginning of the first; end is the latest time of a query.
	start, end time.Time
	count      int
}

// forgetUnseen makes the use of all pods unknown in minutes with a rate of too few.
func (m *minutes) forgetUnseen(ctx context.Context, query string, usage []float64) error {
	seen, err := m.read(ctx, query)
	if err != nil {
		return fmt.Errorf("pods whose use is known: %w", err)
	}
	for i, part := range seen {
		if part < leastSeen {
			usage[i] = math.NaN()
		}
	}
	return nil
}

// perPod returns the use of one pod at the target in each minute, in thousandths of a core.
func (m *minutes) perPod(ctx context.Context, q *Query, query string) ([]float64, error) {
	if q.AverageMilli > 0 {
		return slices.Repeat([]float64{float64(q.AverageMilli)}, m.count), nil
	}
	requests, err := m.read(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("CPU requests: %w", err)
	}
	before := math.NaN()
	if q.RequestMilli > 0 {
		before = float64(q.RequestMilli) / 1000
	} else if first := slices.IndexFunc(requests, isAboveZero); first >= 0 {
		before = requests[first]
	}
	if math.IsNaN(before) {
		return nil, ErrNoRequest
	}
	for i, cores := range requests {
		if isAboveZero(cores) {
			before = cores
		}
		requests[i] = before * 1000 * float64(q.UtilizationPercent) / 100
	}
	return requests, nil
}

// shift is from a minute's beginning until the end of the window around its middle.
func (m *minutes) shift() time.Duration { return (time.Minute + m.client.config.RateWindow) / 2 }

// read sends a query for all minutes, day by day. Minutes without a value are NaN.
func (m *minutes) read(ctx context.Context, query string) ([]float64, error) {
	values := slices.Repeat([]float64{math.NaN()}, m.count)
	const most = int(chunk / time.Minute)
	for first := 0; first < m.count; first += most {
		begin := m.start.Add(time.Duration(first)*time.Minute + m.shift())
		end := begin.Add(time.Duration(min(most, m.count-first)-1) * time.Minute)
		if end.After(m.end) {
			end = m.end
		}
		if end.Before(begin) {
			break
		}
		day := prometheusv1.Range{Start: begin, End: end, Step: time.Minute}
		if err := m.readDay(ctx, query, day, values[first:]); err != nil {
			return nil, fmt.Errorf("from %s to %s: %w", begin.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339), err)
		}
	}
	return values, nil
}

// readDay fills in the values of a range; the first is of its start.
func (m *minutes) readDay(ctx context.Context, query string, r prometheusv1.Range, values []float64) error {
	value, _, err := m.client.bounded.QueryRange(ctx, query, r)
	if err != nil {
		return err
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return fmt.Errorf("%s is answered with a %s, want a matrix", query, value.Type())
	}
	if len(matrix) > 1 {
		return fmt.Errorf("%s is answered with %d series, want one", query, len(matrix))
	}
	for _, series := range matrix {
		for _, point := range series.Values {
			i := int(math.Round(point.Timestamp.Time().Sub(r.Start).Minutes()))
			if v := float64(point.Value); i >= 0 && i < len(values) && !point.Timestamp.Time().After(r.End) && isAmount(v) {
				values[i] = v
			}
		}
	}
	return nil
}

func anyKnown(values []float64) bool { return slices.ContainsFunc(values, isAmount) }

// isAmount reports whether an amount is plausible; more than 1e15 cores or pods is not.
func isAmount(v float64) bool { return v >= 0 && v <= 1e15 }

func isAboveZero(v float64) bool { return v > 0 && isAmount(v) }
