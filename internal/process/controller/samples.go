package controller

import (
	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	processvertical "github.com/plimsoll-dev/plimsoll/internal/process/vertical"
)

// nodeSamples returns the subscriptions of this process's loops to the samples of nodes, which are scraped once for
// both. A subscription is nil if its loop does not run, or does not read kubelets.
func (c *Config) nodeSamples(
	config *rest.Config, client kubernetes.Interface, log logr.Logger,
) (horizontal, vertical *podusage.Subscription, err error) {
	if !c.Kubelets.Reads() || !c.runs(Horizontal) && !c.runs(Recommender) {
		return nil, nil, nil
	}
	nodes, err := c.Kubelets.NewService(config, client, ctrlmetrics.Registry, log.WithName("nodes"))
	if err != nil {
		return nil, nil, err
	}
	if c.runs(Horizontal) {
		horizontal = nodes.Subscribe(podusage.Cadence{})
	}
	if c.runs(Recommender) {
		vertical = nodes.Subscribe(processvertical.Cadence(&c.Kubelets, c.Recommender.Interval))
	}
	return horizontal, vertical, nil
}
