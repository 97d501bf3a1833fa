package horizontal_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/go-logr/logr"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// BenchmarkTurn measures a decision without the core: on 10 or 100 pods whose kubelets are read, with nothing to write.
// It also reports the memory of an object and its pods, including the fake API server's share.
func BenchmarkTurn(b *testing.B) {
	for _, pods := range []int32{10, 100} {
		b.Run(fmt.Sprint(pods, " pods"), func(b *testing.B) {
			const objects = 20
			c, hpas := crowd(b, objects, pods)
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				hpa := hpas[i%objects]
				i++
				c.Turn(b.Context(), hpa,
					schedule.Item{Key: hpa.Key(), Full: time.Now().Add(time.Hour), IsSampled: true})
			}
			b.StopTimer()
			var m goruntime.MemStats
			goruntime.GC()
			goruntime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc), "heap-bytes")
		})
	}
}

// crowd returns a controller that does not run, with objects whose pods' kubelets do.
func crowd(b *testing.B, objects int, pods int32) (*controllerhorizontal.Controller, []observehorizontal.Autoscaler) {
	b.Helper()
	w := horizontaltest.NewWorld(b)
	k := w.Kubelets("a")
	for i := range objects {
		name := fmt.Sprint("web", i)
		w.AddHPA(w.Web(name, pods))
		w.Onto(name, int(pods), "a")
	}
	ctx, cancel := context.WithCancel(b.Context())
	b.Cleanup(cancel)
	factory := informers.NewSharedInformerFactoryWithOptions(w.Client, 0, informers.WithTransform(slim.Transform))
	cfg := controllerhorizontal.Config{
		Client: w.Client, Informers: factory, Pods: podcache.New(w.Client), Targets: targets.New(w.Client),
		Clients: scaling.Clients{Scales: w, Mapper: testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)},
		Metrics: w, Events: w, Registerer: w.Registry,
		SyncPeriod: time.Hour, Workers: 2, Options: observehorizontal.DefaultOptions(), HPAs: takeover.Act,
		Log:            logr.Discard(),
		StatusInterval: time.Hour, EventInterval: time.Hour,
	}
	k.Direct(&cfg)
	cfg.Log, cfg.Triggers = logr.Discard(), false
	c, err := controllerhorizontal.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = c.Run(ctx) }()
	var hpas []observehorizontal.Autoscaler
	deadline := time.Now().Add(time.Minute)
	for len(hpas) < objects && time.Now().Before(deadline) {
		<-time.After(100 * time.Millisecond)
		hpas = ready(c, hpas[:0], int(pods))
	}
	if len(hpas) < objects {
		b.Fatalf("kubelets are read for %d objects of %d", len(hpas), objects)
	}
	for i := range hpas {
		hpas[i] = settled(b, c, hpas[i])
	}
	return c, hpas
}

// settled returns an HPA that has been decided so often that there is nothing to write any more.
func settled(
	b *testing.B, c *controllerhorizontal.Controller, hpa observehorizontal.Autoscaler,
) observehorizontal.Autoscaler {
	b.Helper()
	for range 200 {
		item := schedule.Item{Key: hpa.Key(), Full: time.Now().Add(time.Hour), IsSampled: true}
		c.Turn(b.Context(), hpa, item)
		if now, err := c.Get(hpa.Key()); err == nil && now == hpa &&
			!c.IsBehind(hpa.HPA) {
			return hpa
		}
		<-time.After(10 * time.Millisecond)
		if now, err := c.Get(hpa.Key()); err == nil {
			hpa = now
		}
	}
	b.Fatal("status is written at every decision")
	return hpa
}

// ready returns the HPAs that have been decided on the kubelets' samples.
func ready(
	c *controllerhorizontal.Controller, dst []observehorizontal.Autoscaler, pods int,
) []observehorizontal.Autoscaler {
	for _, object := range c.HPAs() {
		stored, ok := object.(*autoscalingv2.HorizontalPodAutoscaler)
		if !ok {
			continue
		}
		hpa := observehorizontal.HPA(stored)
		if c.IsRead(hpa.Key(), pods) && len(hpa.HPA.Status.Conditions) > 0 {
			dst = append(dst, hpa)
		}
	}
	return dst
}
