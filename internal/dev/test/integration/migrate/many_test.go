package migrate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// many is the number of HPAs that are migrated in one run.
const many = 200

// 200 HPAs are migrated with --all and restored, each in one go, and nothing is scaled.
func TestMany(t *testing.T) {
	t.Parallel()
	w := emptyWorkload(t)
	w.Create(harness.Queue("jobs", 5))
	w.createMany()
	began := time.Now()
	table, progress := w.must("--all", "--apply", "--yes", observe)
	t.Logf("%d HPAs there: %s\n%s", many, time.Since(began).Round(time.Second/10), progress)
	if lines := strings.Count(table, "\n"); lines != many+1 {
		t.Errorf("%d lines in the table", lines)
	}
	if want := fmt.Sprintf("%d of %d migrated in ", many, many); !strings.Contains(progress, want) {
		t.Errorf("%q is missing in:\n%s", want, progress)
	}
	if files := w.files(); len(files) != many {
		t.Errorf("%d files", len(files))
	}
	list, err := w.WLAs.List(t.Context(), metav1.ListOptions{LabelSelector: "team=checkout"})
	if err != nil || len(list.Items) != many {
		t.Fatalf("%d WorkloadAutoscalers, %v", len(list.Items), err)
	}
	for i := range list.Items {
		if list.Items[i].Spec.Mode != plimsollv1alpha1.ModeActive {
			t.Errorf("%s is %s", list.Items[i].Name, list.Items[i].Spec.Mode)
		}
	}
	began = time.Now()
	_, progress = w.must("--all", "--apply", "--yes", "--back")
	t.Logf("%d HPAs back: %s\n%s", many, time.Since(began).Round(time.Second/10), progress)
	hpas, err := w.Client.AutoscalingV2().HorizontalPodAutoscalers(w.Name).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(hpas.Items) != many {
		t.Errorf("%d HPAs, %v", len(hpas.Items), err)
	}
	deployments, err := w.Client.AppsV1().Deployments(w.Name).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(deployments.Items) != many {
		t.Fatalf("%d Deployments, %v", len(deployments.Items), err)
	}
	for i := range deployments.Items {
		if d := &deployments.Items[i]; d.Generation != 1 {
			t.Errorf("Deployment %s has been changed: %d replicas", d.Name, *d.Spec.Replicas)
		}
	}
}

// createMany creates HPAs and their Deployments. Nine of ten Deployments have no replicas, which switches their HPAs
// off: the pods and metrics of all would be a load for the machine, not for migrate.
func (w *workload) createMany() {
	w.t.Helper()
	config := w.Cluster.RESTConfig()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	var all errgroup.Group
	all.SetLimit(8)
	for i := range many {
		name, replicas := fmt.Sprintf("web-%d", i), int32(0)
		if i%10 == 0 {
			replicas = 1
		}
		all.Go(func() error {
			deployment := harness.Workload{Name: name, Replicas: &replicas}.Deployment()
			_, err := client.AppsV1().Deployments(w.Name).Create(w.t.Context(), deployment, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			_, err = client.AutoscalingV2().HorizontalPodAutoscalers(w.Name).Create(w.t.Context(), queue(name),
				metav1.CreateOptions{})
			return err
		})
	}
	if err := all.Wait(); err != nil {
		w.t.Fatal(err)
	}
}
