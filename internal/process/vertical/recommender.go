package vertical

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/plimsoll-dev/plimsoll/internal/collect/currentusage"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/sampling"
	"github.com/plimsoll-dev/plimsoll/internal/kube/events"
	"github.com/plimsoll-dev/plimsoll/internal/process/kubelets"
	"github.com/plimsoll-dev/plimsoll/internal/process/vertical/caches"
)

const (
	// component is the source of the recommender's events, as upstream.
	component = "vpa-recommender"
	// scrapeInterval is the period of the recommender's scrapes of kubelets: short enough for the windows that it averages
	// over.
	scrapeInterval = 10 * time.Second
	// agentPeriod is the period of its scrapes of agents: that at which they read memory, whose peaks it needs.
	agentPeriod = time.Second
)

// recommenderConfig configures a recommenderProcess.
type recommenderConfig struct {
	Caches *caches.Caches
	// Recommender has the values of flags.
	Recommender recommender.Config
	Metrics     sampling.Metrics
	// Samples is the subscription to kubelets; nil if kubelets are not read.
	Samples  *podusage.Subscription
	Kubelets *kubelets.Config
}

// Cadence returns the periods at which the recommender needs samples of the nodes.
func Cadence(of *kubelets.Config, interval time.Duration) podusage.Cadence {
	return podusage.Cadence{Kubelets: max(of.Interval, min(scrapeInterval, interval)), Agents: agentPeriod}
}

// recommenderProcess is the recommender with its informers and recorder.
type recommenderProcess struct {
	*recommender.Recommender
	// Evictions has the events of evictions; the caller runs it.
	Evictions cache.SharedIndexInformer
	// Samples has the kubelets' samples; nil if kubelets are not read.
	Samples currentusage.Kubelets
	// StopEvents ends the recorder.
	StopEvents func()
}

// newRecommenderProcess makes it. Only the recorder of events runs yet.
func newRecommenderProcess(c *recommenderConfig) (*recommenderProcess, error) {
	r := &recommenderProcess{
		Evictions: coreinformers.NewFilteredEventInformer(c.Caches.Client, c.Caches.Namespace, 0, cache.Indexers{},
			func(options *metav1.ListOptions) { options.FieldSelector = "reason=Evicted" }),
	}
	cfg := c.Recommender
	cfg.Objects, cfg.Targets, cfg.Store, cfg.Metrics = c.Caches.Autoscalers, c.Caches.Tree, c.Caches.VPAs, c.Metrics
	cfg.Pods, cfg.Evictions = c.Caches.Pods, r.Evictions
	cfg.Conflicts, cfg.Registerer, cfg.Log = c.Caches.Conflicts.OfVertical, ctrlmetrics.Registry,
		c.Caches.Log.WithName("recommender")
	var err error
	if c.Samples != nil {
		cfg.Direct, r.Samples = c.Samples, c.Samples
		if cfg.Contention, err = c.Kubelets.NewContention(c.Caches.REST, c.Samples, cfg.Log); err != nil {
			return nil, err
		}
	}
	kinds, err := caches.EventKinds()
	if err != nil {
		return nil, err
	}
	bounded, err := kubernetes.NewForConfig(c.Caches.Scales.Bounded)
	if err != nil {
		return nil, fmt.Errorf("making an events client: %w", err)
	}
	cfg.Events, r.StopEvents = events.StartFor(context.Background(), bounded, component, kinds)
	if r.Recommender, err = recommender.New(cfg); err != nil {
		r.StopEvents()
		return nil, err
	}
	return r, nil
}
