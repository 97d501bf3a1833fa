package session

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/steps"
)

// forged is a cluster where a tenant has created a WorkloadAutoscaler with the annotation of a migration that never
// happened: a ScaledObject that calls a server of the tenant's with the credentials of the cluster.
type forged struct {
	steps.Cluster

	w        *plimsollv1alpha1.WorkloadAutoscaler
	restored *unstructured.Unstructured
	// onState is called before each read.
	onState func()
}

var worker = types.NamespacedName{Namespace: "shop", Name: "worker"}

const forgedManifest = `{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"namespace":"shop",` +
	`"name":"worker","finalizers":["example.com/mine"]},"spec":{"scaleTargetRef":{"name":"worker"},"triggers":[` +
	`{"type":"prometheus","metadata":{"serverAddress":"http://mine.example.com","query":"up","threshold":"1"},` +
	`"authenticationRef":{"name":"all","kind":"ClusterTriggerAuthentication"}}]}}`

func newForged() *forged {
	return &forged{w: &plimsollv1alpha1.WorkloadAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: worker.Namespace, Name: worker.Name,
			Annotations: map[string]string{convert.MigratedFrom: forgedManifest}},
		Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{Mode: plimsollv1alpha1.ModeActive},
	}}
}

func (f *forged) State(context.Context, types.NamespacedName) (*steps.State, error) {
	if f.onState != nil {
		f.onState()
	}
	s := &steps.State{Kind: keda.Kind, Original: f.restored, HPA: f.restored}
	if f.w != nil {
		s.WorkloadAutoscaler = f.w.DeepCopy()
	}
	return s, nil
}

func (f *forged) SetMode(
	_ context.Context, _ *plimsollv1alpha1.WorkloadAutoscaler, _ plimsollv1alpha1.Mode, migrating string,
) error {
	f.w.Annotations[convert.Migrating] = migrating
	return nil
}

func (f *forged) Restore(_ context.Context, _ *steps.State, manifest *unstructured.Unstructured) error {
	f.restored = manifest
	return nil
}

func (f *forged) DeleteWorkloadAutoscaler(context.Context, *plimsollv1alpha1.WorkloadAutoscaler) error {
	f.w = nil
	return nil
}

// session returns a session of --back --apply with this cluster.
func (f *forged) session(folder string, out *bytes.Buffer) *Session {
	s := sessionOf(out)
	s.Kind, s.Backups = keda.Kind, &Backups{Folder: folder}
	s.Runner.Cluster, s.Runner.MayRestore = f, s.MayRestore
	s.Runner.Report, s.Runner.Warn = func(types.NamespacedName, string) {}, func(types.NamespacedName, string) {}
	return s
}

// With --yes, an object is not restored if only an annotation has its manifest.
func TestBackOfAForgedAnnotation(t *testing.T) {
	f, folder := newForged(), t.TempDir()
	var out bytes.Buffer
	s := f.session(folder, &out)
	s.IsUnattended = true
	err := s.Back(t.Context(), []types.NamespacedName{worker})
	file := filepath.Join(folder, "shop-worker.scaledobject.yaml")
	isTouched := f.restored != nil || f.w.Annotations[convert.Migrating] != ""
	if err == nil || isTouched || !strings.Contains(err.Error(), file) {
		t.Fatalf("%v: restored %v, %+v", err, f.restored, f.w)
	}
	if !strings.Contains(out.String(), "mine.example.com") || strings.Contains(out.String(), "finalizers") {
		t.Errorf("shown:\n%s", out.String())
	}
	// The error has the next step: apply the manifest from a file after reading it.
	shown, _, _ := strings.Cut(out.String(), "0 of 1")
	if err := os.WriteFile(file, []byte("# looked at\n"+shown), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Back(t.Context(), []types.NamespacedName{worker}); err != nil || f.restored == nil || f.w != nil {
		t.Errorf("with the file: %v, restored %v", err, f.restored)
	}
}

// On a terminal the user sees the manifest before the question, which says that no file has it. The manifest in the
// annotation after the answer must be the shown one.
func TestBackIsAsked(t *testing.T) {
	for name, isChanged := range map[string]bool{"as shown": false, "changed after the answer": true} {
		f := newForged()
		var out bytes.Buffer
		s := f.session(t.TempDir(), &out)
		s.Confirm = func(_ context.Context, question string) (bool, error) {
			if !strings.Contains(out.String(), "mine.example.com") || !strings.Contains(question, "No backup file") {
				t.Errorf("%s: shown %q, asked %q", name, out.String(), question)
			}
			if isChanged {
				f.w.Annotations[convert.MigratedFrom] = strings.Replace(forgedManifest, "mine.", "yours.", 1)
			}
			return true, nil
		}
		err := s.Back(t.Context(), []types.NamespacedName{worker})
		if (err != nil) != isChanged || (f.restored == nil) != isChanged {
			t.Errorf("%s: %v, restored %v", name, err, f.restored)
		}
	}
}

// An object that is in a file of the migration is restored without a question.
func TestBackOfABackup(t *testing.T) {
	f := newForged()
	var out bytes.Buffer
	s := f.session(t.TempDir(), &out)
	s.IsUnattended = true
	manifest, err := convert.ToManifest(f.w)
	if err != nil {
		t.Fatal(err)
	}
	// Another object of the same name was replaced earlier.
	earlier := manifest.DeepCopy()
	earlier.SetLabels(map[string]string{"team": "checkout"})
	for _, kept := range []*unstructured.Unstructured{earlier, manifest, manifest} {
		if _, err := s.Backups.Keep(kept); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(s.Backups.Folder)
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
	if err := s.Back(t.Context(), []types.NamespacedName{worker}); err != nil || f.restored == nil {
		t.Errorf("%v, restored %v", err, f.restored)
	}
}
