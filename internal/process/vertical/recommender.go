package vertical

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/process"
	"github.com/plimsoll-dev/plimsoll/internal/process/kubelets"
)

// Recommender is the configuration of the recommender as a process of its own.
type Recommender struct {
	Process     process.Standalone
	Recommender recommender.Config
	Conflict    conflict.Mode
	Kubelets    kubelets.Config
}

// Run runs the recommender as a process of its own until ctx ends.
func (s *Recommender) Run(ctx context.Context, log logr.Logger) error {
	process.Prepare(log)
	config, err := s.Process.API.RESTConfig("plimsoll-recommender")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if err := s.Kubelets.Share(client, log.WithName("node-agents")); err != nil {
		return err
	}
	scales, err := scale.NewAccess(config)
	if err != nil {
		return err
	}
	metrics, err := metricsapi.New(metricsapi.Config{Rest: config, Mapper: scales.Mapper})
	if err != nil {
		return err
	}
	loop := New(Config{
		REST: config, Client: client, Scales: scales, Metrics: metrics, Recommender: s.Recommender, Conflict: s.Conflict,
		Kubelets: &s.Kubelets, Log: log,
		Informers: informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithTransform(slim.Transform), informers.WithNamespace(s.Recommender.Namespace)),
		Pods: podcache.NewWhole(client, s.Recommender.Namespace, podcache.RunningIf(s.Kubelets.ReadsAgents())...),
	})
	go scales.Rediscover(ctx)
	// Checkpoints are written at the end.
	grace := s.Recommender.FlushTimeout + 5*time.Second
	mgr, err := s.Process.NewManager(config, loop.health, &grace, log)
	if err != nil {
		return err
	}
	if err := mgr.Add(loop); err != nil {
		return fmt.Errorf("adding the loop: %w", err)
	}
	return mgr.Start(ctx)
}
