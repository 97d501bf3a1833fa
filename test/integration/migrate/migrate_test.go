package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/cluster"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/session"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/steps"
	"github.com/plimsoll-dev/plimsoll/test/integration/harness"
)

var (
	shared       = devclustertest.Shared{Config: devcluster.Config{ControlPlaneOnly: true}}
	installation harness.Installation
)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// world is a namespace with what the tests need.
type world struct {
	*harness.Namespace

	t      *testing.T
	kube   kubernetes.Interface
	wla    wla.WorkloadAutoscalerClient
	client *cluster.Client
	dir    string
	output bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := installation.Namespace(t, &shared, func(ctx context.Context, cluster *devcluster.Cluster) error {
		return cluster.InstallDefinitions(ctx)
	})
	config := rest.CopyConfig(s.Cluster.RESTConfig())
	config.QPS = -1
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := wla.New(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := cluster.New(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Namespace: s, t: t, kube: kube, wla: objects.WorkloadAutoscalers(s.Name), client: client, dir: t.TempDir()}
	// Definitions are served a moment before objects can be created.
	s.Eventually("WorkloadAutoscalers are served", func(ctx context.Context) error {
		_, err := w.wla.List(ctx, metav1.ListOptions{})
		return err
	})
	go w.play(t.Context())
	return w
}

// play writes the status that Plimsoll's controller would write, again and again: so
// that the versions of the objects change under the migration.
func (w *world) play(ctx context.Context) {
	for n := int32(0); ctx.Err() == nil; n++ {
		list, err := w.wla.List(ctx, metav1.ListOptions{})
		if err == nil {
			for i := range list.Items {
				o := &list.Items[i]
				o.Status.ObservedGeneration, o.Status.CurrentReplicas = &o.Generation, 3
				o.Status.DesiredReplicas, o.Status.Reason = 3+n%2, "cpu"
				_, _ = w.wla.UpdateStatus(ctx, o, metav1.UpdateOptions{})
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (w *world) name(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.Name, Name: name}
}

// create creates an HPA with everything that the API server fills in.
func (w *world) create(name string) *autoscalingv2.HorizontalPodAutoscaler {
	w.t.Helper()
	hpa, err := w.kube.AutoscalingV2().HorizontalPodAutoscalers(w.Name).Create(w.t.Context(),
		&autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "checkout"},
				Annotations: map[string]string{"note": "kept", corev1.LastAppliedConfigAnnotation: "{}\n"}},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
				MinReplicas:    ptr.To[int32](2), MaxReplicas: 20,
				Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
					ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: ptr.To[int32](60)}},
			}}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return hpa
}

// acts are the objects of a name that would scale.
func (w *world) acts(name string) (hpa *autoscalingv2.HorizontalPodAutoscaler, o *plimsollv1alpha1.WorkloadAutoscaler) {
	w.t.Helper()
	hpa, err := w.kube.AutoscalingV2().HorizontalPodAutoscalers(w.Name).Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		hpa, err = nil, nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	o, err = w.wla.Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return hpa, nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return hpa, o
}

func (w *world) session(c steps.Cluster) *session.Session {
	return &session.Session{
		Runner: &steps.Runner{
			Cluster: c, Backup: session.Backup(w.dir), Poll: 100 * time.Millisecond, Timeout: 30 * time.Second,
			Report: func(name types.NamespacedName, message string) { fmt.Fprintf(&w.output, "%s: %s\n", name, message) },
		},
		Observe: 300 * time.Millisecond, Out: &w.output, Progress: &w.output,
		Confirm: func(string) (bool, error) { return true, nil },
	}
}

// killing is a cluster whose process is killed after a write.
type killing struct {
	*cluster.Client

	left int
}

var errKilled = errors.New("killed")

// after ends the process once the write that it follows was the last one.
func (k *killing) after(err error) error {
	if err == nil {
		if k.left--; k.left == 0 {
			panic(errKilled)
		}
	}
	return err
}

func (k *killing) CreateHPA(ctx context.Context, hpa *unstructured.Unstructured) error {
	return k.after(k.Client.CreateHPA(ctx, hpa))
}

func (k *killing) DeleteHPA(ctx context.Context, read *unstructured.Unstructured) error {
	return k.after(k.Client.DeleteHPA(ctx, read))
}

func (k *killing) CreateWorkloadAutoscaler(ctx context.Context, o *plimsollv1alpha1.WorkloadAutoscaler) error {
	return k.after(k.Client.CreateWorkloadAutoscaler(ctx, o))
}

func (k *killing) SetMode(
	ctx context.Context, read *plimsollv1alpha1.WorkloadAutoscaler, mode plimsollv1alpha1.Mode, migrating string,
) error {
	return k.after(k.Client.SetMode(ctx, read, mode, migrating))
}

func (k *killing) DeleteWorkloadAutoscaler(ctx context.Context, read *plimsollv1alpha1.WorkloadAutoscaler) error {
	return k.after(k.Client.DeleteWorkloadAutoscaler(ctx, read))
}

// killed runs something that is killed after that many writes.
func (w *world) killed(writes int, run func(*session.Session) error) {
	w.t.Helper()
	defer func() {
		if r := recover(); r != any(errKilled) {
			w.t.Fatalf("not killed after %d writes, but: %v\n%s", writes, r, w.output.String())
		}
	}()
	err := run(w.session(&killing{Client: w.client, left: writes}))
	w.t.Fatalf("not killed after %d writes: %v\n%s", writes, err, w.output.String())
}

