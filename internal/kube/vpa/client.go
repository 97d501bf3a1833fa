// Package vpa reads and writes VerticalPodAutoscalers and their checkpoints.
package vpa

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/customresource"
)

// DefaultTimeout bounds one call to the API server.
const DefaultTimeout = customresource.DefaultTimeout

// Client calls the API server.
type Client struct {
	api        *customresource.Client
	rest       rest.Interface
	parameters runtime.ParameterCodec
}

// New makes a client. It makes no call.
func New(config *rest.Config) (*Client, error) {
	api, err := customresource.New(config, kinds, vpav1.AddToScheme)
	if err != nil {
		return nil, err
	}
	return &Client{api: api, rest: api.REST, parameters: api.Parameters}, nil
}

// Get reads one VerticalPodAutoscaler.
func (c *Client) Get(ctx context.Context, namespace, name string) (*vpav1.VerticalPodAutoscaler, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	object := &vpav1.VerticalPodAutoscaler{}
	err := c.rest.Get().Namespace(namespace).Resource(vpav1.VerticalPodAutoscalers).Name(name).Do(ctx).Into(object)
	return object, err
}

// List reads the VerticalPodAutoscalers of a namespace.
func (c *Client) List(ctx context.Context, namespace string) (*vpav1.VerticalPodAutoscalerList, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	list := &vpav1.VerticalPodAutoscalerList{}
	err := c.rest.Get().Namespace(namespace).Resource(vpav1.VerticalPodAutoscalers).Do(ctx).Into(list)
	return list, err
}
