package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/e2e"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/e2e/isolation"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// e2eOptions are the e2e command's flags.
type e2eOptions struct {
	config   e2e.Config
	subjects []string
	beside   string
	out      string
	resume   bool
	inside   bool
}

func e2eCommand() *cobra.Command {
	o := &e2eOptions{}
	command := &cobra.Command{
		Use:   "e2e",
		Short: "Upstream's own end-to-end tests of HPAs or of the vertical autoscaler, unmodified, on a real node",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return o.run(command.Context(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	flags, c := command.Flags(), &o.config
	flags.StringSliceVar(&o.subjects, "subjects", []string{string(e2e.Plimsoll)},
		"what decides: plimsoll, upstream or both, one after the other")
	flags.IntVar(&c.Runs, "runs", 1, "how often each test is run for each subject")
	flags.IntVar(&c.AtATime, "at-a-time", 1, "how many tests run beside each other; each needs up to 0.7 cores, "+
		"and one that needs 1.4 counts for three")
	flags.StringVar(&c.Focus, "focus", "", "part of the names of the tests to run, or several "+
		"with | between them (default all)")
	flags.StringVar(&c.VerticalTests, "vertical-tests", "", "the compiled tests of upstream's vertical autoscaler, "+
		"to run instead of Kubernetes' own of HPAs")
	flags.StringVar(&c.LogDir, "logs", filepath.Join("dist", "e2e-upstream"), "folder for the output of each test")
	flags.StringVar(&o.out, "out", "", "file for the results as JSON, written after each test")
	flags.BoolVar(&o.resume, "resume", false, "do not run again what --out has results of, and add to it")
	flags.StringVar(&o.beside, "beside", "", "file that another call wrote, whose results of other subjects go "+
		"into the same table")
	addProgramFlags(flags, &c.BinDir, &c.Plimsoll)
	flags.BoolVar(&o.inside, "inside", false, "")
	if err := flags.MarkHidden("inside"); err != nil {
		panic(err) // it was defined above
	}
	return command
}

// run builds the missing parts, and then runs this program again in its own network namespace.
func (o *e2eOptions) run(ctx context.Context, out, progress io.Writer) error {
	for _, name := range o.subjects {
		subject := e2e.Subject(name)
		if subject != e2e.Plimsoll && subject != e2e.Upstream {
			return fmt.Errorf("--subjects: there is no %q, only %s, %s", name, e2e.Plimsoll, e2e.Upstream)
		}
		o.config.Subjects = append(o.config.Subjects, subject)
	}
	if o.config.Runs < 1 {
		return errors.New("--runs: at least 1")
	}
	if o.config.AtATime < 1 {
		return errors.New("--at-a-time: at least 1")
	}
	if o.resume && o.out == "" {
		return errors.New("--resume needs --out")
	}
	if o.inside {
		return o.test(ctx, out, progress)
	}
	if err := e2e.Check(); err != nil {
		return err
	}
	// config/ is read when the cluster is up, minutes from here.
	if _, err := build.Root(); err != nil {
		return err
	}
	if err := o.build(ctx, progress); err != nil {
		return err
	}
	return isolation.Run(ctx, append(os.Args[1:], "--inside", "--bin-dir="+o.config.BinDir,
		"--plimsoll="+o.config.Plimsoll))
}

func (o *e2eOptions) test(ctx context.Context, out, progress io.Writer) (err error) {
	beside, err := readResult(o.beside)
	if err != nil {
		return err
	}
	if o.resume {
		if o.config.Earlier, err = earlierResult(o.out); err != nil {
			return err
		}
	}
	leave, err := isolation.Enter(ctx, netip.MustParseAddr(e2e.NameServer), netip.MustParsePrefix(e2e.ServiceRange),
		e2e.CPUs(o.config.AtATime))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	o.config.Say = report.NewProgress(progress, time.Now()).Say
	o.config.Done = func(result *e2e.Result) error {
		if o.out == "" {
			return nil
		}
		return report.WriteJSON(o.out, result)
	}
	result, err := e2e.Run(ctx, o.config)
	if ctx.Err() != nil {
		return errors.New("interrupted; everything that was made is removed")
	}
	if err != nil {
		return err
	}
	result.Take(beside)
	if err := publish(out, result, o.out); err != nil {
		return err
	}
	return verdict(result, o.config.Subjects)
}

// verdict is an error if a test failed.
func verdict(result *e2e.Result, subjects []e2e.Subject) error {
	var errs []error
	for _, subject := range subjects {
		failed, starved := result.Failures(subject)
		if len(failed) > 0 {
			errs = append(errs, fmt.Errorf("%s: failed: %s", subject, strings.Join(failed, "; ")))
		}
		if len(starved) > 0 {
			errs = append(errs, fmt.Errorf("%s: to be run again, the machine starved the load: %s", subject,
				strings.Join(starved, "; ")))
		}
	}
	return errors.Join(errs...)
}

// readResult reads what another call wrote; without a name there is nothing.
func readResult(path string) (*e2e.Result, error) {
	result := &e2e.Result{}
	if path == "" {
		return result, nil
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, result)
	}
	if err != nil {
		return nil, fmt.Errorf("earlier results in %s: %w", path, err)
	}
	return result, nil
}

// earlierResult reads the result of the previous call; it returns none for the first.
func earlierResult(path string) (*e2e.Result, error) {
	result, err := readResult(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &e2e.Result{}, nil
	}
	return result, err
}

// build brings the binaries up to date.
func (o *e2eOptions) build(ctx context.Context, progress io.Writer) error {
	parts := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "metrics-server",
		build.Kubelet, build.KubeProxy, build.Agnhost, build.ResourceConsumer, build.ConsumeCPU}
	ours := []string{build.Pause}
	if o.config.VerticalTests == "" {
		ours = append(ours, build.UpstreamSuite)
	} else if err := o.prepareVertical(ctx, &parts); err != nil {
		return err
	}
	return programs{&o.config.BinDir, &o.config.Plimsoll}.build(ctx, progress, parts, ours)
}

// prepareVertical adds the parts of upstream's vertical autoscaler, if it is tested, and downloads its manifests.
func (o *e2eOptions) prepareVertical(ctx context.Context, parts *[]string) error {
	if slices.Contains(o.config.Subjects, e2e.Upstream) {
		*parts = append(*parts, build.UpstreamRecommender, build.UpstreamUpdater, build.UpstreamAdmission)
	}
	_, err := build.VerticalAutoscalerDir(ctx)
	return err
}
