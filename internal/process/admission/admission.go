// Package admission wires the admission server of vertical autoscaling as a process.
package admission

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/conflicts"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/admit"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
	"github.com/plimsoll-dev/plimsoll/internal/process"
	"github.com/plimsoll-dev/plimsoll/internal/process/vertical/caches"
	"github.com/plimsoll-dev/plimsoll/internal/webhook"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/certificate"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/upkeep"
)

// Config configures the process.
type Config struct {
	API process.API
	// Address serves metrics and health, and /debug/pprof with Profiling.
	Address   string
	Profiling bool
	// Port and TLS configure the listener; TLS needs no certificates.
	Port int
	TLS  *tls.Config
	// Namespace is the server's own.
	Namespace    string
	Certificates Certificates
	// Registration needs no client. It is written if Registers.
	Registration upkeep.Registration
	Registers    bool
	Lease        Lease
	Options      admit.Options
	Features     validation.Features
	Conflict     conflict.Mode
}

// Certificates configures the source of the server's certificates.
type Certificates struct {
	Files certificate.Paths
	// Reload reads the files again when they change.
	Reload bool
	// Secret stores certificates that the server makes, instead of files.
	Secret string
	// Names are the host names of the server for the API server.
	Names    []string
	Lifetime time.Duration
	// ClientAuthority is the file of the CA of the clients' certificates; empty if they need none.
	ClientAuthority string
}

// Lease is the Lease that the updater reads.
type Lease struct {
	Name, Namespace string
	Interval        time.Duration
}

// Run runs the admission server until ctx ends.
func Run(ctx context.Context, cfg *Config, log logr.Logger) error {
	process.Prepare(log)
	config, err := cfg.API.RESTConfig("plimsoll-admission-controller")
	if err != nil {
		return err
	}
	s, err := newServer(config, cfg, log)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// server is the admission server with its caches.
type server struct {
	cfg     *Config
	log     logr.Logger
	client  kubernetes.Interface
	factory informers.SharedInformerFactory
	vpas    cache.SharedIndexInformer
	// workloads has WorkloadAutoscalers, for warnings of conflicts.
	workloads *workloads.Cache
	scales    *scale.Access
	tree      *ownership.Tree
	handler   *webhook.Handler
	guard     *webhook.Guard
	clock     *process.ServerClock
	upkeep    *upkeep.Runner
	registry  *prometheus.Registry
	// synced are the caches that must be filled before requests are served. Horizontal autoscalers are not among them:
	// upstream's manifests grant no permission to list them.
	synced []cache.InformerSynced
}

func newServer(config *rest.Config, cfg *Config, log logr.Logger) (*server, error) {
	s := &server{cfg: cfg, log: log, registry: prometheus.NewRegistry(), clock: &process.ServerClock{}}
	config = rest.CopyConfig(config)
	config.Wrap(s.clock.Wrap)
	if err := process.RegisterCollectors(s.registry); err != nil {
		return nil, err
	}
	var err error
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	s.factory = informers.NewSharedInformerFactoryWithOptions(s.client, 0,
		informers.WithNamespace(cfg.Registration.Only), informers.WithTransform(slim.Transform))
	vpas, err := vpa.New(config)
	if err != nil {
		return nil, err
	}
	s.vpas = vpas.Informer(cfg.Registration.Only)
	if err := caches.ReportUnreadable(s.vpas, s.registry, log); err != nil {
		return nil, err
	}
	if err := s.vpas.AddIndexers(webhook.MatchIndexers()); err != nil {
		return nil, fmt.Errorf("indexing: %w", err)
	}
	objects, err := wla.New(config)
	if err != nil {
		return nil, err
	}
	s.workloads = workloads.New(objects, cfg.Registration.Only, log)
	if s.scales, err = scale.NewAccess(config); err != nil {
		return nil, err
	}
	if s.tree, err = newTree(s.scales, s.factory, s.vpas); err != nil {
		return nil, err
	}
	registration := cfg.NewRegistration(s.client)
	if s.handler, err = s.newHandler(registration.IgnoredNamespaces()); err != nil {
		return nil, err
	}
	if s.guard, err = webhook.NewGuard(s.handler, time.Duration(cfg.Registration.TimeoutSeconds)*time.Second,
		s.registry); err != nil {
		return nil, err
	}
	if err := s.addUpkeep(registration); err != nil {
		return nil, err
	}
	return s, nil
}

// newTree makes a Tree that finds any kind's scale.
func newTree(
	scales *scale.Access, factory informers.SharedInformerFactory, vpas cache.SharedIndexInformer,
) (*ownership.Tree, error) {
	return ownership.New(ownership.Config{
		Informers: factory, Scales: scales.Scales, Mapper: scales.Mapper, Autoscalers: vpas, Timeout: scale.CallTimeout,
	})
}

// NewRegistration returns the registration with a client.
func (c *Config) NewRegistration(client kubernetes.Interface) *upkeep.Registration {
	r := c.Registration
	r.Client = client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	return &r
}

func (s *server) newHandler(ignored []string) (*webhook.Handler, error) {
	metrics, err := webhook.NewMetrics(s.registry)
	if err != nil {
		return nil, err
	}
	warnings, err := s.warnings()
	if err != nil {
		return nil, err
	}
	ranges := s.factory.Core().V1().LimitRanges()
	s.synced = append(s.synced, ranges.Informer().HasSynced, s.vpas.HasSynced, s.tree.HasSynced)
	return webhook.NewHandler(webhook.Config{
		Matcher: webhook.NewMatcher(s.vpas.GetIndexer(), s.tree),
		Ranges: func(namespace string) *bounds.Ranges {
			// Listing from a cache cannot fail.
			found, _ := ranges.Lister().LimitRanges(namespace).List(labels.Everything())
			return observevertical.RangesOf(found)
		},
		Warnings: warnings,
		Ignores:  func(namespace string) bool { return slices.Contains(ignored, namespace) },
		Options:  s.cfg.Options,
		Features: s.cfg.Features, Metrics: metrics, Log: s.log.WithName("admission"),
	})
}

// warnings returns the warnings for the owner of an object that conflicts with a horizontal one.
func (s *server) warnings() (func(*vpav1.VerticalPodAutoscaler) []string, error) {
	finder, err := conflicts.New(conflicts.Informers{
		Horizontals: s.factory.Autoscaling().V2().HorizontalPodAutoscalers().Informer(),
		Workloads:   s.workloads.Informer(), Verticals: s.vpas,
	}, s.cfg.Conflict.Skips())
	if err != nil {
		return nil, err
	}
	return func(v *vpav1.VerticalPodAutoscaler) []string { return webhook.ConflictWarnings(finder, v) }, nil
}

func (s *server) addUpkeep(registration *upkeep.Registration) error {
	lease, certificates := &s.cfg.Lease, &s.cfg.Certificates
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading the host name for the Lease: %w", err)
	}
	s.upkeep = &upkeep.Runner{
		Certificates: certificate.Read(certificates.Files, certificates.Reload),
		Lease: &upkeep.Lease{
			Client: s.client.CoordinationV1().Leases(lease.Namespace), Name: lease.Name, Holder: host, Duration: lease.Interval,
			Ignored: registration.IgnoredNamespaces(), Only: registration.Only,
		},
		RequirePath: s.guard.Require, Interval: time.Minute, LeaseInterval: lease.Interval, Log: s.log.WithName("upkeep"),
	}
	if certificates.Reload {
		s.upkeep.Interval = 10 * time.Second
	}
	if certificates.Secret != "" {
		s.upkeep.Interval = min(time.Minute, certificates.Lifetime/30)
		// Another replica reads it within an interval, and the API server within seconds.
		terms := certificate.Terms{Names: certificates.Names, Lifetime: certificates.Lifetime, Settle: 3 * s.upkeep.Interval}
		kept, err := certificate.Keep(s.client.CoreV1().Secrets(s.cfg.Namespace), certificates.Secret, terms)
		if err != nil {
			return err
		}
		kept.Offset = s.clock.Offset
		if s.cfg.Registers {
			kept.Registered = registration.Current
		}
		s.upkeep.Certificates = kept
	}
	if certificates.ClientAuthority != "" {
		if s.upkeep.Clients, err = certificate.ReadClients(certificates.ClientAuthority); err != nil {
			return fmt.Errorf("--webhook-client-ca-file: %w", err)
		}
	}
	if s.cfg.Registers {
		s.upkeep.Registration = registration
	}
	return nil
}

