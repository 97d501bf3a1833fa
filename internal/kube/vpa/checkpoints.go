package vpa

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// FieldManager is the writer's name in managedFields.
const FieldManager = "plimsoll-vertical"

// pageSize bounds the checkpoints in memory while a list is read.
const pageSize = 500

// CheckpointName returns the name of the checkpoint of a container, as upstream.
func CheckpointName(autoscaler, container string) string { return autoscaler + "-" + container }

// DistinctCheckpointName returns a name that no other object's container has, for the case that CheckpointName is
// another's too: web and api-server, or web-api and server.
func DistinctCheckpointName(autoscaler, container string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(autoscaler + "/" + container)) // it never fails
	return fmt.Sprintf("%s-%016x", CheckpointName(autoscaler, container), h.Sum64())
}

// EachCheckpoint reads the checkpoints of a namespace, or of all if it is empty, page by page. visit owns its argument.
func (c *Client) EachCheckpoint(
	ctx context.Context, namespace string, visit func(*vpav1.VerticalPodAutoscalerCheckpoint),
) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.checkpoints(ctx, namespace, options)
		if err != nil {
			return fmt.Errorf("listing checkpoints: %w", err)
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

func (c *Client) checkpoints(
	ctx context.Context, namespace string, options metav1.ListOptions,
) (*vpav1.VerticalPodAutoscalerCheckpointList, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	page := &vpav1.VerticalPodAutoscalerCheckpointList{}
	err := c.rest.Get().NamespaceIfScoped(namespace, namespace != "").Resource(vpav1.VerticalPodAutoscalerCheckpoints).
		VersionedParams(&options, c.parameters).Do(ctx).Into(page)
	return page, err
}

// WriteCheckpoint creates or updates a checkpoint: its status, and the annotations that it has. Others' annotations
// stay.
func (c *Client) WriteCheckpoint(ctx context.Context, checkpoint *vpav1.VerticalPodAutoscalerCheckpoint) error {
	err := c.patchCheckpoint(ctx, checkpoint, false)
	if apierrors.IsInvalid(err) && len(checkpoint.Annotations) > 0 {
		// A JSON patch cannot add an annotation to an object without any.
		err = c.patchCheckpoint(ctx, checkpoint, true)
	}
	if apierrors.IsNotFound(err) {
		err = c.createCheckpoint(ctx, checkpoint)
	}
	if err != nil {
		return fmt.Errorf("checkpoint %s/%s: %w", checkpoint.Namespace, checkpoint.Name, err)
	}
	return nil
}

func (c *Client) patchCheckpoint(
	ctx context.Context, checkpoint *vpav1.VerticalPodAutoscalerCheckpoint, isFirst bool,
) error {
	operations := []operation{
		{Op: "add", Path: "/spec", Value: checkpoint.Spec},
		{Op: "add", Path: "/status", Value: checkpoint.Status},
	}
	if isFirst {
		operations = append(operations, operation{Op: "add", Path: "/metadata/annotations", Value: checkpoint.Annotations})
	} else {
		for key, value := range checkpoint.Annotations {
			operations = append(operations,
				operation{Op: "add", Path: "/metadata/annotations/" + escape.Replace(key), Value: value})
		}
	}
	return c.patch(ctx, target{
		resource: vpav1.VerticalPodAutoscalerCheckpoints, namespace: checkpoint.Namespace, name: checkpoint.Name,
	}, operations, &vpav1.VerticalPodAutoscalerCheckpoint{})
}

// escape is RFC 6901's.
var escape = strings.NewReplacer("~", "~0", "/", "~1")

func (c *Client) createCheckpoint(ctx context.Context, checkpoint *vpav1.VerticalPodAutoscalerCheckpoint) error {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	return c.rest.Post().Namespace(checkpoint.Namespace).Resource(vpav1.VerticalPodAutoscalerCheckpoints).
		VersionedParams(&metav1.CreateOptions{FieldManager: FieldManager}, c.parameters).Body(checkpoint).Do(ctx).Error()
}

// DeleteCheckpoint deletes a checkpoint; it succeeds if it is gone already.
func (c *Client) DeleteCheckpoint(ctx context.Context, namespace, name string) error {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	err := c.rest.Delete().Namespace(namespace).Resource(vpav1.VerticalPodAutoscalerCheckpoints).Name(name).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting checkpoint %s/%s: %w", namespace, name, err)
	}
	return nil
}
