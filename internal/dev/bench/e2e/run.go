package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// Subject is what decides.
type Subject string

// The subjects.
const (
	Plimsoll Subject = "plimsoll"
	Upstream Subject = "upstream"
)

// Config says what Run runs.
type Config struct {
	// BinDir is the folder of the control plane's parts, the real node's and those of the tests.
	BinDir string
	// Plimsoll is the program to pack.
	Plimsoll string
	// Subjects are run one after the other.
	Subjects []Subject
	// Runs is how often each test is run for each subject. Those whose load was not what they asked for do not count.
	Runs int
	// AtATime is how many tests run beside each other, each with a namespace of its own; 0 means one. Those that use more
	// CPU than others count for several.
	AtATime int
	// Focus is part of the names of the tests to run, or several with | between them; empty means all.
	Focus string
	// Earlier are results of another call; what was run then is not run again. Nil means none.
	Earlier *Result
	// LogDir gets the output of each test.
	LogDir string
	// Say prints a line of progress.
	Say func(format string, args ...any)
	// Done is called after each test, with all results so far.
	Done func(*Result) error
}

// Run builds up a cluster, runs the tests, and takes everything down.
func Run(ctx context.Context, config Config) (result *Result, err error) {
	began := time.Now()
	specs, err := listSpecs(ctx, config.BinDir)
	if err != nil {
		return nil, err
	}
	result = &Result{
		Benchmark: "e2e-upstream", Machine: report.ThisMachine(began), Kubernetes: build.KubernetesVersion,
		Focus: config.Focus,
	}
	result.Specs = config.choose(specs)
	if result.runnable() == 0 {
		return nil, fmt.Errorf("no test that can be run has %q in its name", config.Focus)
	}
	s, err := startStage(ctx, &config)
	if err != nil {
		return nil, err
	}
	defer func() {
		config.Say("taking everything down")
		err = errors.Join(err, s.close())
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case failure := <-s.cluster.Failed():
			cancel(failure)
		case <-ctx.Done():
		}
	}()
	for _, subject := range config.Subjects {
		if err := config.runAll(ctx, s, subject, result); err != nil {
			return result, fmt.Errorf("%s: %w", subject, errors.Join(err, context.Cause(ctx)))
		}
	}
	return result, nil
}

// choose takes the tests that are wanted, and those that were run earlier, which are shown alone.
func (c *Config) choose(specs []Spec) []SpecResult {
	var chosen []SpecResult
	for _, spec := range specs {
		of := SpecResult{Spec: spec, Outcomes: map[Subject][]Outcome{}}
		if c.Earlier != nil {
			all := Result{Specs: []SpecResult{of}}
			all.Take(c.Earlier)
		}
		of.alone = !spec.hasPart(strings.Split(c.Focus, "|"))
		if !of.alone || len(of.Outcomes) > 0 {
			chosen = append(chosen, of)
		}
	}
	return chosen
}

// runAll runs each test with a subject, and then each again.
func (c *Config) runAll(ctx context.Context, s *stage, subject Subject, result *Result) error {
	c.Say("%s: starting", subject)
	if err := s.begin(ctx, subject); err != nil {
		return err
	}
	r := &runner{Config: c, stage: s, subject: subject, result: result}
	for _, isSerial := range []bool{false, true} {
		if err := r.runThose(ctx, isSerial); err != nil {
			return err
		}
	}
	return s.end(ctx, subject)
}

// runner runs tests with one subject.
type runner struct {
	*Config

	stage   *stage
	subject Subject

	mu     sync.Mutex // for result, and for the progress that is said of it
	result *Result
}

// runThose runs the tests that must be alone, or all others beside each other: each once, then each again. The next
// run begins while the last tests of the one before still run.
func (r *runner) runThose(ctx context.Context, isSerial bool) error {
	group, ctx := errgroup.WithContext(ctx)
	most := max(r.AtATime, 1)
	if isSerial {
		most = 1
	}
	q := newQueue(r.jobs(isSerial, most), most)
	for next, isThere := q.next(ctx); isThere; next, isThere = q.next(ctx) {
		group.Go(func() error {
			if err := r.runOne(ctx, next); err != nil {
				return err // Its place stays taken: nothing more is to start.
			}
			q.done(next)
			return nil
		})
	}
	return group.Wait()
}

// jobs are the runs that are missing: all of the first run, then of the next.
func (r *runner) jobs(isSerial bool, most int) []job {
	var all []job
	order := r.result.longestFirst()
	for run := range r.Runs {
		for _, i := range order {
			spec := &r.result.Specs[i]
			if spec.canRun() && spec.isSerial() == isSerial && spec.judged(r.subject) <= run {
				all = append(all, job{run: run, spec: i, share: spec.share(most)})
			}
		}
	}
	return all
}

func (r *runner) runOne(ctx context.Context, j job) error {
	name := fmt.Sprintf("test %d of %d", j.spec+1, len(r.result.Specs))
	r.mu.Lock()
	spec := &r.result.Specs[j.spec]
	earlier := len(spec.Outcomes[r.subject])
	r.Say("%s, run %d of %d, %s: %s", r.subject, j.run+1, r.Runs, name, spec.Name)
	r.mu.Unlock()
	log := filepath.Join(r.LogDir, string(r.subject), fmt.Sprintf("run-%d", earlier+1), fmt.Sprintf("%02d.log", j.spec+1))
	outcome, err := runSpec(ctx, filepath.Join(r.BinDir, build.UpstreamSuite), r.stage.cluster.KubeconfigPath(),
		spec.Spec, log)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	spec.Outcomes[r.subject] = append(spec.Outcomes[r.subject], outcome)
	r.Say("  %s: %s", name, outcome)
	return r.Done(r.result)
}
