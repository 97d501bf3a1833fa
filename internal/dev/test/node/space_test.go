//go:build node

package node

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/node/setup"
)

const (
	// patience is the deadline for what takes seconds on a quiet machine.
	patience = 4 * time.Minute
	interval = 200 * time.Millisecond
)

// namespace is a test's namespace.
type space struct {
	t         *testing.T
	namespace string
}

func newSpace(t *testing.T) *space {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("Test", "", "/", "-").Replace(t.Name())) + "-"
	namespace, err := stage.cluster.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &space{t: t, namespace: namespace.Name}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			s.show(ctx)
		}
		if err := stage.cluster.Client().CoreV1().Namespaces().Delete(ctx, s.namespace, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete namespace %s: %v", s.namespace, err)
		}
	})
	return s
}

// in is the same space for a part of the test.
func (s *space) in(t *testing.T) *space { return &space{t: t, namespace: s.namespace} }

// show prints the state of a test that failed.
func (s *space) show(ctx context.Context) {
	for _, args := range [][]string{
		{"-n", s.namespace, "get", "vpa,hpa,pods", "-o", "wide"},
		{"-n", s.namespace, "get", "vpa", "-o", "yaml"},
		{"-n", s.namespace, "get", "events", "--sort-by=.metadata.creationTimestamp"},
		{"-n", own, "get", "pods", "-o", "wide"},
		{"-n", own, "logs", "-l", "app.kubernetes.io/name=plimsoll-controller", "--tail=40"},
		{"-n", own, "logs", "-l", "app.kubernetes.io/name=plimsoll-admission-controller", "--tail=20"},
		{"-n", agents, "get", "pods", "-o", "wide"},
		{"-n", agents, "logs", "-l", "app.kubernetes.io/name=" + agents, "--tail=20"},
	} {
		out, err := stage.cluster.Kubectl(ctx, args...)
		s.t.Logf("kubectl %s (%v)\n%s", strings.Join(args, " "), err, out)
	}
}

func (s *space) kubectl(args ...string) string {
	s.t.Helper()
	out, err := stage.cluster.Kubectl(s.t.Context(), append([]string{"-n", s.namespace}, args...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// eventually repeats check until it returns nil.
func (s *space) eventually(deadline time.Duration, what string, check func(context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), deadline)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var seen error
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil || seen == nil {
			// An error from the end of the time is not informative.
			seen = err
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("not within %s: %s; last seen: %v", deadline, what, seen)
		case <-ticker.C:
		}
	}
}

// holds checks for the whole time and ends the test as soon as check returns an error.
func (s *space) holds(duration time.Duration, what string, check func(context.Context) error) {
	s.t.Helper()
	began := time.Now()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for time.Since(began) < duration {
		if err := check(s.t.Context()); err != nil {
			s.t.Fatalf("after %s: not %s any more: %v", time.Since(began).Round(interval), what, err)
		}
		<-ticker.C
	}
}

// workload is a Deployment of containers that run test/node/load.
type workload struct {
	name             string
	replicas         int32
	args             []string
	requests, limits map[corev1.ResourceName]string
	// sidecar has a second container in each pod, which does nothing.
	sidecar bool
}

func list(of map[corev1.ResourceName]string) corev1.ResourceList {
	amounts := corev1.ResourceList{}
	for name, amount := range of {
		amounts[name] = resource.MustParse(amount)
	}
	return amounts
}

func (s *space) deploy(w workload) {
	s.t.Helper()
	labels := map[string]string{"app": w.name}
	containers := []corev1.Container{{
		Name: "app", Image: setup.LoadImage, ImagePullPolicy: corev1.PullNever, Args: w.args,
		Resources: corev1.ResourceRequirements{Requests: list(w.requests), Limits: list(w.limits)},
	}}
	if w.sidecar {
		containers = append(containers, corev1.Container{Name: "sidecar", Image: setup.LoadImage, ImagePullPolicy: corev1.PullNever})
	}
	_, err := stage.cluster.Client().AppsV1().Deployments(s.namespace).Create(s.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: w.name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &w.replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](1),
					Containers:                    containers,
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
}

// pods are the workload's that are not being deleted, by name.
func (s *space) pods(ctx context.Context, name string) ([]corev1.Pod, error) {
	found, err := stage.cluster.Client().CoreV1().Pods(s.namespace).List(ctx,
		metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		return nil, err
	}
	var pods []corev1.Pod
	for _, pod := range found.Items {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// running waits for the one pod of a workload whose container runs.
func (s *space) running(name string) *corev1.Pod {
	s.t.Helper()
	var pod *corev1.Pod
	s.eventually(patience, "a running pod of "+name, func(ctx context.Context) error {
		pods, err := s.pods(ctx, name)
		if err != nil || len(pods) != 1 {
			return fmt.Errorf("%d pods, %w", len(pods), err)
		}
		if pod = &pods[0]; len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Running == nil {
			return fmt.Errorf("%s: %+v", pod.Name, pod.Status.ContainerStatuses)
		}
		return nil
	})
	return pod
}

// recommend makes a VerticalPodAutoscaler for the Deployment of the same name; more is the rest of its spec, as JSON.
func (s *space) recommend(name, more string) {
	s.t.Helper()
	object := fmt.Sprintf(`{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler","metadata":{"name":%q,"namespace":%q},
		"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":%q}%s}}`, name, s.namespace, name, more)
	if _, err := stage.cluster.KubectlInput(s.t.Context(), object, "create", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *space) vpa(ctx context.Context, name string) (*vpav1.VerticalPodAutoscaler, error) {
	text, err := stage.cluster.Kubectl(ctx, "-n", s.namespace, "get", "vpa", name, "-o", "json")
	if err != nil {
		return nil, err
	}
	object := &vpav1.VerticalPodAutoscaler{}
	return object, json.Unmarshal([]byte(text), object)
}

// condition returns a condition of a VerticalPodAutoscaler; an error if it has none of the type.
func (s *space) condition(ctx context.Context, name, kind string) (vpav1.VerticalPodAutoscalerCondition, error) {
	object, err := s.vpa(ctx, name)
	if err != nil {
		return vpav1.VerticalPodAutoscalerCondition{}, err
	}
	for _, c := range object.Status.Conditions {
		if string(c.Type) == kind {
			return c, nil
		}
	}
	return vpav1.VerticalPodAutoscalerCondition{}, fmt.Errorf("no condition %s in %+v", kind, object.Status.Conditions)
}

// events are the messages of a reason in the namespace.
func (s *space) events(ctx context.Context, reason string) ([]string, error) {
	found, err := stage.cluster.Client().CoreV1().Events(s.namespace).List(ctx,
		metav1.ListOptions{FieldSelector: "reason=" + reason})
	if err != nil {
		return nil, err
	}
	var messages []string
	for _, event := range found.Items {
		messages = append(messages, event.InvolvedObject.Kind+" "+event.InvolvedObject.Name+": "+event.Message)
	}
	return messages, nil
}
