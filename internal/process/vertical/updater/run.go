package updater

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/process"
	"github.com/plimsoll-dev/plimsoll/internal/process/vertical/caches"
)

// Standalone is the configuration of the updater as a process of its own.
type Standalone struct {
	Process     process.Standalone
	Updater     updater.Config
	Divergences divergence.Set
	Conflict    conflict.Mode
	// Namespace is the one whose objects are read; all without it.
	Namespace string
	Ignored   []string
}

// Run runs the updater as a process of its own until ctx ends.
func (s *Standalone) Run(ctx context.Context, log logr.Logger) error {
	process.Prepare(log)
	config, err := s.Process.API.RESTConfig("plimsoll-updater")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	scales, err := scale.NewAccess(config)
	if err != nil {
		return err
	}
	go scales.Rediscover(ctx)
	options := []informers.SharedInformerOption{informers.WithTransform(slim.Transform)}
	if s.Namespace != "" {
		options = append(options, informers.WithNamespace(s.Namespace))
	}
	all, err := caches.New(caches.Config{
		REST: config, Client: client, Informers: informers.NewSharedInformerFactoryWithOptions(client, 0, options...),
		Pods: podcache.NewWhole(client, s.Namespace), Scales: scales, Namespace: s.Namespace, Conflict: s.Conflict, Log: log,
	})
	if err != nil {
		return err
	}
	loop, err := New(LoopConfig{
		Caches: all, Controller: s.Updater, Divergences: s.Conflict.Divergences(s.Divergences), Ignored: s.Ignored,
	})
	if err != nil {
		return err
	}
	loop.ownsCaches = true
	mgr, err := s.Process.NewManager(config, loop.health, nil, log)
	if err != nil {
		return err
	}
	if err := mgr.Add(loop); err != nil {
		return fmt.Errorf("adding the loop: %w", err)
	}
	return mgr.Start(ctx)
}
