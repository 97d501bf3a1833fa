package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/migrate/steps"
)

// Back restores the originals. It prints each before it asks.
func (s *Session) Back(ctx context.Context, names []types.NamespacedName) error {
	found, err := s.show(ctx, names)
	if err != nil {
		return err
	}
	unproven := s.unproven(found)
	question := numbered(len(names), "Restore 1 "+s.Kind+" and delete its WorkloadAutoscaler?",
		"Restore %d objects of kind "+s.Kind+" and delete their WorkloadAutoscalers?")
	if unproven > 0 && !s.IsUnattended {
		question = fmt.Sprintf("No backup file in %s has %d of the manifests above: everybody who may change their "+
			"WorkloadAutoscalers can have written them. ", s.Backups.Folder, unproven) + question
	}
	if err := s.confirm(ctx, question); err != nil {
		return err
	}
	if !s.IsUnattended {
		s.shown = found
	}
	began := time.Now()
	errs := s.each(ctx, names, "restored", func(i int) error { return s.Runner.Back(ctx, names[i]) })
	fmt.Fprintf(s.Progress, "%d of %d restored in %s.\n", succeeded(errs), len(names),
		time.Since(began).Round(time.Second/10))
	return errors.Join(failures(names, errs)...)
}

// show prints the manifests to restore, and returns them. An unreadable one is reported when it is to be restored.
func (s *Session) show(
	ctx context.Context, names []types.NamespacedName,
) (map[types.NamespacedName]*unstructured.Unstructured, error) {
	manifests := make([]*unstructured.Unstructured, len(names))
	steps.Each(ctx, len(names), func(i int) {
		if state, err := s.Runner.Cluster.State(ctx, names[i]); err == nil {
			manifests[i] = state.Restorable()
		}
	})
	found := map[types.NamespacedName]*unstructured.Unstructured{}
	p := Printer{Out: s.Out}
	for i, manifest := range manifests {
		if manifest == nil {
			continue
		}
		found[names[i]] = manifest
		if err := p.Print(manifest.Object); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// unproven returns the number of manifests without a file.
func (s *Session) unproven(found map[types.NamespacedName]*unstructured.Unstructured) int {
	n := 0
	for _, manifest := range found {
		if !s.Backups.Has(manifest) {
			n++
		}
	}
	return n
}

// MayRestore implements that of steps.Runner: the manifest must be in a file, or confirmed by the user.
func (s *Session) MayRestore(manifest *unstructured.Unstructured) error {
	name := types.NamespacedName{Namespace: manifest.GetNamespace(), Name: manifest.GetName()}
	seen, isSeen := s.shown[name]
	if isSeen && equality.Semantic.DeepEqual(seen.Object, manifest.Object) || s.Backups.Has(manifest) {
		return nil
	}
	return fmt.Errorf("no backup file in --backup-dir=%s has the manifest that the WorkloadAutoscaler's annotation has, "+
		"which everybody who may change the WorkloadAutoscaler can write: name the folder with the file, or print the "+
		"manifest with --back, and if it is right, write it to %s", s.Backups.Folder, s.Backups.Name(manifest, 0))
}
