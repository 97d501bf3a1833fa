package reaction

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/autoscaler"
	"github.com/plimsoll-dev/plimsoll/internal/dev/deployed"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

const (
	namespace = "reaction"
	workload  = "web"
)

var podLabels = map[string]string{"app": workload}

// createWorkload makes the namespace and the Deployment.
func createWorkload(ctx context.Context, client kubernetes.Interface, template corev1.PodTemplateSpec) error {
	create := metav1.CreateOptions{}
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		create)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	if err := awaitAccount(ctx, client); err != nil {
		return err
	}
	if _, err := client.AppsV1().Deployments(namespace).Create(ctx, deployment(template), create); err != nil {
		return fmt.Errorf("create deployment %s/%s: %w", namespace, workload, err)
	}
	return nil
}

// awaitAccount waits for the namespace's service account, without which no pod can be made.
func awaitAccount(ctx context.Context, client kubernetes.Interface) error {
	return poll(ctx, 30*time.Second, func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

func deployment(template corev1.PodTemplateSpec) *appsv1.Deployment {
	template.Labels = podLabels
	for i := range template.Spec.Containers {
		if of := &template.Spec.Containers[i].Resources; of.Requests == nil {
			of.Requests = milliCPU(requestMilli)
		}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: workload, Namespace: namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](minReplicas),
			Selector: &metav1.LabelSelector{MatchLabels: podLabels},
			Template: template,
		},
	}
}

// createAutoscaler makes the autoscaler and waits until a count has been computed from its pods' samples.
func createAutoscaler(ctx context.Context, a Autoscaler, patience time.Duration) error {
	if err := a.Create(ctx); err != nil {
		return err
	}
	if err := poll(ctx, patience, a.Computed); err != nil {
		return fmt.Errorf("the autoscaler's first computed count: %w", err)
	}
	return nil
}

// autoscalerOf is an HPA, but for Plimsoll by requests a WorkloadAutoscaler, which reads them where the pods count.
func autoscalerOf(cluster *devcluster.Cluster, subject Subject, metricsPort int) (Autoscaler, error) {
	c := autoscaler.Config{
		REST: cluster.RESTConfig(), Namespace: namespace, Name: workload, MinReplicas: minReplicas, MaxReplicas: maxReplicas,
		Resource: subject.Load.metric(),
	}
	if subject.OnRequests {
		c.Requests = targetRequests
		if subject.Kind == Plimsoll {
			c.MetricsPort = metricsPort
		}
	}
	return autoscaler.New(c)
}

// reset removes the autoscaler, sets the workload back and waits until only as many pods are left.
func reset(ctx context.Context, client kubernetes.Interface, a Autoscaler, patience time.Duration) error {
	if err := a.Remove(ctx); err != nil {
		return err
	}
	// An autoscaler that was about to write may still do so: again and again, until it stays.
	err := poll(ctx, patience, func(ctx context.Context) error {
		scale, err := client.AppsV1().Deployments(namespace).GetScale(ctx, workload, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if scale.Spec.Replicas != minReplicas {
			scale.Spec.Replicas = minReplicas
			if _, err := client.AppsV1().Deployments(namespace).UpdateScale(ctx, workload, scale,
				metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			if len(pods.Items) != minReplicas || !ready(&pods.Items[i]) {
				return fmt.Errorf("%d pods, not %d that are ready", len(pods.Items), minReplicas)
			}
		}
		if len(pods.Items) == 0 {
			return errors.New("no pods")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("set the workload back: %w", err)
	}
	return nil
}

// removeWorkload removes the Deployment and waits for the end of its pods.
func removeWorkload(ctx context.Context, client kubernetes.Interface, patience time.Duration) error {
	foreground := metav1.DeletePropagationForeground
	err := client.AppsV1().Deployments(namespace).Delete(ctx, workload,
		metav1.DeleteOptions{PropagationPolicy: &foreground})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the workload: %w", err)
	}
	return poll(ctx, patience, func(ctx context.Context) error {
		_, err := client.AppsV1().Deployments(namespace).Get(ctx, workload, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("the workload is still there"), err)
	})
}

func ready(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// poll repeats check until it succeeds.
func poll(ctx context.Context, patience time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errTooLong)
	defer cancel()
	return deployed.Poll(ctx, check)
}
