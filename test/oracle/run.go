package oracle

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	upstreammetrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/monitor"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

const (
	// never is a sync period that no timeline lives to see.
	never = 100 * 365 * 24 * time.Hour
	// settle is how long a step may take: filling caches, retries after conflicts.
	settle = time.Second
)

// mapper is made outside of the bubbles, which share it.
var mapper = staticMapper()

func staticMapper() meta.RESTMapper { return testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme) }

// start runs a controller on a world and returns what stops it.
type start func(ctx context.Context, w *world) (stop func())

// next is the situation of the next step on a world; nil at the end.
type next func(w *world) *Situation

// run takes a controller through a timeline.
func run(t *testing.T, begin start, following next) []Result {
	t.Helper()
	var results []Result
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.now = &Situation{}
		stop := begin(t.Context(), w)
		pass(settle)
		for s := following(w); s != nil; s = following(w) {
			time.Sleep(time.Until(w.begun.Add(s.At))) //nolint:forbidigo // virtual time: this is what moves it
			if s.Restart {
				stop()
				w.remove(rival)
				w.show(s)
				// The object comes once the caches are filled: how many tenths of a
				// second that takes is chance.
				show := w.hide(object)
				stop = begin(t.Context(), w)
				pass(settle)
				show()
				pass(settle)
			} else {
				step(w, s)
			}
			results = append(results, w.result())
		}
		stop()
	})
	return results
}

// step is one situation: first the one object decides, then the other.
func step(w *world, s *Situation) {
	w.show(s)
	if s.Recreate {
		w.remove(object)
	}
	if !s.Rival {
		w.remove(rival)
	}
	w.touch(object, s)
	pass(settle)
	if s.Rival {
		w.touch(rival, s)
		pass(settle)
	}
}

// pass lets virtual time pass until everything waits again.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // virtual time: this is what moves it
	synctest.Wait()
}

// upstream starts kube-controller-manager's controller with its flags' defaults.
func upstream(ctx context.Context, w *world) func() {
	ctx, cancel := context.WithCancel(ctx)
	options := observehorizontal.DefaultOptions()
	factory := informers.NewSharedInformerFactory(w.client, 0)
	client := upstreammetrics.NewRESTMetricsClient(resourceMetrics{w}, customMetrics{w}, externalMetrics{w})
	c := podautoscaler.NewHorizontalController(ctx, w.client.CoreV1(), w, w.client.AutoscalingV2(), mapper, client,
		factory.Autoscaling().V2().HorizontalPodAutoscalers(), factory.Core().V1().Pods(),
		w.period, options.DownscaleStabilization, options.Tolerance, options.CPUInitializationPeriod,
		options.InitialReadinessDelay)
	// Its own recorder drops events that come often, and its monitor is the
	// process'.
	count := &counted{series: series{}}
	replace[record.EventRecorder](c, "eventRecorder", w)
	replace[monitor.Monitor](c, "monitor", count)
	w.measure(count.all)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx, 1)
	}()
	factory.Start(ctx.Done())
	return func() {
		cancel()
		<-done
		factory.Shutdown()
		synctest.Wait()
	}
}

// replace sets a field that the package keeps to itself.
func replace[T any](c *podautoscaler.HorizontalController, name string, value T) {
	field := reflect.ValueOf(c).Elem().FieldByName(name)
	*(*T)(unsafe.Pointer(field.UnsafeAddr())) = value
}

// plimsoll starts Plimsoll's controller with these divergences.
func plimsoll(t *testing.T, divergences divergence.Set) start {
	return func(ctx context.Context, w *world) func() {
		ctx, cancel := context.WithCancel(ctx)
		options := observehorizontal.DefaultOptions()
		options.Divergences = divergences
		factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithTransform(slim.Transform))
		registry := prometheus.NewRegistry()
		w.measure(func() series { return gathered(registry) })
		c, err := controllerhorizontal.New(controllerhorizontal.Config{
			Client: w.client, Informers: factory, Pods: podcache.New(w.client), Targets: targets.New(w.client),
			Clients: scaling.Clients{Scales: w, Mapper: mapper}, Metrics: forPlimsoll{w}, Events: w,
			Registerer: registry, Log: logr.Discard(), SyncPeriod: w.period, Workers: 1, Options: options,
			HPAs: takeover.Act,
		})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = c.Run(ctx)
		}()
		return func() {
			cancel()
			<-done
			factory.Shutdown()
			synctest.Wait()
		}
	}
}
