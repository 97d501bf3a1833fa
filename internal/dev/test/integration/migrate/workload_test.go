package migrate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/workloads"
)

// patience is how long a count must stay: a decision of kube-controller-manager, and several of Plimsoll.
const patience = 6 * time.Second

// observe is the duration of migrate's comparison here.
const observe = "--observe=4s"

// workload is the Deployment web, with ten waiting jobs for each replica wanted, and the HPA web.
type workload struct {
	*workloads.Autoscalers

	t *testing.T
	// backups is the folder for the manifests.
	backups string
}

// newWorkload waits until the HPA has come to a count for that many waiting jobs.
func newWorkload(t *testing.T, jobs int) *workload {
	t.Helper()
	w := emptyWorkload(t)
	hpa := queue("web")
	replicas := int32((jobs + 9) / 10)
	w.Create(harness.Workload{Replicas: &replicas}.Deployment(), harness.Queue("jobs", jobs), hpa)
	w.AwaitHPA("web", "the first decision", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		if hpa.Status.DesiredReplicas != replicas || len(hpa.Status.CurrentMetrics) == 0 {
			return fmt.Errorf("%d wanted", hpa.Status.DesiredReplicas)
		}
		return nil
	})
	return w
}

// emptyWorkload has no objects yet.
func emptyWorkload(t *testing.T) *workload {
	t.Helper()
	return &workload{Autoscalers: workloads.Of(t, namespace(t)), t: t, backups: t.TempDir()}
}

// queue is an HPA that has each controller follow the queue at once, up and down.
func queue(name string) *autoscalingv2.HorizontalPodAutoscaler {
	hpa := harness.Autoscaler(name, harness.QueueLength("jobs", harness.AverageValue("10")))
	hpa.Spec.Behavior = harness.DownAtOnce()
	hpa.Labels = map[string]string{"team": "checkout"}
	return hpa
}

// command is plimsoll migrate with these arguments.
func (w *workload) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), program.Binary(), append([]string{"migrate", "-n", w.Name}, args...)...)
	cmd.Env = w.Cluster.Env()
	cmd.Dir = w.backups
	return cmd
}

// run runs plimsoll migrate to its end.
func (w *workload) run(args ...string) (stdout, stderr string, err error) {
	w.t.Helper()
	return output(w.command(args...))
}

func output(cmd *exec.Cmd) (stdout, stderr string, err error) {
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	return out.String(), problems.String(), err
}

// must runs plimsoll migrate, which must not fail.
func (w *workload) must(args ...string) (stdout, stderr string) {
	w.t.Helper()
	stdout, stderr, err := w.run(args...)
	if err != nil {
		w.t.Fatalf("migrate %v: %v\n%s%s", args, err, stdout, stderr)
	}
	return stdout, stderr
}

func (w *workload) apply() (stdout, stderr string) {
	w.t.Helper()
	return w.must("hpa/web", "--apply", "--yes", observe)
}

func (w *workload) back() (stdout, stderr string) {
	w.t.Helper()
	return w.must("hpa/web", "--apply", "--yes", "--back")
}

// objects are the HPA and the WorkloadAutoscaler of a name; nil where there is none.
func (w *workload) objects(
	name string,
) (hpa *autoscalingv2.HorizontalPodAutoscaler, o *plimsollv1alpha1.WorkloadAutoscaler) {
	w.t.Helper()
	hpa, err := w.Client.AutoscalingV2().HorizontalPodAutoscalers(w.Name).Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		hpa, err = nil, nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	o, err = w.WLAs.Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return hpa, nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return hpa, o
}

// faults watches the WorkloadAutoscaler. It returns a function that ends that, and returns which conditions looked like
// an error meanwhile.
func (w *workload) faults(name string) func() []string {
	w.t.Helper()
	watcher, err := w.WLAs.Watch(w.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watcher.ResultChan() {
			o, ok := event.Object.(*plimsollv1alpha1.WorkloadAutoscaler)
			if !ok {
				continue
			}
			for _, c := range o.Status.Conditions {
				isFalse := c.Status == metav1.ConditionFalse && (c.Type == "AbleToScale" || c.Type == "ScalingActive")
				if isFalse || c.Type == "Stalled" {
					all = append(all, fmt.Sprintf("%s %s in mode %s, %v: %s", c.Type, c.Reason, o.Spec.Mode, o.Annotations, c.Message))
				}
			}
		}
	}()
	return func() []string {
		watcher.Stop()
		<-ended
		return all
	}
}

// isMigrated ends the test unless the WorkloadAutoscaler has replaced the HPA.
func (w *workload) isMigrated(name string) {
	w.t.Helper()
	hpa, o := w.objects(name)
	if hpa != nil || o == nil || o.Spec.Mode != plimsollv1alpha1.ModeActive ||
		o.Annotations["plimsoll.dev/migrated-from"] == "" || o.Annotations["plimsoll.dev/migrating"] != "" {
		w.t.Fatalf("not migrated: %+v\n%+v", hpa, o)
	}
}

// isBack ends the test unless the HPA is as it was.
func (w *workload) isBack(before *autoscalingv2.HorizontalPodAutoscaler) {
	w.t.Helper()
	hpa, o := w.objects(before.Name)
	if hpa == nil || o != nil {
		w.t.Fatalf("not restored: %+v\n%+v", hpa, o)
	}
	if !equal(hpa.Spec, before.Spec) || !equal(hpa.Labels, before.Labels) || !equal(hpa.Annotations, before.Annotations) {
		w.t.Errorf("restored %+v\nwas %+v", hpa, before)
	}
}

// files are the manifests that were kept.
func (w *workload) files() []string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.backups, "*.hpa.yaml"))
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

// read is the content of a file.
func (w *workload) read(file string) string {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// awaitDecided waits until Plimsoll shows what it would set.
func (w *workload) awaitDecided(name string, desired int32) {
	w.t.Helper()
	w.Eventually(fmt.Sprintf("%d wanted by WorkloadAutoscaler %s", desired, name), func(ctx context.Context) error {
		o, err := w.WLAs.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ptr.Deref(o.Status.ObservedGeneration, 0) != o.Generation || o.Status.DesiredReplicas != desired {
			return fmt.Errorf("%+v", o.Status)
		}
		return nil
	})
}
