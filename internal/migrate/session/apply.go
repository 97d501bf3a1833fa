package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/migrate/steps"
)

// Session migrates objects on a cluster.
type Session struct {
	Runner *steps.Runner
	// Kind is that of the originals.
	Kind string
	// Observe is for how long the replica counts are compared.
	Observe time.Duration
	// Out takes tables, Progress everything else, from many goroutines.
	Out, Progress io.Writer
	// Confirm asks the user.
	Confirm func(question string) (bool, error)
}

// errDeclined is returned where the user answers no.
var errDeclined = errors.New("not confirmed")

// Apply replaces the originals by WorkloadAutoscalers. An error about one object keeps no
// other from being migrated.
func (s *Session) Apply(ctx context.Context, names []types.NamespacedName) error {
	if err := s.confirm("Create %d WorkloadAutoscalers in mode Preview? They scale nothing.", len(names)); err != nil {
		return err
	}
	began := time.Now()
	prepared, failed := s.prepare(ctx, names)
	if len(prepared) == 0 {
		return errors.Join(failed...)
	}
	all, err := s.Runner.Observe(ctx, prepared, s.Observe, func(left time.Duration) {
		fmt.Fprintf(s.Progress, "Comparing %d WorkloadAutoscalers with the HPAs: %s left.\n",
			len(prepared), left.Round(time.Second))
	})
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	if err := steps.WriteTable(s.Out, all); err != nil {
		return err
	}
	migrated, unfinished := s.finish(ctx, all)
	fmt.Fprintf(s.Progress, "%d of %d migrated in %s.\n", migrated, len(names), time.Since(began).Round(time.Second/10))
	return errors.Join(append(failed, unfinished...)...)
}

// prepare creates the WorkloadAutoscalers, and returns what is to be compared.
func (s *Session) prepare(
	ctx context.Context, names []types.NamespacedName,
) (prepared []types.NamespacedName, failed []error) {
	isDone := make([]bool, len(names))
	errs := s.each(ctx, names, "in mode Preview", func(i int) (err error) {
		isDone[i], err = s.Runner.Prepare(ctx, names[i])
		return err
	})
	for i, name := range names {
		switch {
		case errs[i] != nil:
			failed = append(failed, fmt.Errorf("%s: %w", name, errs[i]))
		case isDone[i]:
			fmt.Fprintf(s.Progress, "%s: migrated\n", name)
		default:
			prepared = append(prepared, name)
		}
	}
	return prepared, failed
}

// finish replaces the originals whose WorkloadAutoscalers can.
func (s *Session) finish(ctx context.Context, all []steps.Comparison) (migrated int, failed []error) {
	var able []types.NamespacedName
	for i := range all {
		if all[i].Problem != "" {
			failed = append(failed, fmt.Errorf("%s: the %s stays: %s", all[i].Name, s.Kind, all[i].Problem))
			continue
		}
		able = append(able, all[i].Name)
	}
	if len(able) == 0 {
		return 0, failed
	}
	question := "Delete %d HPAs and let their WorkloadAutoscalers scale?"
	if s.Kind != hpaKind {
		question = "Pause %d ScaledObjects and let their WorkloadAutoscalers scale?"
	}
	if err := s.confirm(question, len(able)); err != nil {
		return 0, append(failed, fmt.Errorf("%w: the WorkloadAutoscalers stay in mode Preview; --back deletes them", err))
	}
	errs := s.each(ctx, able, "migrated", func(i int) error { return s.Runner.Finish(ctx, able[i]) })
	for i, name := range able {
		if errs[i] != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, errs[i]))
			continue
		}
		migrated++
	}
	return migrated, failed
}

// Back restores the originals.
func (s *Session) Back(ctx context.Context, names []types.NamespacedName) error {
	err := s.confirm("Restore %d objects of kind "+s.Kind+" and delete their WorkloadAutoscalers?", len(names))
	if err != nil {
		return err
	}
	began, restored := time.Now(), 0
	var failed []error
	for i, err := range s.each(ctx, names, "restored", func(i int) error { return s.Runner.Back(ctx, names[i]) }) {
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", names[i], err))
			continue
		}
		restored++
	}
	fmt.Fprintf(s.Progress, "%d of %d restored in %s.\n", restored, len(names), time.Since(began).Round(time.Second/10))
	return errors.Join(failed...)
}

const hpaKind = "HorizontalPodAutoscaler"

// each does something for each object, some at a time, and reports what was done. Those
// that an interrupt leaves undone have its error.
func (s *Session) each(
	ctx context.Context, names []types.NamespacedName, done string, do func(i int) error,
) []error {
	errs := make([]error, len(names))
	p := progress{out: s.Progress, total: len(names), done: done}
	begun := steps.Each(ctx, len(names), func(i int) {
		if errs[i] = do(i); errs[i] == nil {
			p.add(names[i])
		}
	})
	for i := begun; i < len(names); i++ {
		errs[i] = context.Cause(ctx)
	}
	return errs
}

func (s *Session) confirm(format string, args ...any) error {
	yes, err := s.Confirm(fmt.Sprintf(format, args...))
	if err == nil && !yes {
		err = errDeclined
	}
	return err
}
