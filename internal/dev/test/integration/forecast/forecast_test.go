package forecast

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/replay"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/kube/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

const (
	// startUp is the time until a pod is ready.
	startUp = time.Minute
	// calm and high are requests per second. A pod serves five at the target of 50 % and ten at all.
	calm, high = 8, 40
	perTarget  = 5
	// lead is the time from the start of the test to the jump: the checkpoint is read, and a forecast of three minutes
	// made.
	lead = 190 * time.Second
)

// TestYesterdayRepeated: the load of the last three days jumped at the same minute. Plimsoll starts with the checkpoint
// of them, three minutes before the next jump. The pods, which take a minute, are ready when the load comes.
func TestYesterdayRepeated(t *testing.T) {
	t.Parallel()
	o := workloads.Of(t, namespace(t))
	w := harness.Workload{
		Replicas: ptr.To[int32](2), Annotations: map[string]string{"sim.plimsoll.dev/startup-delay": startUp.String()},
	}
	o.Create(w.Deployment(), w.Service(calm))
	object := autoscaler(t)
	if _, err := o.WLAs.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	o.EventuallyWithin(3*startUp, "2 pods ready", readyIs(o, 2))
	o.AwaitWLA("web", "a forecast that learns", func(a *plimsollv1alpha1.WorkloadAutoscaler) error {
		object = a
		if f := a.Status.Forecast; f == nil || f.Reason != forecast.ReasonLearning.String() || f.Mode != "Active" {
			return fmt.Errorf("%+v", f)
		}
		return nil
	})

	program.Kill()
	jump := time.Now().Add(lead).Truncate(time.Minute).Add(time.Minute)
	save(t, o, object, learnt(t, jump))
	if err := start(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.EventuallyWithin(time.Until(jump), "at least 4 replicas wanted before the jump", func(ctx context.Context) error {
		a, err := o.WLAs.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return isRaised(a)
	})
	t.Logf("raised %v before the jump", time.Until(jump).Round(time.Second))
	o.Eventually("an event that the forecast raised the count", func(ctx context.Context) error { return saysForecast(ctx, o) })
	explained, _, code := program.Run(t, "explain", "wla/web", "--namespace="+o.Name,
		"--kubeconfig="+o.Cluster.KubeconfigPath(), "--controller-address="+program.Inspection(), "--verbose")
	if code != 0 || !strings.Contains(explained, "forecast") || !strings.Contains(explained, "pod-minutes") {
		t.Errorf("explain (exit status %d) says nothing of the forecast:\n%s", code, explained)
	}
	o.EventuallyWithin(time.Until(jump), "pods ready before the jump", readyIs(o, 4))

	<-time.After(time.Until(jump))
	o.SetLoad("web", high)
	o.AwaitReplicas(harness.Deployment, "web", high/perTarget)
}

// saysForecast reports why no event gives the forecast as the reason of a new count. The condition ForecastApplied goes as
// soon as the metrics keep the count, because pods are starting.
func saysForecast(ctx context.Context, o *workloads.Autoscalers) error {
	list, err := o.Client.CoreV1().Events(o.Name).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=WorkloadAutoscaler,reason=SuccessfulRescale"})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if strings.Contains(list.Items[i].Message, "reason: forecast of the load of earlier days") {
			return nil
		}
	}
	return fmt.Errorf("%d events of new counts", len(list.Items))
}

// isRaised reports why a WorkloadAutoscaler's count was not raised by its forecast.
func isRaised(a *plimsollv1alpha1.WorkloadAutoscaler) error {
	s := &a.Status
	switch f := s.Forecast; {
	case f == nil || f.Reason != forecast.ReasonInUse.String() || f.Replicas == nil || *f.Replicas < 4:
		return fmt.Errorf("status.forecast: %+v", f)
	case s.DesiredReplicas < 4:
		return fmt.Errorf("%d replicas wanted", s.DesiredReplicas)
	case f.AvoidedPodMinutesPerDay == nil || *f.AvoidedPodMinutesPerDay < 1 || ptr.Deref(f.StartUpSeconds, 0) < 55:
		return fmt.Errorf("status.forecast: %+v", f)
	}
	return nil
}

