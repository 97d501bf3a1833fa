// Package backfill fills the history and the forecast of an autoscaler with its past load from Prometheus: one
// autoscaler after the other, in the background.
package backfill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/replay"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/load"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// The bounds of Config.Length.
const (
	// MinLength is the length that a forecast needs.
	MinLength = forecast.Needed
	// MaxLength exceeds the length of a stored history.
	MaxLength = 21 * 24 * time.Hour
)

// Source reads past loads.
type Source interface {
	Load(ctx context.Context, q prometheushistory.Query) (prometheushistory.Series, error)
}

var _ Source = (*prometheushistory.Client)(nil)

// Config configures a Filler.
type Config struct {
	Source Source
	// Length is the length of the past to read.
	Length     time.Duration
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// Filler reads the past of autoscalers.
type Filler struct {
	config Config
	series *prometheus.CounterVec
	// wake has an element after a job was queued.
	wake chan struct{}

	// mu guards the following, and the fields of each job whose comment says so.
	mu sync.Mutex
	// jobs has all jobs until they are taken or dropped, queue those to read, in order.
	jobs  map[observe.Key]*job
	queue []*job
	// noted has the kinds of problems that were logged and have not ended.
	noted map[string]bool
}

// job is an autoscaler whose past is read.
type job struct {
	key observe.Key
	uid types.UID
	// query identifies the load. run sets its time when it reads.
	query  prometheushistory.Query
	replay replay.Config
	// full is the load that a pod can carry, as a multiple of its target.
	full  float64
	asked time.Time

	// The Filler's lock guards isGone, isOver and data.
	isGone, isOver bool
	data           checkpoints.Data
}

// New returns a Filler. It starts nothing.
func New(c *Config) (*Filler, error) {
	if c.Source == nil || c.Registerer == nil {
		return nil, errors.New("a source and a registerer are needed")
	}
	if c.Length < MinLength || c.Length > MaxLength {
		return nil, fmt.Errorf("the length of %s is not within %s and %s", c.Length, MinLength, MaxLength)
	}
	series, err := newSeries(c.Registerer)
	if err != nil {
		return nil, err
	}
	return &Filler{
		config: *c, series: series, wake: make(chan struct{}, 1), jobs: map[observe.Key]*job{}, noted: map[string]bool{},
	}, nil
}

// Ask queues an autoscaler's past for reading, with this policy and these pods. It does not block. It returns false if
// Prometheus cannot have the load.
func (f *Filler) Ask(
	of observehorizontal.Autoscaler, policy *horizontal.Policy, pods []*observe.Pod, startUp time.Duration,
) bool {
	f.Forget(of.Key())
	j, err := newJob(of, policy, pods, startUp)
	if err != nil {
		f.series.WithLabelValues(resultLeftOut).Inc()
		f.note(resultLeftOut, j, err, "the past load of an autoscaler is not read from Prometheus")
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jobs[j.key] = j
	f.pushLocked(j)
	return true
}

// errOtherMetrics is returned because a forecast would treat the CPU load as that of all metrics.
var errOtherMetrics = errors.New("it has other metrics than CPU, and the largest of all loads counts")

func newJob(
	of observehorizontal.Autoscaler, policy *horizontal.Policy, pods []*observe.Pod, startUp time.Duration,
) (*job, error) {
	ref := of.Target()
	j := &job{
		key: of.Key(), uid: of.UID, asked: time.Now(),
		query: prometheushistory.Query{Namespace: of.Namespace, Kind: ref.Kind, Name: ref.Name},
		replay: replay.Config{
			Settings: policy.Forecast, MinReplicas: policy.MinReplicas, MaxReplicas: policy.MaxReplicas, StartUp: startUp,
			Tolerance: policy.Tolerance.Up,
		},
	}
	if err := j.query.SetMetric(policy.Metrics, pods); err != nil {
		return j, err
	}
	if len(policy.Metrics) > 1 {
		return j, errOtherMetrics
	}
	j.full = load.FullOf(&policy.Metrics[0])
	q := j.query
	q.From, q.To = j.asked.Add(-MinLength), j.asked
	return j, q.Validate()
}

func (f *Filler) pushLocked(j *job) {
	f.queue = append(f.queue, j)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Take returns the data of an autoscaler, once. isOver is set if nothing more will come.
func (f *Filler) Take(key observe.Key, uid types.UID) (data checkpoints.Data, isOver bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := f.jobs[key]
	if j == nil || j.uid != uid {
		return data, true
	}
	if !j.isOver {
		return data, false
	}
	delete(f.jobs, key)
	return j.data, true
}

// Forget drops an autoscaler.
func (f *Filler) Forget(key observe.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j := f.jobs[key]; j != nil {
		j.isGone = true
		delete(f.jobs, key)
	}
}

// settle stores the result of a job, or queues it again behind the others.
func (f *Filler) settle(j *job, data checkpoints.Data, isOver bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case j.isGone:
	case isOver:
		j.data, j.isOver = data, true
	default:
		f.pushLocked(j)
	}
}
