package reaction

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// repeats is the number of repetitions of a run whose workload was scaled before any load: it measures nothing.
const repeats = 3

// trial is the measurement of one run.
type trial struct {
	moments
	// sampled is the time of the first sample that shows the load, in seconds from the load's start; NaN if samples are
	// always current.
	sampled  float64
	answered float64 // requests a second
	// The kubelet's processor time, in cores, while the workload rests: without an autoscaler and with one; NaN without a
	// real kubelet.
	coresAlone, coresWatched float64
}

// errScaledEarly is returned if a workload was scaled before any load.
var errScaledEarly = errors.New("scaled without load")

// Run measures each subject in each run.
func Run(ctx context.Context, config Config) (Result, error) {
	c, err := config.completed()
	if err != nil {
		return Result{}, fmt.Errorf("reaction: %w", err)
	}
	began := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case failure := <-c.Stage.Failed():
			cancel(failure)
		case <-ctx.Done():
		}
	}()
	result := c.newResult(report.ThisMachine(began))
	for _, subject := range c.Subjects {
		trials, repeated, err := c.measure(ctx, subject)
		if err != nil {
			return Result{}, fmt.Errorf("reaction: %s: %w", subject.Name, errors.Join(err, context.Cause(ctx)))
		}
		result.Subjects = append(result.Subjects, resultOf(subject, trials, repeated))
	}
	return result, nil
}

// measure runs one subject from its start to its end.
func (c Config) measure(ctx context.Context, subject Subject) (trials []trial, repeated int, err error) {
	c.Say("%s: starting", subject.Name)
	if err := c.Stage.Begin(ctx, subject); err != nil {
		return nil, 0, err
	}
	if err := createWorkload(ctx, c.Stage.Client(), c.Stage.Template(subject)); err != nil {
		return nil, 0, err
	}
	for len(trials) < c.Runs {
		c.Say("%s: run %d of %d: settling for %s", subject.Name, len(trials)+1, c.Runs, subject.settle())
		t, err := c.try(ctx, subject)
		if errors.Is(err, errScaledEarly) && repeated < repeats {
			repeated++
			c.Say("%s: %v; the run is repeated", subject.Name, err)
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		c.Say("%s: run %d of %d: sampled %s s, first write %s s, %d wanted %s s, %d ready %s s", subject.Name, len(trials)+1,
			c.Runs, report.Number(t.sampled), report.Number(t.firstWrite), maxReplicas, report.Number(t.allWanted), maxReplicas,
			report.Number(t.allReady))
		trials = append(trials, t)
	}
	if err := removeWorkload(ctx, c.Stage.Client(), c.Patience); err != nil {
		return nil, 0, err
	}
	return trials, repeated, c.Stage.End(ctx)
}

// try makes one run. It removes the autoscaler.
func (c Config) try(ctx context.Context, subject Subject) (t trial, err error) {
	a, err := c.Stage.Autoscaler(subject)
	if err != nil {
		return trial{}, err
	}
	defer func() {
		if ctx.Err() == nil {
			err = errors.Join(err, reset(ctx, c.Stage.Client(), a, c.Patience))
		}
	}()
	if err := reset(ctx, c.Stage.Client(), a, c.Patience); err != nil {
		return trial{}, err
	}
	if err := timing.Pause(ctx, clearing); err != nil {
		return trial{}, err
	}
	if t.coresAlone, err = c.kubeletCores(ctx, subject.settle()-clearing); err != nil {
		return trial{}, err
	}
	c.Say("  waiting for the autoscaler's first computed count")
	if err := createAutoscaler(ctx, a, c.Patience); err != nil {
		return trial{}, err
	}
	watching, stop := context.WithCancel(ctx)
	group, watching := errgroup.WithContext(watching)
	j := newJournal(c.Stage.Client())
	group.Go(func() error { return j.run(watching) })
	group.Go(func() error {
		defer stop()
		return c.play(watching, subject, j, &t)
	})
	return t, group.Wait()
}

// play waits for a random moment, loads the workload and records the states of the workload.
func (c Config) play(ctx context.Context, subject Subject, j *journal, t *trial) error {
	atRest := func(s sighting) bool { return s.wanted == minReplicas && s.ready == minReplicas }
	if err := j.await(ctx, c.Patience, atRest); err != nil {
		if s, _, _ := j.last(); s.wanted > minReplicas && errors.Is(err, errTooLong) {
			// On what was measured before; it will not be lowered for minutes.
			err = fmt.Errorf("%w: %d replicas wanted", errScaledEarly, s.wanted)
		}
		return err
	}
	rest := c.Rest + rand.N(phases)
	c.Say("  at rest; the load begins in %s", rest.Round(time.Second))
	var err error
	if t.coresWatched, err = c.kubeletCores(ctx, rest); err != nil {
		return err
	}
	if s, _, _ := j.last(); !atRest(s) {
		return fmt.Errorf("%w: %d replicas wanted", errScaledEarly, s.wanted)
	}
	samples, err := c.Stage.Samples(ctx)
	if err != nil {
		return err
	}
	c.Say("  the load begins, for %s", loadDuration)
	began := time.Now()
	sampled := c.follow(ctx, subject, samples, began)
	loading := c.load(ctx, j, t)
	t.sampled, err = sampled()
	if err := errors.Join(loading, err); err != nil {
		return err
	}
	t.moments = momentsOf(began, j.since(began))
	return nil
}

// load loads the workload and waits until all replicas are ready.
func (c Config) load(ctx context.Context, j *journal, t *trial) error {
	var group errgroup.Group
	group.Go(func() error {
		answered, err := c.Stage.Load(ctx, loadDuration)
		t.answered = float64(answered) / loadDuration.Seconds()
		return err
	})
	group.Go(func() error {
		err := j.await(ctx, c.Patience, func(s sighting) bool { return s.ready >= maxReplicas })
		if errors.Is(err, errTooLong) {
			return nil // a result, too
		}
		return err
	})
	return group.Wait()
}
