package main

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/conflicts"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	"github.com/plimsoll-dev/plimsoll/internal/series"
)

// verticalShared is what the parts of the vertical side share in one process: one
// cache of everything.
type verticalShared struct {
	config *rest.Config
	client kubernetes.Interface
	// informers may have been started before; start starts what was added since.
	informers   informers.SharedInformerFactory
	vpas        *vpa.Client
	autoscalers cache.SharedIndexInformer
	tree        *ownership.Tree
	conflicts   *conflicts.Finder
	log         logr.Logger
}

// verticalConfig is what the shared part is made of.
type verticalConfig struct {
	rest      *rest.Config
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
	scales    scaleclient.ScalesGetter
	mapper    meta.RESTMapper
	// namespace is the one to look at; all without it.
	namespace string
	// skipsConflicts says that --vertical-conflict is skip.
	skipsConflicts bool
	log            logr.Logger
}

func newVerticalShared(cfg verticalConfig) (*verticalShared, error) {
	s := &verticalShared{config: cfg.rest, client: cfg.client, informers: cfg.informers, log: cfg.log}
	var err error
	if s.vpas, err = vpa.New(cfg.rest); err != nil {
		return nil, err
	}
	s.autoscalers = s.vpas.Informer(cfg.namespace)
	if err := reportUnreadable(s.autoscalers, ctrlmetrics.Registry, cfg.log); err != nil {
		return nil, err
	}
	s.tree, err = ownership.New(ownership.Config{
		Informers: cfg.informers, Scales: cfg.scales, Mapper: cfg.mapper, Autoscalers: s.autoscalers,
	})
	if err != nil {
		return nil, err
	}
	horizontals := cfg.informers.Autoscaling().V2().HorizontalPodAutoscalers().Informer()
	if s.conflicts, err = conflicts.New(horizontals, s.autoscalers, cfg.skipsConflicts); err != nil {
		return nil, err
	}
	return s, nil
}

// reportUnreadable logs and counts the objects of an informer that cannot be read.
func reportUnreadable(autoscalers cache.SharedIndexInformer, registerer prometheus.Registerer, log logr.Logger) error {
	unreadable := vpa.NewUnreadable(log)
	if _, err := autoscalers.AddEventHandler(unreadable); err != nil {
		return fmt.Errorf("following vertical autoscalers: %w", err)
	}
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Subsystem: "plimsoll", Name: "vertical_unreadable_objects", Help: "VerticalPodAutoscalers whose spec cannot be read. Nothing is done for them.",
	}, unreadable.Count)
	return series.Register(registerer, &gauge)
}

// start starts the caches.
func (s *verticalShared) start(ctx context.Context) {
	s.informers.Start(ctx.Done())
	go s.autoscalers.Run(ctx.Done())
	go s.tree.Run(ctx)
}

// verticalKinds is the scheme of the objects that the vertical side tells events
// about. All that the API has would take a quarter of a megabyte.
func verticalKinds() (*runtime.Scheme, error) {
	kinds := runtime.NewScheme()
	kinds.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Pod{})
	if err := vpav1.AddToScheme(kinds); err != nil {
		return nil, fmt.Errorf("events' kinds: %w", err)
	}
	return kinds, nil
}
