// Package caches holds the caches that the parts of the vertical side share in one process.
package caches

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/conflicts"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
	"github.com/plimsoll-dev/plimsoll/internal/series"
)

// Caches are the shared clients and caches.
type Caches struct {
	Config
	VPAs        *vpa.Client
	Autoscalers cache.SharedIndexInformer
	// ownWorkloads is the cache of WorkloadAutoscalers if no other loop of the process has one.
	ownWorkloads *workloads.Cache
	Tree         *ownership.Tree
	Conflicts    *conflicts.Finder
}

// Config configures Caches.
type Config struct {
	REST   *rest.Config
	Client kubernetes.Interface
	// Informers may have been started before; Start starts those that were added since.
	Informers informers.SharedInformerFactory
	Pods      *podcache.Whole
	Scales    *scale.Access
	// Namespace is the only one whose objects are read; empty for all.
	Namespace string
	Conflict  conflict.Mode
	// Workloads is the cache of WorkloadAutoscalers that another loop of the process fills; nil without one.
	Workloads *workloads.Cache
	Log       logr.Logger
}

// New makes Caches. It reads nothing before Start.
func New(cfg Config) (*Caches, error) {
	c := &Caches{Config: cfg}
	var err error
	if c.VPAs, err = vpa.New(cfg.REST); err != nil {
		return nil, err
	}
	c.Autoscalers = c.VPAs.Informer(cfg.Namespace)
	if err := ReportUnreadable(c.Autoscalers, ctrlmetrics.Registry, cfg.Log); err != nil {
		return nil, err
	}
	c.Tree, err = ownership.New(ownership.Config{
		Informers: cfg.Informers, Scales: cfg.Scales.Scales, Mapper: cfg.Scales.Mapper, Autoscalers: c.Autoscalers,
	})
	if err != nil {
		return nil, err
	}
	if c.Workloads == nil {
		objects, err := wla.New(cfg.REST)
		if err != nil {
			return nil, err
		}
		c.ownWorkloads = workloads.New(objects, cfg.Namespace, cfg.Log)
		c.Workloads = c.ownWorkloads
	}
	c.Conflicts, err = conflicts.New(conflicts.Informers{
		Horizontals: cfg.Informers.Autoscaling().V2().HorizontalPodAutoscalers().Informer(),
		Workloads:   c.Workloads.Informer(), Verticals: c.Autoscalers,
	}, cfg.Conflict.Skips())
	if err != nil {
		return nil, err
	}
	return c, nil
}

// horizontalsTimeout bounds AwaitHorizontals.
const horizontalsTimeout = 30 * time.Second

// AwaitHorizontals waits until HPAs and WorkloadAutoscalers are in the caches: before, no conflict is found, and
// conflicting resources would be recommended. The wait is bounded: the vertical side works without the permission to
// list them.
func (c *Caches) AwaitHorizontals(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, horizontalsTimeout)
	defer cancel()
	synced := []cache.InformerSynced{c.Informers.Autoscaling().V2().HorizontalPodAutoscalers().Informer().HasSynced}
	if served, err := c.Workloads.Client.Served(ctx); served || err != nil {
		synced = append(synced, c.Workloads.Informer().HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		c.Log.Info("the detection of conflicts with horizontal autoscalers is incomplete until all of these are listed")
	}
}

// ReportUnreadable logs and counts the objects of an informer that cannot be read.
func ReportUnreadable(autoscalers cache.SharedIndexInformer, registerer prometheus.Registerer, log logr.Logger) error {
	unreadable := vpa.NewUnreadable(log)
	if _, err := autoscalers.AddEventHandler(unreadable); err != nil {
		return fmt.Errorf("following vertical autoscalers: %w", err)
	}
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Subsystem: "plimsoll", Name: "vertical_unreadable_objects",
		Help: "VerticalPodAutoscalers whose spec cannot be decoded. They are ignored.",
	}, unreadable.Count)
	return series.Register(registerer, &gauge)
}

// Start starts the caches.
func (c *Caches) Start(ctx context.Context) {
	c.Informers.Start(ctx.Done())
	c.Pods.Start(ctx)
	go c.Autoscalers.Run(ctx.Done())
	go c.Tree.Run(ctx)
	if c.ownWorkloads != nil {
		c.ownWorkloads.Fill(ctx)
	}
}

// EventKinds returns the scheme of the objects that the vertical side records events of. The scheme of all API types
// would take a quarter of a megabyte.
func EventKinds() (*runtime.Scheme, error) {
	kinds := runtime.NewScheme()
	kinds.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Pod{})
	if err := vpav1.AddToScheme(kinds); err != nil {
		return nil, fmt.Errorf("events' kinds: %w", err)
	}
	return kinds, nil
}