func autoscaler(t *testing.T) *plimsollv1alpha1.WorkloadAutoscaler {
	hpa := harness.Autoscaler("web", harness.Resource(corev1.ResourceCPU, harness.Utilization(50)))
	object := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	spec, err := json.Marshal(hpa.Spec)
	if err == nil {
		err = json.Unmarshal(spec, &object.Spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	object.Spec.Metrics[0].Name = "cpu"
	object.Spec.MinReplicas = ptr.To[int32](2)
	object.Spec.Forecast = &plimsollv1alpha1.Forecast{Mode: plimsollv1alpha1.ForecastActive}
	return object
}

// learnt is a controller's learnt forecast of a load that jumps for half an hour at the same time of each day.
func learnt(t *testing.T, jump time.Time) []byte {
	t.Helper()
	now := time.Now().Truncate(time.Minute)
	load := replay.Load{Start: now.AddDate(0, 0, -3), Full: 2}
	for at := load.Start; at.Before(now); at = at.Add(time.Minute) {
		pods := float64(calm) / perTarget
		if since := (at.Sub(jump)%(24*time.Hour) + 24*time.Hour) % (24 * time.Hour); since < 30*time.Minute {
			pods = float64(high) / perTarget
		}
		load.Pods, load.PerPodMilli = append(load.Pods, pods), append(load.PerPodMilli, 50)
	}
	result := replay.Play(&load, &replay.Config{
		Settings: forecast.Settings{
			Mode: forecast.Active, Price: forecast.DefaultPrice, WasteLimitPercent: forecast.DefaultWasteLimitPercent,
		},
		MinReplicas: 2, MaxReplicas: 10, StartUp: startUp, Tolerance: 0.1,
	})
	encoded, err := result.State.MarshalBinary()
	if err != nil || result.Last.Reason != forecast.ReasonInUse {
		t.Fatalf("%+v, %v", result.Last, err)
	}
	return encoded
}

// save stores a checkpoint as the controller does.
func save(t *testing.T, o *workloads.Autoscalers, of *plimsollv1alpha1.WorkloadAutoscaler, learnt []byte) {
	t.Helper()
	client, err := checkpoints.New(o.Cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	name := checkpoints.NameOf(observe.Key{
		NamespacedName: types.NamespacedName{Namespace: o.Name, Name: of.Name}, Kind: observe.WorkloadAutoscaler,
	})
	// The controller writes each once an hour, at a time of its own: it may have been before it was killed.
	switch written, err := client.Get(t.Context(), name); {
	case err == nil:
		if err := client.Delete(t.Context(), name, written.UID); err != nil {
			t.Fatal(err)
		}
	case !apierrors.IsNotFound(err):
		t.Fatal(err)
	}
	checkpoint := &plimsollv1alpha1.AutoscalerCheckpoint{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Spec: plimsollv1alpha1.AutoscalerCheckpointSpec{
			Autoscaler: plimsollv1alpha1.CheckpointedAutoscaler{
				Kind: "WorkloadAutoscaler", Name: of.Name, UID: of.UID,
			},
			LastUpdateTime: metav1.Now(), Forecast: learnt,
		},
	}
	if _, err := client.Create(t.Context(), checkpoint); err != nil {
		t.Fatal(err)
	}
}

// readyIs waits for ready pods.
func readyIs(o *workloads.Autoscalers, want int32) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		d, err := o.Client.AppsV1().Deployments(o.Name).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return lacks(d, want)
	}
}

func lacks(d *appsv1.Deployment, want int32) error {
	if d.Status.ReadyReplicas < want {
		return fmt.Errorf("%d ready", d.Status.ReadyReplicas)
	}
	return nil
}
