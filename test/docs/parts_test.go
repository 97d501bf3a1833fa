package docs

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	scalefake "k8s.io/client-go/scale/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/collect/polls"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/backfill"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/checkpoints"
	horizontalmonitor "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/admission"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/process"
	"github.com/plimsoll-dev/plimsoll/internal/process/vertical/caches"
	"github.com/plimsoll-dev/plimsoll/internal/webhook"
)

// sources are the packages whose series parts has.
var sources = []string{
	"internal/collect/metricsapi", "internal/collect/podendpoint", "internal/collect/podusage", "internal/collect/polls",
	"internal/controller/horizontal/backfill", "internal/controller/horizontal/checkpoints",
	"internal/controller/horizontal/monitor", "internal/controller/vertical/recommender",
	"internal/controller/vertical/updater", "internal/panics", "internal/process", "internal/process/vertical/caches",
	"internal/webhook",
}

// A part of the program, where its series are, and what it registers.
type part struct {
	title, where string
	series       []series
}

// parts makes the parts of the program, of which none is started.
func parts(t *testing.T) []part {
	t.Helper()
	const controller = "Of `plimsoll controller`."
	const vertical = "Of `plimsoll controller`, where `%s` is among its `--components`."
	var all []part
	for _, of := range []struct {
		title, where string
		register     func(*testing.T, prometheus.Registerer) error
	}{
		{"All processes", "Of each command that runs until it is stopped.",
			func(_ *testing.T, r prometheus.Registerer) error { return process.RegisterOwn(r) }},
		{"Horizontal autoscaling", controller,
			func(_ *testing.T, r prometheus.Registerer) error { _, err := horizontalmonitor.New(r); return err }},
		{"Kubelets and agents of nodes", controller, registerKubelets},
		{"Metrics APIs", controller, registerMetricsAPIs},
		{"Pods' own pages", controller, registerPods},
		{"Prometheus servers and external scalers", controller,
			func(_ *testing.T, r prometheus.Registerer) error { _, err := polls.New(r, "Prometheus"); return err }},
		{"Learnt loads", controller, registerHistory},
		{"Recommender", fmt.Sprintf(vertical, "recommender"), registerRecommender},
		{"Updater", fmt.Sprintf(vertical, "updater"), registerUpdater},
		{"Admission server", "Of `plimsoll admission-controller`.", registerAdmission},
	} {
		r := newRegistered()
		if err := of.register(t, r); err != nil {
			t.Fatalf("%s: %v", of.title, err)
		}
		all = append(all, part{of.title, of.where, r.all(t)})
	}
	return all
}

func registerKubelets(_ *testing.T, r prometheus.Registerer) error {
	options := kubelet.DefaultOptions()
	factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)
	_, err := podusage.New(podusage.Config{
		Scraper: func(*rate.Store) (podusage.Scraper, error) { return nil, nil },
		Target:  options.Target, Registerer: r, Log: logr.Discard(),
		Nodes: func() cache.SharedIndexInformer { return factory.Core().V1().Nodes().Informer() },
	})
	return err
}

func registerMetricsAPIs(_ *testing.T, r prometheus.Registerer) error {
	_, err := metricsapi.New(metricsapi.Config{
		Rest: &rest.Config{}, Mapper: meta.NewDefaultRESTMapper(nil), Registerer: r, Log: logr.Discard(),
	})
	return err
}

func registerPods(_ *testing.T, r prometheus.Registerer) error {
	_, err := podendpoint.New(podendpoint.Config{
		DialPod:    func(context.Context, netip.AddrPort, bool) (net.Conn, error) { return nil, net.ErrClosed },
		Registerer: r, Log: logr.Discard(),
	})
	return err
}

func registerHistory(_ *testing.T, r prometheus.Registerer) error {
	if _, err := checkpoints.New(&checkpoints.Config{
		Client:   struct{ checkpoints.Client }{},
		Encode:   func(observe.Key, types.UID) (checkpoints.Data, error) { return checkpoints.Data{}, nil },
		IsKnown:  func(observe.Key, types.UID) bool { return false },
		MayFlush: func() bool { return false }, Registerer: r, Log: logr.Discard(),
	}); err != nil {
		return err
	}
	_, err := backfill.New(&backfill.Config{
		Source: struct{ backfill.Source }{}, Length: backfill.MinLength, Registerer: r, Log: logr.Discard(),
	})
	return err
}

func verticalAutoscalers() cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{}, &vpav1.VerticalPodAutoscaler{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

func registerRecommender(_ *testing.T, r prometheus.Registerer) error {
	if err := caches.ReportUnreadable(verticalAutoscalers(), r, logr.Discard()); err != nil {
		return err
	}
	_, err := recommender.NewSeries(r)
	return err
}

func registerUpdater(_ *testing.T, r prometheus.Registerer) error {
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	owners, err := ownership.New(ownership.Config{
		Informers: factory, Scales: &scalefake.FakeScaleClient{}, Mapper: meta.NewDefaultRESTMapper(nil),
	})
	if err != nil {
		return err
	}
	_, err = updater.New(updater.Config{
		Client: client, Statuses: struct{ updater.StatusClient }{}, Events: record.NewFakeRecorder(1), Registerer: r,
		Sources: workloads.Sources{
			Informers: factory, Pods: podcache.FromInformer(factory.Core().V1().Pods().Informer()), Owners: owners,
			Autoscalers: verticalAutoscalers(),
		},
		Log: logr.Discard(), Interval: time.Minute, Lease: admission.Lease{Ignored: true},
	})
	return err
}

func registerAdmission(_ *testing.T, r prometheus.Registerer) error {
	if _, err := webhook.NewMetrics(r); err != nil {
		return err
	}
	_, err := webhook.NewGuard(http.NotFoundHandler(), time.Second, r)
	return err
}
