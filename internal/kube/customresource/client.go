// Package customresource reads objects of kinds that CustomResourceDefinitions define.
//
// The API server stores the text of such objects as it is. One object that cannot be decoded, or that takes hours to
// decode, must not prevent reading the others.
package customresource

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// DefaultTimeout bounds one call to the API server.
const DefaultTimeout = 10 * time.Second

// Client calls the API server for the objects of one group and version.
type Client struct {
	REST       rest.Interface
	Parameters runtime.ParameterCodec

	kinds Kinds
}

// New makes a client. It makes no call.
func New(config *rest.Config, kinds Kinds, addToScheme func(*runtime.Scheme) error) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := addToScheme(scheme); err != nil {
		return nil, fmt.Errorf("scheme of %s: %w", kinds.Version, err)
	}
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &kinds.Version
	config.NegotiatedSerializer = kinds.Serializer(serializer.NewCodecFactory(scheme).WithoutConversion())
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", kinds.Version, err)
	}
	return &Client{REST: client, Parameters: runtime.NewParameterCodec(scheme), kinds: kinds}, nil
}

// Served reports whether the API server serves all of the resources, by their plural names: whether their definitions
// are installed.
func (c *Client) Served(ctx context.Context, resources ...string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	list := &metav1.APIResourceList{}
	body, err := c.REST.Get().AbsPath("/apis/" + c.kinds.Version.String()).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, list)
	}
	if err != nil {
		return false, fmt.Errorf("discovering %s: %w", c.kinds.Version, err)
	}
	served := map[string]bool{}
	for i := range list.APIResources {
		served[list.APIResources[i].Name] = true
	}
	for _, resource := range resources {
		if !served[resource] {
			return false, nil
		}
	}
	return true, nil
}

// servedPeriod is the period of AwaitServed's requests.
const servedPeriod = 30 * time.Second

// AwaitServed waits until the API server serves all of the resources. If it does not at
// first, the message is logged, once. An error is the context's.
func (c *Client) AwaitServed(ctx context.Context, log logr.Logger, message string, resources ...string) error {
	isLogged := false
	ticker := time.NewTicker(servedPeriod)
	defer ticker.Stop()
	for {
		served, err := c.Served(ctx, resources...)
		if served {
			return nil
		}
		if !isLogged {
			log.Info(message, "err", fmt.Sprint(err))
			isLogged = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
