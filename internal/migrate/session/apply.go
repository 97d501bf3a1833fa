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
	// Observe is for how long the replica counts are compared.
	Observe time.Duration
	// Out takes tables, Progress everything else.
	Out, Progress io.Writer
	// Confirm asks the user.
	Confirm func(question string) (bool, error)
}

// errDeclined is returned where the user answers no.
var errDeclined = errors.New("not confirmed")

// Apply replaces HPAs by WorkloadAutoscalers. An error about one object keeps no other
// from being migrated.
func (s *Session) Apply(ctx context.Context, names []types.NamespacedName) error {
	if err := s.confirm("Create %d WorkloadAutoscalers in mode Preview? They scale nothing.", len(names)); err != nil {
		return err
	}
	var prepared []types.NamespacedName
	var failed []error
	for _, name := range names {
		step, err := s.Runner.Prepare(ctx, name)
		switch {
		case err != nil:
			failed = append(failed, s.fail(name, err))
		case step == steps.DeleteHPA:
			prepared = append(prepared, name)
		default:
			s.report(name, "migrated")
		}
	}
	if len(prepared) == 0 {
		return errors.Join(failed...)
	}
	all, err := s.Runner.Observe(ctx, prepared, s.Observe, func(left time.Duration) {
		fmt.Fprintf(s.Progress, "Comparing %d HPAs with their WorkloadAutoscalers: %s left.\n",
			len(prepared), left.Round(time.Second))
	})
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	if err := steps.WriteTable(s.Out, all); err != nil {
		return err
	}
	return errors.Join(append(failed, s.finish(ctx, all)...)...)
}

// finish replaces the HPAs whose WorkloadAutoscalers can.
func (s *Session) finish(ctx context.Context, all []steps.Comparison) (failed []error) {
	var able []types.NamespacedName
	for i := range all {
		if all[i].Problem != "" {
			failed = append(failed, s.fail(all[i].Name, fmt.Errorf("the HPA stays: %s", all[i].Problem)))
			continue
		}
		able = append(able, all[i].Name)
	}
	if len(able) == 0 {
		return failed
	}
	if err := s.confirm("Delete %d HPAs and activate their WorkloadAutoscalers?", len(able)); err != nil {
		return append(failed, fmt.Errorf("%w: the WorkloadAutoscalers stay in mode Preview; --back deletes them", err))
	}
	for i, name := range able {
		if err := ctx.Err(); err != nil {
			return append(failed, fmt.Errorf("%d of %d HPAs are not migrated: %w", len(able)-i, len(able), err))
		}
		if err := s.Runner.Finish(ctx, name); err != nil {
			failed = append(failed, s.fail(name, err))
			continue
		}
		s.report(name, "migrated")
	}
	return failed
}

// Back restores HPAs.
func (s *Session) Back(ctx context.Context, names []types.NamespacedName) error {
	if err := s.confirm("Restore %d HPAs and delete their WorkloadAutoscalers?", len(names)); err != nil {
		return err
	}
	var failed []error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(failed, err)...)
		}
		if err := s.Runner.Back(ctx, name); err != nil {
			failed = append(failed, s.fail(name, err))
			continue
		}
		s.report(name, "restored")
	}
	return errors.Join(failed...)
}

func (s *Session) confirm(format string, args ...any) error {
	yes, err := s.Confirm(fmt.Sprintf(format, args...))
	if err == nil && !yes {
		err = errDeclined
	}
	return err
}

func (s *Session) report(name types.NamespacedName, message string) {
	fmt.Fprintf(s.Progress, "%s: %s\n", name, message)
}

func (s *Session) fail(name types.NamespacedName, err error) error {
	return fmt.Errorf("%s: %w", name, err)
}
