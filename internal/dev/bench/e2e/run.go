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

// Subject is the autoscaler under test.
type Subject string

// The subjects.
const (
	Plimsoll Subject = "plimsoll"
	Upstream Subject = "upstream"
)

// Config configures Run.
type Config struct {
	// BinDir is the folder of the control plane's parts, the real node's and those of the tests.
	BinDir string
	// Plimsoll is the program to pack.
	Plimsoll string
	// VerticalTests are the compiled tests of upstream's vertical autoscaler, to be run instead of Kubernetes' own of
	// HPAs; empty means those.
	VerticalTests string
	// Subjects are run one after the other.
	Subjects []Subject
	// Runs is the number of runs of each test for each subject. Runs whose load was not as requested do not count.
	Runs int
	// AtATime is the number of concurrent tests, each with a namespace of its own; 0 means one. Those that use more CPU
	// than others count for several.
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
	suite := config.suite()
	specs, err := suite.list(ctx)
	if err != nil {
		return nil, err
	}
	result = &Result{
		Benchmark: suite.benchmark, Tests: suite.title, Machine: report.ThisMachine(began),
		Kubernetes: build.KubernetesVersion, Focus: config.Focus,
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
	r := &runner{Config: c, stage: s, suite: c.suite(), subject: subject, result: result}
	for _, group := range result.groups() {
		if err := r.runGroup(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// runner runs tests with one subject.
type runner struct {
	*Config

	stage   *stage
	suite   *suite
	subject Subject

	mu     sync.Mutex // for result, and for its progress
	result *Result
}

// runGroup runs the tests of a group: those that may be beside others, then those that must be alone.
func (r *runner) runGroup(ctx context.Context, group string) error {
	most := max(r.AtATime, 1)
	beside, alone := r.jobs(group, false, most), r.jobs(group, true, 1)
	if len(beside)+len(alone) == 0 {
		return nil
	}
	r.Say("%s: starting%s", r.subject, strings.TrimSuffix(" for "+group, " for "))
	if err := r.suite.system.begin(ctx, r.stage, r.subject, group); err != nil {
		return err
	}
	if err := r.runThose(ctx, beside, most); err != nil {
		return err
	}
	if err := r.runThose(ctx, alone, 1); err != nil {
		return err
	}
	return r.suite.system.end(ctx, r.stage, r.subject)
}

// runThose runs tests beside each other: each once, then each again. The next run begins while the last tests of the
// one before still run.
func (r *runner) runThose(ctx context.Context, jobs []job, most int) error {
	running, ctx := errgroup.WithContext(ctx)
	q := newQueue(jobs, most)
	for next, isThere := q.next(ctx); isThere; next, isThere = q.next(ctx) {
		running.Go(func() error {
			if err := r.runOne(ctx, next); err != nil {
				return err // Its place stays taken: nothing more is to start.
			}
			q.done(next)
			return nil
		})
	}
	return running.Wait()
}

// jobs are the runs of a group that are missing: all of the first run, then of the next.
func (r *runner) jobs(group string, isSerial bool, most int) []job {
	var all []job
	order := r.result.longestFirst()
	for run := range r.Runs {
		for _, i := range order {
			spec := &r.result.Specs[i]
			isWanted := spec.canRun() && spec.Group == group && spec.isSerial() == isSerial
			if isWanted && spec.judged(r.subject) <= run {
				all = append(all, job{run: run, spec: i, share: spec.places(most)})
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
	outcome, err := r.suite.run(ctx, r.stage.cluster.KubeconfigPath(), spec.Spec, log)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	spec.Outcomes[r.subject] = append(spec.Outcomes[r.subject], outcome)
	r.Say("  %s: %s", name, outcome)
	return r.Done(r.result)
}
