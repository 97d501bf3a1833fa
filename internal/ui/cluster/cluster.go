package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// Config configures a Reader.
type Config struct {
	REST *rest.Config
	// Context is the name that the page shows.
	Context string
	// ClusterFlags has the flags that select the cluster in commands.
	ClusterFlags []string
	// Namespace restricts the autoscalers to one namespace; empty means all.
	Namespace string
	Finder    leader.Finder
	Explain   explainer.Options
}

// Reader reads a cluster.
type Reader struct {
	config  Config
	reader  *explainer.ClusterReader
	client  kubernetes.Interface
	rows    *rows
	advice  *advice
	parts   parts
	watches []*watched
}

// New returns a Reader; it calls no API.
func New(config Config) (*Reader, error) {
	own := rest.CopyConfig(config.REST)
	own.WarningHandler = rest.NoWarnings{}
	reader, err := explainer.NewClusterReader(own, config.Finder, config.Explain)
	if err != nil {
		return nil, err
	}
	r := &Reader{config: config, reader: reader, rows: newRows(), parts: parts{byName: map[string]*part{}}}
	if r.client, err = kubernetes.NewForConfig(own); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if r.advice, err = newAdvice(own, config.ClusterFlags); err != nil {
		return nil, err
	}
	err = r.watch(own)
	return r, err
}

// watch creates the informers. They keep only the fields of an object's row.
func (r *Reader) watch(config *rest.Config) error {
	ofHPAs := &watched{kind: view.HPA, resource: "horizontalpodautoscalers.autoscaling"}
	ofWLAs := &watched{kind: view.WLA, resource: "workloadautoscalers.plimsoll.dev"}
	ofVPAs := &watched{kind: view.VPA, resource: "verticalpodautoscalers.autoscaling.k8s.io"}
	r.watches = []*watched{ofHPAs, ofWLAs, ofVPAs}
	for _, w := range r.watches {
		w.namespace = r.config.Namespace
	}
	client, err := kubernetes.NewForConfig(ofHPAs.through(config))
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	wlas, err := wla.New(ofWLAs.through(config))
	if err != nil {
		return err
	}
	vpas, err := vpa.New(ofVPAs.through(config))
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(r.config.Namespace))
	ofHPAs.informer = factory.Autoscaling().V2().HorizontalPodAutoscalers().Informer()
	ofWLAs.informer = wlas.Informer(r.config.Namespace, nil)
	ofVPAs.informer = vpas.Informer(r.config.Namespace)
	if err := ofHPAs.informer.SetTransform(withoutManagers); err != nil {
		return fmt.Errorf("informer: %w", err)
	}
	for _, w := range r.watches {
		if err := w.informer.SetWatchErrorHandlerWithContext(w.failed); err != nil {
			return fmt.Errorf("informer: %w", err)
		}
		if _, err := w.informer.AddEventHandler(r.handler(w)); err != nil {
			return fmt.Errorf("informer: %w", err)
		}
	}
	return r.watchTargets(config)
}

func (r *Reader) watchTargets(config *rest.Config) (err error) {
	for kind, resource := range map[string]string{
		deploymentKind: "deployments.apps", statefulSetKind: "statefulsets.apps",
	} {
		w := &watched{kind: kind, resource: resource, namespace: r.config.Namespace}
		w.informer, err = readyInformer(kind, w.through(config), w.namespace, func(namespace, name string, ready *int32) {
			r.rows.setReady(target{namespace, kind + "/" + name}, ready)
		})
		if err != nil {
			return err
		}
		if err := w.informer.SetWatchErrorHandlerWithContext(w.failed); err != nil {
			return fmt.Errorf("informer: %w", err)
		}
		r.watches = append(r.watches, w)
	}
	return nil
}

// withoutManagers removes managedFields, whose size is unlimited, and which are not shown.
func withoutManagers(object any) (any, error) {
	if o, isObject := object.(metav1.Object); isObject {
		o.SetManagedFields(nil)
		delete(o.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	return object, nil
}

func (r *Reader) handler(w *watched) cache.ResourceEventHandler {
	set := func(object any) {
		if row, isOne := rowOf(object); isOne {
			r.rows.set(&row, time.Now())
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: set, UpdateFunc: func(_, object any) { set(object) },
		DeleteFunc: func(object any) {
			key, err := cache.DeletionHandlingObjectToName(object)
			if err == nil {
				r.rows.remove(view.IDOf(w.kind, key.Namespace, key.Name))
			}
		},
	}
}

func rowOf(object any) (view.Row, bool) {
	switch o := object.(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		return view.OfHPA(o), true
	case *plimsollv1alpha1.WorkloadAutoscaler:
		return view.OfWLA(o), true
	case *vpav1.VerticalPodAutoscaler:
		return view.OfVPA(o), true
	}
	return view.Row{}, false
}

// Run watches until the context ends.
func (r *Reader) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, w := range r.watches {
		all.Go(func() { w.informer.RunWithContext(ctx) })
	}
	all.Wait()
}

// Overview returns the changes since a revision; everything after 0.
func (r *Reader) Overview(since int64) *view.Overview {
	o := &view.Overview{
		Context: r.config.Context, Namespace: r.config.Namespace, Now: time.Now().UnixMilli(), Notes: []view.Note{},
	}
	r.rows.since(since, o)
	for _, w := range r.watches {
		if note, isOne := w.note(); isOne {
			o.Notes = append(o.Notes, note)
		}
	}
	return o
}
