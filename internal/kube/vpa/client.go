// Package vpa reads and writes VerticalPodAutoscalers and their checkpoints.
package vpa

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// DefaultTimeout bounds one call to the API server.
const DefaultTimeout = 10 * time.Second

// Client calls the API server.
type Client struct {
	rest       rest.Interface
	parameters runtime.ParameterCodec
}

// New makes a client; it makes no call.
func New(config *rest.Config) (*Client, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &vpav1.SchemeGroupVersion
	config.NegotiatedSerializer = tolerant{serializer.NewCodecFactory(scheme).WithoutConversion()}
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", vpav1.SchemeGroupVersion, err)
	}
	return &Client{rest: client, parameters: runtime.NewParameterCodec(scheme)}, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := vpav1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("scheme of %s: %w", vpav1.SchemeGroupVersion, err)
	}
	return scheme, nil
}

// Served reports whether the API server knows the objects: whether their
// definitions are installed.
func (c *Client) Served(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	resources := &metav1.APIResourceList{}
	body, err := c.rest.Get().AbsPath("/apis/" + vpav1.SchemeGroupVersion.String()).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		err = decode(body, resources)
	}
	if err != nil {
		return false, fmt.Errorf("discovering %s: %w", vpav1.SchemeGroupVersion, err)
	}
	known := map[string]bool{}
	for i := range resources.APIResources {
		known[resources.APIResources[i].Name] = true
	}
	return known[vpav1.VerticalPodAutoscalers] && known[vpav1.VerticalPodAutoscalerCheckpoints], nil
}

// Get reads one VerticalPodAutoscaler.
func (c *Client) Get(ctx context.Context, namespace, name string) (*vpav1.VerticalPodAutoscaler, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	object := &vpav1.VerticalPodAutoscaler{}
	err := c.rest.Get().Namespace(namespace).Resource(vpav1.VerticalPodAutoscalers).Name(name).Do(ctx).Into(object)
	return object, err
}
