package kubelets

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/contention"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
)

// contentionTimeout bounds a request to a kubelet: the response has all of cAdvisor.
const contentionTimeout = 15 * time.Second

// NewContention makes a reader of CPU throttling and pressure from the agents and kubelets of the subscription's nodes.
// NewService must be called first.
func (c *Config) NewContention(config *rest.Config, samples *podusage.Subscription, log logr.Logger) (
	func(context.Context) (contention.Seen, error), error,
) {
	if samples == nil {
		return nil, errors.New("contention is read only from nodes that are scraped")
	}
	options := c.Options
	options.Path, options.MaxResponseBytes = contention.Path, contention.MaxTextBytes
	options.RequestTimeout = max(options.RequestTimeout, contentionTimeout)
	client, err := kubelet.NewClient(config, options, log)
	if err != nil {
		return nil, err
	}
	reader, err := contention.NewReader(client, samples)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (contention.Seen, error) {
		return reader.Read(ctx, samples.Targets())
	}, nil
}
