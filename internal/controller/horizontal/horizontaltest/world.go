package horizontaltest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Period is the sync period.
const Period = 15 * time.Second

// The resources that tests write.
var (
	HPAResource        = autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	DeploymentResource = appsv1.SchemeGroupVersion.WithResource("deployments")
	PodResource        = corev1.SchemeGroupVersion.WithResource("pods")
)

// World is a cluster with virtual time: an API server that keeps resource
// versions and refuses conflicting writes, metrics APIs and a controller.
type World struct {
	record.EventRecorder // the controller uses Event and Eventf only

	T        testing.TB
	Client   *fake.Clientset
	Registry *prometheus.Registry
	Stop     func()
	// Made is called with each controller before it runs; it may be nil.
	Made func(*controllerhorizontal.Controller)

	podsMu sync.Mutex
	listed map[string][]corev1.Pod // guarded by podsMu; by namespace, since the last write of a pod

	// Mu guards the following.
	Mu            sync.Mutex
	Version       int
	Usage         int64 // milli CPU of each pod
	ExternalValue func(context.Context) (int64, error)
	CustomValue   func(context.Context) (int64, error)
	// Measured is the timestamp of external values; now if it is zero.
	Measured time.Time
	Asked    []time.Time
	Events   []string
	Scaled   []string
	Logs     []string
	// BeforeScale and beforeStatus are called before a write and may refuse it.
	BeforeScale  func() error
	BeforeStatus func() error
	// HideStatus hides status writes from the watchers; hidden has them.
	HideStatus bool
	Hidden     []runtime.Object
}

// InWorld runs a test in virtual time.
func InWorld(t *testing.T, test func(t *testing.T, w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t)
		defer func() {
			if w.Stop != nil {
				w.Stop()
			}
		}()
		test(t, w)
	})
}

// NewWorld returns a cluster without objects.
func NewWorld(t testing.TB) *World {
	// The newer fake writes managedFields itself, which these tests are about.
	client := fake.NewSimpleClientset()
	w := &World{T: t, Client: client, Registry: prometheus.NewRegistry(), Usage: 100}
	w.Client.PrependReactor("update", "horizontalpodautoscalers",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			update, ok := action.(clienttesting.UpdateAction)
			if !ok || action.GetSubresource() != "status" {
				return false, nil, nil
			}
			by := action.(clienttesting.UpdateActionImpl).UpdateOptions.FieldManager
			object, err := w.updateStatus(update.GetObject().(*autoscalingv2.HorizontalPodAutoscaler), by)
			return true, object, err
		})
	w.Client.PrependReactor("get", "horizontalpodautoscalers",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			get, isGet := action.(clienttesting.GetAction)
			w.Mu.Lock()
			defer w.Mu.Unlock()
			for _, object := range slices.Backward(w.Hidden) {
				if hpa := object.(*autoscalingv2.HorizontalPodAutoscaler); w.HideStatus && isGet &&
					hpa.Name == get.GetName() {
					return true, hpa.DeepCopy(), nil
				}
			}
			return false, nil, nil
		})
	return w
}

// Start runs a controller.
func (w *World) Start(change ...func(*controllerhorizontal.Config)) {
	w.T.Helper()
	ctx, cancel := context.WithCancel(w.T.Context())
	factory := informers.NewSharedInformerFactoryWithOptions(w.Client, 0, informers.WithTransform(slim.Transform))
	cfg := controllerhorizontal.Config{
		Client: w.Client, Informers: factory, Pods: podcache.New(w.Client), Targets: targets.New(w.Client),
		Clients: scaling.Clients{Scales: w, Mapper: testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)},
		Metrics: w, Events: w, Registerer: w.Registry, SyncPeriod: Period, Workers: 2, HPAs: takeover.Act,
		Options: observehorizontal.DefaultOptions(),
		Log:     w.log(),
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := controllerhorizontal.New(cfg)
	if err != nil {
		w.T.Fatal(err)
	}
	if w.Made != nil {
		w.Made(c)
	}
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	w.Stop = func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			w.T.Error(err)
		}
		factory.Shutdown()
	}
	// The caches take some tenths of a second to fill.
	w.Pass(time.Second)
}

func (w *World) log() logr.Logger {
	return funcr.New(func(_, args string) {
		w.Mu.Lock()
		defer w.Mu.Unlock()
		w.Logs = append(w.Logs, args)
	}, funcr.Options{})
}

// Pass lets virtual time pass until everything waits again.
func (w *World) Pass(d time.Duration) {
	time.Sleep(d) // virtual time: advances it
	synctest.Wait()
}
