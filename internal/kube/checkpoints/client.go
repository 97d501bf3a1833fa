// Package checkpoints reads and writes AutoscalerCheckpoints.
package checkpoints

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/customresource"
)

// FieldManager is the writer's name in managedFields.
const FieldManager = "plimsoll-checkpoints"

// pageSize bounds the checkpoints in memory while a list is read: up to 3 MB of them.
const pageSize = 100

// Client calls the API server. Each call is bounded.
type Client struct {
	api *customresource.Client
}

// New makes a client. It makes no call.
func New(config *rest.Config) (*Client, error) {
	api, err := customresource.New(config, kinds, plimsollv1alpha1.AddToScheme)
	if err != nil {
		return nil, err
	}
	return &Client{api: api}, nil
}

// Each reads the checkpoints of all namespaces, page by page. visit owns its argument. After an error it may have been
// called for some of them.
func (c *Client) Each(ctx context.Context, visit func(*plimsollv1alpha1.AutoscalerCheckpoint)) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.page(ctx, &options)
		if next := continuedAnew(err); next != "" {
			options.Continue = next
			page, err = c.page(ctx, &options)
		}
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

// continuedAnew returns the token to continue a list whose version the API server has compacted, empty for any other
// error. The rest has a newer version: each object is as it was at some time of the list.
func continuedAnew(err error) string {
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) || !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		return ""
	}
	return refused.Status().Continue
}

func (c *Client) page(
	ctx context.Context, options *metav1.ListOptions,
) (*plimsollv1alpha1.AutoscalerCheckpointList, error) {
	ctx, cancel := context.WithTimeout(ctx, customresource.DefaultTimeout)
	defer cancel()
	page := &plimsollv1alpha1.AutoscalerCheckpointList{}
	err := c.api.REST.Get().Resource(plimsollv1alpha1.AutoscalerCheckpoints).
		VersionedParams(options, c.api.Parameters).Do(ctx).Into(page)
	return page, err
}

// Get reads one checkpoint.
func (c *Client) Get(
	ctx context.Context, name types.NamespacedName,
) (*plimsollv1alpha1.AutoscalerCheckpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, customresource.DefaultTimeout)
	defer cancel()
	read := &plimsollv1alpha1.AutoscalerCheckpoint{}
	err := c.api.REST.Get().Namespace(name.Namespace).Resource(plimsollv1alpha1.AutoscalerCheckpoints).
		Name(name.Name).Do(ctx).Into(read)
	if err != nil {
		return nil, fmt.Errorf("reading checkpoint %s: %w", name, err)
	}
	return read, nil
}

// Create creates a checkpoint, and returns its resource version.
func (c *Client) Create(
	ctx context.Context, checkpoint *plimsollv1alpha1.AutoscalerCheckpoint,
) (resourceVersion string, err error) {
	return c.write(ctx, "creating", c.api.REST.Post(), &metav1.CreateOptions{FieldManager: FieldManager}, checkpoint)
}

// Replace replaces the checkpoint with this resource version as a whole, and returns the new version.
func (c *Client) Replace(
	ctx context.Context, checkpoint *plimsollv1alpha1.AutoscalerCheckpoint,
) (resourceVersion string, err error) {
	return c.write(ctx, "replacing", c.api.REST.Put().Name(checkpoint.Name),
		&metav1.UpdateOptions{FieldManager: FieldManager}, checkpoint)
}

func (c *Client) write(
	ctx context.Context, doing string, request *rest.Request, options runtime.Object,
	checkpoint *plimsollv1alpha1.AutoscalerCheckpoint,
) (resourceVersion string, err error) {
	ctx, cancel := context.WithTimeout(ctx, customresource.DefaultTimeout)
	defer cancel()
	stored := &plimsollv1alpha1.AutoscalerCheckpoint{}
	err = request.Namespace(checkpoint.Namespace).Resource(plimsollv1alpha1.AutoscalerCheckpoints).
		VersionedParams(options, c.api.Parameters).Body(checkpoint).Do(ctx).Into(stored)
	if err != nil {
		return "", fmt.Errorf("%s checkpoint %s/%s: %w", doing, checkpoint.Namespace, checkpoint.Name, err)
	}
	return stored.ResourceVersion, nil
}

// Delete deletes the checkpoint with this UID; it succeeds if the checkpoint is gone already.
func (c *Client) Delete(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	ctx, cancel := context.WithTimeout(ctx, customresource.DefaultTimeout)
	defer cancel()
	err := c.api.REST.Delete().Namespace(name.Namespace).Resource(plimsollv1alpha1.AutoscalerCheckpoints).
		Name(name.Name).Body(metav1.NewPreconditionDeleteOptions(string(uid))).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting checkpoint %s: %w", name, err)
	}
	return nil
}
