// Package deployed runs Plimsoll in pods of a real node, as config/ does, to scale horizontally.
package deployed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/image"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
)

// The names of Plimsoll in config/.
const (
	namespace  = "plimsoll-system"
	deployment = "plimsoll-controller"
)

// Acts is the flag that spares Plimsoll the time to find out that no other controller acts on HPAs.
const Acts = "--horizontal-pod-autoscalers=act"

// patience is for pods to be ready, and to be gone.
const patience = time.Minute

// Import gives the node Plimsoll's image, packed from a program.
func Import(ctx context.Context, node *realnode.Node, path string) error {
	program, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("plimsoll's image: %w", err)
	}
	packed, err := image.Build(program, "bench")
	if err != nil {
		return fmt.Errorf("plimsoll's image: %w", err)
	}
	return node.Import(ctx, image.DefaultTag, packed)
}

// Start applies config/ and returns when its pods are ready. Flags come after those of config/.
func Start(ctx context.Context, cluster *devcluster.Cluster, flags []string) error {
	if err := cluster.DeployPlimsoll(ctx, func(object *unstructured.Unstructured) (bool, error) {
		return keep(object, flags)
	}); err != nil {
		return err
	}
	err := poll(ctx, func(ctx context.Context) error {
		d, err := cluster.Client().AppsV1().Deployments(namespace).Get(ctx, deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Spec.Replicas == nil || d.Status.ReadyReplicas != *d.Spec.Replicas {
			return fmt.Errorf("%d replicas are ready", d.Status.ReadyReplicas)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("plimsoll's pods: %w", err)
	}
	return nil
}

// Stop returns when its pods are gone, too: what is deployed over a Deployment that is going, goes with it.
func Stop(ctx context.Context, client kubernetes.Interface) error {
	return Delete(ctx, client, namespace, deployment)
}

// Delete deletes a Deployment, if there is one, and returns when its pods are gone, too.
func Delete(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	deployments, foreground := client.AppsV1().Deployments(namespace), metav1.DeletePropagationForeground
	err := poll(ctx, func(ctx context.Context) error {
		err := deployments.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &foreground})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("its Deployment is still there")
	})
	if err != nil {
		return fmt.Errorf("end %s: %w", name, err)
	}
	return nil
}

// keep leaves out what does not scale horizontally, and makes config/'s Deployment one of an image that no registry
// has, with more flags. All else stays.
func keep(object *unstructured.Unstructured, flags []string) (bool, error) {
	switch object.GetKind() {
	case "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "PriorityClass":
		return true, nil
	case "Deployment":
		if object.GetName() != deployment {
			return false, nil
		}
		return true, edit(object, flags)
	default:
		return false, nil
	}
}

func edit(object *unstructured.Unstructured, flags []string) error {
	return EditContainer(object, func(container map[string]any) error {
		container["imagePullPolicy"] = string(corev1.PullNever)
		args, ok := container["args"].([]any)
		if !ok {
			return errors.New("its container has no arguments")
		}
		for _, flag := range flags {
			args = append(args, flag)
		}
		container["args"] = args
		return nil
	})
}

// EditContainer changes the one container of a Deployment or DaemonSet.
func EditContainer(object *unstructured.Unstructured, change func(container map[string]any) error) error {
	path := []string{"spec", "template", "spec", "containers"}
	containers, found, err := unstructured.NestedSlice(object.Object, path...)
	if err != nil || !found || len(containers) != 1 {
		return fmt.Errorf("it has no one container: %w", errors.Join(err))
	}
	container, ok := containers[0].(map[string]any)
	if !ok {
		return errors.New("its container is no object")
	}
	if err := change(container); err != nil {
		return err
	}
	if err := unstructured.SetNestedSlice(object.Object, containers, path...); err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	return nil
}

// poll repeats a check until it succeeds; patience ends it.
func poll(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return Poll(ctx, check)
}

// Poll repeats a check until it succeeds or the context ends. Then it returns the cause, and how the check failed last.
func Poll(ctx context.Context, check func(context.Context) error) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), errors.Join(last))
		case <-ticker.C:
		}
	}
}
