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

// contentionTimeout is how long a kubelet may take: the answer has all of cAdvisor.
const contentionTimeout = 15 * time.Second

// NewContention makes what reads the CPU that containers did not get, from the agents and kubelets of the
// subscription's nodes. NewService comes first.
func (c *Config) NewContention(config *rest.Config, samples *podusage.Subscription, log logr.Logger) (
	func(context.Context) (contention.Seen, error), error,
) {
	if samples == nil {
		return nil, errors.New("contention is known of nodes that are scraped")
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
