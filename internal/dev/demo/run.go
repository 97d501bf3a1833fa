package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/term"
	"k8s.io/client-go/rest"
)

// Config configures the demo.
type Config struct {
	// REST is an administrator's.
	REST *rest.Config
	Plan Plan
	// Kind is which object scales by CPU.
	Kind Kind
	// PodMetricsPort is the port of the simulated pods' own metrics.
	PodMetricsPort int
	// Began is the start of the program, for the time to the first scale-up.
	Began time.Time
	// Out is the output of the demo, live if Terminal is set.
	Out      io.Writer
	Terminal bool
	// SummaryPath is the file for the summary.
	SummaryPath string
	// Failed delivers the end of a part that the demo cannot do without.
	Failed <-chan error
}

// errNotComputed is returned if the counts were not the computed ones.
var errNotComputed = errors.New("the demo did not scale as computed, see above")

// Run creates the workloads, plays the load and judges what Plimsoll made of it.
// Plimsoll must be running against the same cluster.
func Run(ctx context.Context, c Config) error {
	o, err := newObserver(c.REST)
	if err != nil {
		return err
	}
	workloads, err := o.workloads(c)
	if err != nil {
		return err
	}
	if err := createWorkloads(ctx, o.client, workloads); err != nil {
		return err
	}
	fmt.Fprintln(c.Out, "Waiting for the first metrics (they need two scrapes) ...")
	if err := await(ctx, o, workloads, c.Failed); err != nil {
		return err
	}
	o.began = time.Now()
	r := &record{}
	if err := play(ctx, c, o, workloads, r); err != nil {
		return err
	}
	samples, scales := r.snapshot()
	s := summarize(c.Plan, c.Began, samples, scales)
	fmt.Fprint(c.Out, s.text())
	if err := s.write(c.SummaryPath); err != nil {
		return err
	}
	if len(s.Failures) > 0 {
		return errNotComputed
	}
	return nil
}

func await(ctx context.Context, o *observer, workloads []workload, failed <-chan error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("no metric within two minutes"))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- o.awaitMetrics(ctx, workloads) }()
	select {
	case err := <-done:
		return err
	case err := <-failed:
		return err
	}
}

// play runs the load, the sampling, the watch and the view side by side until
// the plan is over.
func play(ctx context.Context, c Config, o *observer, workloads []workload, r *record) error {
	// Not a deadline: a client gives up before one, and that would be an error.
	ctx, cancel := context.WithCancelCause(ctx)
	over := time.AfterFunc(c.Plan.Total, func() { cancel(errPlanOver) })
	defer over.Stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return o.watchScales(ctx, r.scaled) })
	group.Go(func() error { return drive(ctx, c.Plan, o, workloads, r) })
	group.Go(func() error { return c.view().run(ctx, r) })
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case err := <-c.Failed:
			return err
		}
	})
	return group.Wait()
}

// drive steps the load and samples once a second.
func drive(ctx context.Context, plan Plan, o *observer, workloads []workload, r *record) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	offered := baseLoad
	for {
		if load := plan.Load(time.Since(o.began)); load != offered {
			if err := offer(ctx, o.client, workloads, load); err != nil {
				return ended(ctx, err)
			}
			offered = load
		}
		s, err := o.sample(ctx, workloads, offered)
		if err != nil {
			return ended(ctx, err)
		}
		r.sample(s)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

var errPlanOver = errors.New("the plan is over")

// ended is no error where the plan is over.
func ended(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errPlanOver) {
		return nil
	}
	return err
}

func (c Config) view() view {
	if c.Terminal {
		return screen{total: c.Plan.Total, out: c.Out}
	}
	return lines{out: c.Out}
}

// IsTerminal reports whether a file is a terminal that can show the live view.
func IsTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}
