// Package podchange evicts running pods, which PodDisruptionBudgets may forbid, and changes their resources in place.
package podchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	// Subresource is the subresource for changing the resources of a running pod.
	Subresource = "resize"
	// timeout bounds one call to the API server.
	timeout = 10 * time.Second
	// causeNodeCapacity is the cause in errors of the API server's PodResizeValidator if the node is too small (Kubernetes
	// 1.36).
	causeNodeCapacity metav1.CauseType = "NodeCapacity"
	// specField is the field in validation errors of a resize.
	specField = "spec"
	// rootField is the field in validation errors of the pod as a whole.
	rootField = "[]"
	// webhookAnswer is the API server's prefix of an admission webhook's message.
	webhookAnswer = "admission webhook "
)

var (
	// ErrInfeasible is returned if the node can never fit the resize.
	ErrInfeasible = errors.New("infeasible on its node")
	// ErrRefused is returned if an admission policy, a webhook or a quota refuses the resize, or if this process lacks the
	// permission.
	ErrRefused = errors.New("refused")
	// ErrGone is returned if the pod is gone, or another one has its name.
	ErrGone = errors.New("gone")
	// ErrEmpty is returned for a resize without changes.
	ErrEmpty = errors.New("nothing to change")
)

// Pod names a pod.
type Pod struct {
	Namespace, Name string
	UID             types.UID
}

// Container has the new resources of a container; resources outside the lists stay.
type Container struct {
	Name      string               `json:"name"`
	Resources ResourceRequirements `json:"resources"`
}

// ResourceRequirements has the requests and limits that change.
type ResourceRequirements struct {
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Limits   corev1.ResourceList `json:"limits,omitempty"`
}

// IsEmpty reports whether there is no change.
func (r *ResourceRequirements) IsEmpty() bool { return len(r.Requests) == 0 && len(r.Limits) == 0 }

// patch merges by the containers' names: their order plays no part. The UID is a
// precondition.
type patch struct {
	Metadata metadata `json:"metadata"`
	Spec     spec     `json:"spec"`
}

type metadata struct {
	UID types.UID `json:"uid"`
}

type spec struct {
	Containers []Container `json:"containers"`
}

// Resize sets these resources of the pod's containers.
func Resize(ctx context.Context, client kubernetes.Interface, pod Pod, containers []Container) error {
	if len(containers) == 0 {
		return ErrEmpty
	}
	body, err := json.Marshal(patch{Metadata: metadata{UID: pod.UID}, Spec: spec{Containers: containers}})
	if err != nil {
		return fmt.Errorf("encoding a resize: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err = client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body,
		metav1.PatchOptions{}, Subresource)
	if err != nil {
		return fmt.Errorf("resizing pod %s/%s: %w", pod.Namespace, pod.Name, classify(err))
	}
	return nil
}

// Annotate sets annotations of the pod, and removes those whose value is nil.
func Annotate(ctx context.Context, client kubernetes.Interface, pod Pod, annotations map[string]*string) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encoding annotations: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, body,
		metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("annotating pod %s/%s: %w", pod.Namespace, pod.Name, classify(err))
	}
	return nil
}

func classify(err error) error {
	switch {
	case apierrors.IsNotFound(err), isOther(err):
		return fmt.Errorf("%w: %w", ErrGone, err)
	case isInfeasible(err):
		return fmt.Errorf("%w: %w", ErrInfeasible, err)
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// isOther recognises that the UID is another pod's.
func isOther(err error) bool {
	return apierrors.IsConflict(err) && strings.Contains(err.Error(), "UID")
}

// isInfeasible recognises a node that is too small, and a change that the API server's own validation of pods always
// refuses. Admission policies and webhooks respond with the same code.
func isInfeasible(err error) bool {
	return apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, causeNodeCapacity) ||
		apierrors.IsInvalid(err) && isValidation(err)
}

// isValidation recognises validation errors: their causes have types, and fields of the pod's spec. Those of a policy
// have none, and the API server marks those of a webhook.
func isValidation(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	answer := status.Status()
	if answer.Details == nil || strings.HasPrefix(answer.Message, webhookAnswer) {
		return false
	}
	return slices.ContainsFunc(answer.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type != "" && (c.Field == rootField || c.Field == specField || strings.HasPrefix(c.Field, specField+"."))
	})
}
