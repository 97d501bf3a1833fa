package session

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/steps"
)

// migrated is a cluster whose HPAs are all migrated. A write panics.
type migrated struct{ steps.Cluster }

func (migrated) State(_ context.Context, name types.NamespacedName) (*steps.State, error) {
	return &steps.State{Kind: hpaKind, WorkloadAutoscaler: &plimsollv1alpha1.WorkloadAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, Annotations: map[string]string{
			convert.MigratedFrom: `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",` +
				`"metadata":{"namespace":"` + name.Namespace + `","name":"` + name.Name + `"}}`,
		}},
		Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{Mode: plimsollv1alpha1.ModeActive},
	}}, nil
}

var names = []types.NamespacedName{{Namespace: "shop", Name: "api"}, {Namespace: "shop", Name: "web"}}

func sessionOf(progress *bytes.Buffer) *Session {
	lines := Lines(progress)
	return &Session{
		Runner: &steps.Runner{Cluster: migrated{}}, Kind: hpaKind, Out: lines, Progress: lines, Backups: &Backups{},
		Confirm: func(context.Context, string) (bool, error) { return true, nil },
	}
}

// An object that was migrated before is reported as that alone.
func TestMigratedAlready(t *testing.T) {
	var progress bytes.Buffer
	if err := sessionOf(&progress).Apply(t.Context(), names); err != nil {
		t.Error(err)
	}
	if got, want := progress.String(), "shop/api: migrated already\nshop/web: migrated already\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// After an interrupt, the output counts the objects that are left, and has the next step.
func TestInterrupted(t *testing.T) {
	var progress bytes.Buffer
	s := sessionOf(&progress)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, run := range map[string]func(context.Context, []types.NamespacedName) error{
		"forward": s.Apply, "back": s.Back,
	} {
		if err := run(ctx, names); !errors.Is(err, errInterrupted) ||
			err.Error() != "2 objects: interrupted; run the command again" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if strings.Contains(progress.String(), "migrated already") {
		t.Error(progress.String())
	}
}
