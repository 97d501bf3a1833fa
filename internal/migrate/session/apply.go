package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/migrate/steps"
)

// Session migrates objects on a cluster.
type Session struct {
	Runner *steps.Runner
	// Kind is that of the originals.
	Kind string
	// Observe is the time for which the replica counts are compared.
	Observe time.Duration
	// Out receives tables, Progress everything else, from many goroutines.
	Out, Progress io.Writer
	// Confirm asks the user, until the context ends.
	Confirm func(ctx context.Context, question string) (bool, error)
	// IsUnattended is set if no user answers: Confirm is always true then.
	IsUnattended bool
	// Backups has the files of replaced objects.
	Backups *Backups

	// shown has the manifests that the user has confirmed, by their objects.
	shown map[types.NamespacedName]*unstructured.Unstructured
}

// errDeclined is returned if the user answers no.
var errDeclined = errors.New("not confirmed")

// errInterrupted is returned for objects that an interrupt left undone.
var errInterrupted = errors.New("interrupted; run the command again")

// staysPreview is the hint if the comparison has begun, and nothing is replaced.
const staysPreview = "the WorkloadAutoscalers stay in mode Preview; with --back --apply they are deleted"

// Apply replaces the originals by WorkloadAutoscalers. It continues with the others after an error about one object.
func (s *Session) Apply(ctx context.Context, names []types.NamespacedName) error {
	question := numbered(len(names), "Create 1 WorkloadAutoscaler in mode Preview? It scales nothing.",
		"Create %d WorkloadAutoscalers in mode Preview? They scale nothing.")
	if err := s.confirm(ctx, question); err != nil {
		return err
	}
	began := time.Now()
	prepared, failed := s.prepare(ctx, names)
	if len(prepared) == 0 {
		return errors.Join(failed...)
	}
	all, err := s.Runner.Observe(ctx, prepared, s.Observe, func(left time.Duration) {
		fmt.Fprintf(s.Progress, "%s: %s left.\n", numbered(len(prepared), "Comparing 1 WorkloadAutoscaler with the HPA",
			"Comparing %d WorkloadAutoscalers with the HPAs"), left.Round(time.Second))
	})
	if err != nil {
		return errors.Join(append(failed, fmt.Errorf("%w: %s", errInterrupted, staysPreview))...)
	}
	if err := steps.WriteTable(s.Out, all); err != nil {
		return err
	}
	migrated, unfinished := s.finish(ctx, all)
	fmt.Fprintf(s.Progress, "%d of %d migrated in %s.\n", migrated, len(names), time.Since(began).Round(time.Second/10))
	if len(failed)+len(unfinished) > 0 {
		fmt.Fprintln(s.Progress, "The same command continues with what is not migrated; with --back --apply it restores all.")
	}
	return errors.Join(append(failed, unfinished...)...)
}

// prepare creates the WorkloadAutoscalers, and returns the objects to compare.
func (s *Session) prepare(
	ctx context.Context, names []types.NamespacedName,
) (prepared []types.NamespacedName, failed []error) {
	errs := s.each(ctx, names, "in mode Preview", func(i int) error {
		isDone, err := s.Runner.Prepare(ctx, names[i])
		if err == nil && isDone {
			err = errMigrated
		}
		return err
	})
	for i, name := range names {
		switch {
		case errors.Is(errs[i], errMigrated):
			fmt.Fprintf(s.Progress, "%s: %v\n", name, errMigrated)
			errs[i] = nil
		case errs[i] == nil:
			prepared = append(prepared, name)
		}
	}
	return prepared, failures(names, errs)
}

// errMigrated is returned for an object that was migrated before.
var errMigrated = errors.New("migrated already")

// failures adds the objects' names to their errors. It only counts those that an interrupt left undone.
func failures(names []types.NamespacedName, errs []error) []error {
	var failed []error
	undone := 0
	for i, err := range errs {
		switch {
		case errors.Is(err, errInterrupted):
			undone++
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", names[i], err))
		}
	}
	if undone > 0 {
		failed = append(failed, fmt.Errorf("%d objects: %w", undone, errInterrupted))
	}
	return failed
}

// finish replaces the originals whose WorkloadAutoscalers can replace them.
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
	question := numbered(len(able), "Delete 1 HPA and let its WorkloadAutoscaler scale?",
		"Delete %d HPAs and let their WorkloadAutoscalers scale?")
	if s.Kind != hpaKind {
		question = numbered(len(able), "Pause 1 ScaledObject and let its WorkloadAutoscaler scale?",
			"Pause %d ScaledObjects and let their WorkloadAutoscalers scale?")
	}
	if err := s.confirm(ctx, question); err != nil {
		return 0, append(failed, fmt.Errorf("%w: %s", err, staysPreview))
	}
	errs := s.each(ctx, able, "migrated", func(i int) error { return s.Runner.Finish(ctx, able[i]) })
	return succeeded(errs), append(failed, failures(able, errs)...)
}

func succeeded(errs []error) int {
	n := 0
	for _, err := range errs {
		if err == nil {
			n++
		}
	}
	return n
}

const hpaKind = "HorizontalPodAutoscaler"

// each calls a function for each object, several at a time, and reports the progress. Objects that an interrupt leaves
// undone get errInterrupted.
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
		errs[i] = errInterrupted
	}
	return errs
}

// numbered is the text about one object, or the one about several, which has their number.
func numbered(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(several, n)
}

func (s *Session) confirm(ctx context.Context, question string) error {
	yes, err := s.Confirm(ctx, question)
	if err == nil && !yes {
		err = errDeclined
	}
	return err
}