// Killed after each of its writes, there and back: never do both act, and the next run
// finishes. What comes back is what was there.
func TestKilledAfterEachWrite(t *testing.T) {
	w := newWorld(t)
	for writes := 1; writes <= 3; writes++ {
		name := fmt.Sprint("web-", writes)
		before := w.create(name)
		w.killedForward(name, writes)
		w.killedBack(before, writes)
	}
	files, err := filepath.Glob(filepath.Join(w.dir, "*"))
	if err != nil || len(files) != 3 {
		t.Errorf("%v, %v", files, err)
	}
	if !strings.Contains(w.output.String(), "LARGEST DIFFERENCE") {
		t.Error(w.output.String())
	}
}

// killedForward migrates an HPA in two runs.
func (w *world) killedForward(name string, writes int) {
	w.t.Helper()
	apply := func(s *session.Session) error { return s.Apply(w.t.Context(), []types.NamespacedName{w.name(name)}) }
	w.killed(writes, apply)
	hpa, o := w.acts(name)
	if hpa != nil && o.Spec.Mode != plimsollv1alpha1.ModePreview {
		w.t.Errorf("both act after %d writes", writes)
	}
	if err := apply(w.session(w.client)); err != nil {
		w.t.Fatalf("the second run: %v\n%s", err, w.output.String())
	}
	if hpa, o = w.acts(name); hpa != nil || o == nil || o.Spec.Mode != plimsollv1alpha1.ModeActive ||
		*o.Spec.MinReplicas != 2 || o.Labels["team"] != "checkout" {
		w.t.Fatalf("after %d writes and another run: %+v, %+v", writes, hpa, o)
	}
}

// killedBack restores an HPA in two runs.
func (w *world) killedBack(before *autoscalingv2.HorizontalPodAutoscaler, writes int) {
	w.t.Helper()
	back := func(s *session.Session) error {
		return s.Back(w.t.Context(), []types.NamespacedName{w.name(before.Name)})
	}
	w.killed(writes, back)
	hpa, o := w.acts(before.Name)
	if hpa != nil && o != nil && o.Spec.Mode != plimsollv1alpha1.ModePreview {
		w.t.Errorf("both act after %d writes back", writes)
	}
	if err := back(w.session(w.client)); err != nil {
		w.t.Fatalf("the second run back: %v\n%s", err, w.output.String())
	}
	if hpa, o = w.acts(before.Name); hpa == nil || o != nil {
		w.t.Fatalf("after %d writes back and another run: %+v, %+v", writes, hpa, o)
	}
	if d := cmp.Diff(before.Spec, hpa.Spec) + cmp.Diff(before.Labels, hpa.Labels) +
		cmp.Diff(before.Annotations, hpa.Annotations); d != "" {
		w.t.Error(d)
	}
}

// 200 HPAs at once, and back.
func TestMany(t *testing.T) {
	w := newWorld(t)
	var names []types.NamespacedName
	for i := range 200 {
		names = append(names, w.name(w.create(fmt.Sprint("web-", i)).Name))
	}
	s := w.session(w.client)
	// The status of 200 objects takes the test longer than a second.
	s.Observe = 10 * time.Second
	if err := s.Apply(t.Context(), names); err != nil {
		t.Fatalf("%v\n%s", err, w.output.String())
	}
	migrated, err := w.client.Migrated(t.Context(), w.Name, "team=checkout")
	if err != nil || len(migrated) != len(names) {
		t.Fatalf("%d migrated, %v", len(migrated), err)
	}
	for i := range migrated {
		if migrated[i].Spec.Mode != plimsollv1alpha1.ModeActive {
			t.Errorf("%s is %s", migrated[i].Name, migrated[i].Spec.Mode)
		}
	}
	if hpas, err := w.client.HPAs(t.Context(), w.Name, ""); err != nil || len(hpas) != 0 {
		t.Errorf("%d HPAs, %v", len(hpas), err)
	}
	if err := s.Back(t.Context(), names); err != nil {
		t.Fatalf("%v\n%s", err, w.output.String())
	}
	if hpas, err := w.client.HPAs(t.Context(), w.Name, ""); err != nil || len(hpas) != len(names) {
		t.Errorf("%d HPAs, %v", len(hpas), err)
	}
}

// Who lacks a permission is told which before anything is written.
func TestPermissions(t *testing.T) {
	w := newWorld(t)
	config := rest.CopyConfig(w.Cluster.RESTConfig())
	config.Impersonate = rest.ImpersonationConfig{UserName: "jane"}
	client, err := cluster.New(config)
	if err != nil {
		t.Fatal(err)
	}
	err = client.CheckPermissions(t.Context(), []string{w.Name}, false)
	for _, want := range []string{
		"you may not delete horizontalpodautoscalers.autoscaling in namespace " + w.Name,
		"you may not create workloadautoscalers.plimsoll.dev in namespace " + w.Name,
		"you may not patch workloadautoscalers.plimsoll.dev in namespace " + w.Name,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if err := w.client.CheckPermissions(t.Context(), []string{w.Name}, true); err != nil {
		t.Error(err)
	}
}