func (s *server) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{})
	group.Go(func() error { return s.serveHealth(ctx, ready) })
	group.Go(func() error { return s.serve(ctx, ready) })
	return group.Wait()
}

// follow fills the caches and follows changes; kinds that are installed later are found too.
func (s *server) follow(ctx context.Context) {
	s.factory.Start(ctx.Done())
	go s.vpas.RunWithContext(ctx)
	go s.scales.Rediscover(ctx)
	go s.tree.Run(ctx)
	s.workloads.Fill(ctx)
}

// serve starts serving when there are certificates and the caches are filled.
func (s *server) serve(ctx context.Context, ready chan<- struct{}) error {
	s.follow(ctx)
	if err := s.upkeep.Certificates.Refresh(ctx, time.Now()); err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), s.synced...) {
		return ctx.Err()
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf(":%d", s.cfg.Port))
	if err != nil {
		return fmt.Errorf("--port=%d: %w", s.cfg.Port, err)
	}
	s.log.Info("serving", "address", listener.Addr().String())
	close(ready)
	go s.upkeep.Run(ctx)
	return process.Serve(ctx, process.NewServer(s.guard, s.log), tls.NewListener(listener, s.upkeep.TLS(s.cfg.TLS)))
}

// serveHealth answers at --address.
func (s *server) serveHealth(ctx context.Context, ready <-chan struct{}) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Address)
	if err != nil {
		return fmt.Errorf("--address=%s: %w", s.cfg.Address, err)
	}
	return process.Serve(ctx, process.NewServer(process.HealthHandler(s.registry, ready, s.cfg.Profiling), s.log),
		listener)
}
