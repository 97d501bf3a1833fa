// Package scale reads and writes the scale subresource of any kind that has one, and maps kinds to the resources that
// serve them.
package scale

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/util/retry"
)

// DefaultTimeout bounds one call to the API server.
const DefaultTimeout = 10 * time.Second

// ErrMoved is returned by a write if another writer has changed the replica count since it was read: the decision is
// about an outdated replica count. Upstream overwrites the other writer's.
var ErrMoved = errors.New("another writer has scaled the target")

// ErrReference marks a scale target reference that cannot be understood.
var ErrReference = errors.New("invalid scale target reference")

// Target is the scale of a target, with the resource for writing it.
type Target struct {
	Resource schema.GroupResource
	Scale    *autoscalingv1.Scale
}

// Source returns the scales of some targets without a call to the API server.
type Source interface {
	// Scale returns false if it does not have the scale.
	Scale(kind schema.GroupKind, namespace, name string) (Target, bool)
}

// Config configures a Client.
type Config struct {
	Scales scaleclient.ScalesGetter
	// Writes is used for writes, Scales if it is nil. It must not have a client-side limit: the state that a write is
	// based on was checked just before.
	Writes scaleclient.ScalesGetter
	// Kinds resolves and caches the kind of a resource's scale for Writes; it may be nil.
	Kinds  scaleclient.ScaleKindResolver
	Mapper meta.RESTMapper
	// Known is read before the API server; it may be nil.
	Known Source
	// Timeout bounds each call to the API server.
	Timeout time.Duration
	// FieldManager is the writer's name in managedFields.
	FieldManager string
}

// Client reads and writes scales.
type Client struct {
	config Config
}

// New checks the configuration.
func New(cfg Config) (*Client, error) {
	if cfg.Scales == nil || cfg.Mapper == nil {
		return nil, errors.New("scale client: a ScalesGetter and a RESTMapper are needed")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Writes == nil {
		cfg.Writes = cfg.Scales
	}
	return &Client{config: cfg}, nil
}

// KindOf returns the kind that the reference names. As upstream, it ignores the version.
func KindOf(ref autoscalingv2.CrossVersionObjectReference) (schema.GroupKind, error) {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return schema.GroupKind{}, fmt.Errorf("%w%w", err, wordless{ErrReference})
	}
	return schema.GroupKind{Group: version.Group, Kind: ref.Kind}, nil
}

// Get returns the scale that the reference names, from Known or else from Read.
func (c *Client) Get(
	ctx context.Context, namespace string, ref autoscalingv2.CrossVersionObjectReference,
) (Target, error) {
	kind, err := KindOf(ref)
	if err != nil {
		return Target{}, err
	}
	if target, ok := c.Known(kind, namespace, ref.Name); ok {
		return target, nil
	}
	return c.Read(ctx, kind, namespace, ref.Name)
}

// Known returns the scale from the configured Known.
func (c *Client) Known(kind schema.GroupKind, namespace, name string) (Target, bool) {
	if c.config.Known == nil {
		return Target{}, false
	}
	return c.config.Known.Scale(kind, namespace, name)
}

// Read reads the scale from the API server. If the resource of the kind must be discovered first, the mapper bounds
// that, not ctx.
func (c *Client) Read(ctx context.Context, kind schema.GroupKind, namespace, name string) (Target, error) {
	mappings, err := c.Mappings(kind)
	if err != nil {
		return Target{}, err
	}
	return c.ReadMapped(ctx, mappings, namespace, name)
}

// Mappings returns the resources of the kind. They may have to be discovered.
func (c *Client) Mappings(kind schema.GroupKind) ([]*meta.RESTMapping, error) {
	return c.config.Mapper.RESTMappings(kind)
}

// ReadMapped is Read of one of these resources. It tries one after the other; if all fail, it returns the first one's
// error.
func (c *Client) ReadMapped(ctx context.Context, mappings []*meta.RESTMapping, namespace, name string) (Target, error) {
	var firstErr error
	for _, mapping := range mappings {
		resource := mapping.Resource.GroupResource()
		scale, err := c.get(ctx, resource, namespace, name)
		if err == nil {
			return Target{Resource: resource, Scale: scale}, nil
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	if firstErr == nil {
		firstErr = errors.New("unrecognized resource")
	}
	return Target{}, firstErr
}

func (c *Client) get(
	ctx context.Context, resource schema.GroupResource, namespace, name string,
) (*autoscalingv1.Scale, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	return c.config.Scales.Scales(namespace).Get(ctx, resource, name, metav1.GetOptions{})
}

// Write sets the target's replica count and returns the written scale. After a conflict it reads the scale and tries
// again, unless the count itself has changed: then it returns ErrMoved, and the other writer's scale. If the scale has
// no resource version, as an aggregated API may return it, it reads the count just before the write instead. It calls
// mayWrite before each attempt; an error from it ends the write. With an error, Write also returns the scale that it
// read last, for the next attempt; nil if it read none.
func (c *Client) Write(
	ctx context.Context, target Target, replicas int32, mayWrite func() error,
) (*autoscalingv1.Scale, error) {
	if err := c.findKind(target.Resource); err != nil {
		return nil, err
	}
	from := target.Scale.Spec.Replicas
	scale := target.Scale.DeepCopy()
	var written, found *autoscalingv1.Scale
	reread := func() error {
		latest, err := c.get(ctx, target.Resource, scale.Namespace, scale.Name)
		if err != nil {
			return err
		}
		found = latest
		if latest.UID != scale.UID || latest.Spec.Replicas != from {
			return ErrMoved
		}
		scale = latest.DeepCopy()
		return nil
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if scale.ResourceVersion == "" {
			// No conflict will reveal another writer's count.
			if err := reread(); err != nil {
				return err
			}
		}
		if err := mayWrite(); err != nil {
			return err
		}
		scale.Spec.Replicas = replicas
		var err error
		written, err = c.update(ctx, target.Resource, scale)
		if !apierrors.IsConflict(err) {
			return err
		}
		if err := reread(); err != nil {
			return err
		}
		return err
	})
	if err != nil {
		return found, err
	}
	return written, nil
}

// findKind resolves the kind of the resource's scale. A call for that must not come between mayWrite and the write.
func (c *Client) findKind(resource schema.GroupResource) error {
	if c.config.Kinds == nil {
		return nil
	}
	full, err := c.config.Mapper.ResourceFor(resource.WithVersion(""))
	if err == nil {
		_, err = c.config.Kinds.ScaleForResource(full)
	}
	return err
}

func (c *Client) update(
	ctx context.Context, resource schema.GroupResource, scale *autoscalingv1.Scale,
) (*autoscalingv1.Scale, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	return c.config.Writes.Scales(scale.Namespace).Update(ctx, resource, scale,
		metav1.UpdateOptions{FieldManager: c.config.FieldManager})
}

// wordless adds a sentinel to an error without adding to its text, which
// conditions and events repeat.
type wordless struct{ error }

// Error implements error.
func (wordless) Error() string { return "" }

func (w wordless) Unwrap() error { return w.error }
