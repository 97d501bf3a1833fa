package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/conflicts"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/admit"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/webhook"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/certificate"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/guard"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/match"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/upkeep"
)

func admissionCommand() *cobra.Command {
	flags := &admissionFlags{}
	cmd := &cobra.Command{
		Use:   "admission-controller",
		Short: "Run the admission server of vertical autoscaling",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.complete(); err != nil {
				return err
			}
			log := newLogger(cmd.ErrOrStderr(), &controllerFlags{verbosity: flags.verbosity, logFormat: flags.logFormat})
			return runAdmission(cmd.Context(), flags, log)
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

// admissionProcess is the admission server with what feeds it.
type admissionProcess struct {
	flags    *admissionFlags
	log      logr.Logger
	client   kubernetes.Interface
	factory  informers.SharedInformerFactory
	vpas     cache.SharedIndexInformer
	scales   *scale.Access
	tree     *ownership.Tree
	handler  *webhook.Handler
	guard    *guard.Guard
	clock    *serverClock
	upkeep   *upkeep.Runner
	registry *prometheus.Registry
	// synced are the caches without which nothing is answered. Horizontal autoscalers
	// are not among them: upstream's manifests grant no right to see them.
	synced []cache.InformerSynced
}

func runAdmission(ctx context.Context, flags *admissionFlags, log logr.Logger) error {
	holdHeap()
	klog.SetLogger(log)
	ctrl.SetLogger(log)
	config, err := restConfig(&controllerFlags{kubeconfig: flags.kubeconfig, qps: float32(flags.qps), burst: int(flags.burst)})
	if err != nil {
		return err
	}
	config.UserAgent = "plimsoll-admission-controller"
	p, err := newAdmission(config, flags, log)
	if err != nil {
		return err
	}
	return p.run(ctx)
}

func newAdmission(config *rest.Config, flags *admissionFlags, log logr.Logger) (*admissionProcess, error) {
	p := &admissionProcess{flags: flags, log: log, registry: prometheus.NewRegistry(), clock: &serverClock{}}
	config = rest.CopyConfig(config)
	config.Wrap(p.clock.wrap)
	p.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := registerBuildInfo(p.registry); err != nil {
		return nil, err
	}
	var err error
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	p.factory = informers.NewSharedInformerFactoryWithOptions(p.client, 0,
		informers.WithNamespace(flags.only), informers.WithTransform(slim.Transform))
	vpas, err := vpa.New(config)
	if err != nil {
		return nil, err
	}
	p.vpas = vpas.Informer(flags.only)
	if err := reportUnreadable(p.vpas, p.registry, log); err != nil {
		return nil, err
	}
	if err := p.vpas.AddIndexers(match.Indexers()); err != nil {
		return nil, fmt.Errorf("indexing: %w", err)
	}
	if p.scales, err = scale.NewAccess(config); err != nil {
		return nil, err
	}
	if p.tree, err = newTree(p.scales, p.factory, p.vpas); err != nil {
		return nil, err
	}
	registration := p.registration()
	if p.handler, err = p.newHandler(registration.IgnoredNamespaces()); err != nil {
		return nil, err
	}
	if p.guard, err = guard.New(p.handler, time.Duration(flags.timeoutSeconds)*time.Second, p.registry); err != nil {
		return nil, err
	}
	if err := p.addUpkeep(registration); err != nil {
		return nil, err
	}
	return p, nil
}

// newTree makes a Tree that finds any kind's scale.
func newTree(scales *scale.Access, factory informers.SharedInformerFactory, vpas cache.SharedIndexInformer) (*ownership.Tree, error) {
	return ownership.New(ownership.Config{
		Informers: factory, Scales: scales.Scales, Mapper: scales.Mapper, Autoscalers: vpas, Timeout: scale.CallTimeout,
	})
}

func (p *admissionProcess) registration() *upkeep.Registration {
	f := p.flags
	r := &upkeep.Registration{
		Client:    p.client.AdmissionregistrationV1().MutatingWebhookConfigurations(),
		Namespace: f.namespace, Service: f.service,
		TimeoutSeconds: int32(f.timeoutSeconds), //gosec:disable G115 -- at most 30
		Fails:          f.fails, Only: f.only, Ignored: f.ignoredNamespaces(),
	}
	// Both were looked at in complete.
	r.Labels, _ = parseLabels(f.labels)
	if where, err := f.webhookURL(); f.byURL && err == nil {
		r.URL = where.String()
	}
	return r
}

func (p *admissionProcess) newHandler(never []string) (*webhook.Handler, error) {
	metrics, err := webhook.NewMetrics(p.registry)
	if err != nil {
		return nil, err
	}
	warnings, err := p.warnings()
	if err != nil {
		return nil, err
	}
	ranges := p.factory.Core().V1().LimitRanges()
	p.synced = append(p.synced, ranges.Informer().HasSynced, p.vpas.HasSynced, p.tree.HasSynced)
	return webhook.NewHandler(webhook.Config{
		Matcher: match.New(p.vpas.GetIndexer(), p.tree),
		Ranges: func(namespace string) *bounds.Ranges {
			// A lister's cache has no errors.
			found, _ := ranges.Lister().LimitRanges(namespace).List(labels.Everything())
			return observevertical.RangesOf(found)
		},
		Warnings: warnings,
		Ignores:  func(namespace string) bool { return slices.Contains(never, namespace) },
		Options: admit.Options{
			Boosts: p.flags.features.CPUStartupBoost, MaxBoostMilli: vertical.Amount(p.flags.maxBoost.MilliValue()), Divergences: p.flags.differs,
		},
		Features: p.flags.features, Metrics: metrics, Log: p.log.WithName("admission"),
	})
}

// warnings tell the owner of an object that it fights with a horizontal one.
func (p *admissionProcess) warnings() (func(*vpav1.VerticalPodAutoscaler) []string, error) {
	skips := p.flags.conflict.Skips()
	finder, err := conflicts.New(p.factory.Autoscaling().V2().HorizontalPodAutoscalers().Informer(), p.vpas, skips)
	if err != nil {
		return nil, err
	}
	return func(v *vpav1.VerticalPodAutoscaler) []string { return webhook.ConflictWarnings(finder, v) }, nil
}

func (p *admissionProcess) addUpkeep(registration *upkeep.Registration) error {
	f := p.flags
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("who holds the Lease: %w", err)
	}
	p.upkeep = &upkeep.Runner{
		Certificates: certificate.Read(f.files, f.reload),
		Lease: &upkeep.Lease{
			Client: p.client.CoordinationV1().Leases(f.leaseNamespace), Name: f.leaseName, Holder: host, Duration: f.leaseUpdateInterval,
			Ignored: registration.IgnoredNamespaces(), Only: f.only,
		},
		RequirePath: p.guard.Require, Interval: time.Minute, LeaseInterval: f.leaseUpdateInterval, Log: p.log.WithName("upkeep"),
	}
	if f.reload {
		p.upkeep.Interval = 10 * time.Second
	}
	if f.secret != "" {
		p.upkeep.Interval = min(time.Minute, f.lifetime/30)
		// Another replica looks within an interval, and the API server within seconds.
		terms := certificate.Terms{Names: f.names(), Lifetime: f.lifetime, Settle: 3 * p.upkeep.Interval}
		kept, err := certificate.Keep(p.client.CoreV1().Secrets(f.namespace), f.secret, terms)
		if err != nil {
			return err
		}
		kept.Offset = p.clock.offset
		if f.register {
			kept.Registered = registration.Current
		}
		p.upkeep.Certificates = kept
	}
	if f.clientAuthority != "" {
		if p.upkeep.Clients, err = certificate.ReadClients(f.clientAuthority); err != nil {
			return fmt.Errorf("--webhook-client-ca-file: %w", err)
		}
	}
	if f.register {
		p.upkeep.Registration = registration
	}
	return nil
}

// run serves until ctx ends.
func (p *admissionProcess) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{})
	group.Go(func() error { return p.serveHealth(ctx, ready) })
	group.Go(func() error { return p.serve(ctx, ready) })
	return group.Wait()
}

// follow has the API server tell what there is, kinds that come later too.
func (p *admissionProcess) follow(ctx context.Context) {
	p.factory.Start(ctx.Done())
	go p.vpas.RunWithContext(ctx)
	go p.scales.Rediscover(ctx)
	go p.tree.Run(ctx)
}

// serve answers once there are certificates and the caches are filled.
func (p *admissionProcess) serve(ctx context.Context, ready chan<- struct{}) error {
	p.follow(ctx)
	if err := p.upkeep.Certificates.Refresh(ctx, time.Now()); err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), p.synced...) {
		return ctx.Err()
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+strconv.Itoa(p.flags.port))
	if err != nil {
		return fmt.Errorf("--port=%d: %w", p.flags.port, err)
	}
	p.log.Info("Serving", "address", listener.Addr().String())
	close(ready)
	go p.upkeep.Run(ctx)
	server := newServer(p.guard, p.log)
	return serveUntil(ctx, server, tls.NewListener(listener, p.upkeep.TLS(tlsConfig(p.flags.minTLSVersion, p.flags.ciphers))))
}

// serveHealth answers at --address.
func (p *admissionProcess) serveHealth(ctx context.Context, ready <-chan struct{}) error {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{}))
	alive := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }
	mux.HandleFunc("/healthz", alive)
	mux.HandleFunc("/health-check", alive)
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-ready:
			alive(w, r)
		default:
			http.Error(w, "the caches are not filled yet", http.StatusServiceUnavailable)
		}
	})
	if p.flags.profiling {
		for path, handler := range profiles() {
			mux.Handle(path, handler)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.flags.address)
	if err != nil {
		return fmt.Errorf("--address=%s: %w", p.flags.address, err)
	}
	return serveUntil(ctx, newServer(mux, p.log), listener)
}

// shutdownTimeout is how long requests may take that have begun at the end.
const shutdownTimeout = 10 * time.Second

func newServer(handler http.Handler, log logr.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute,
		// Handshakes that clients break off are no news.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(log.V(1)), slog.LevelInfo),
	}
}

// serveUntil serves until ctx ends, and then what has begun.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener) error {
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		stopped <- server.Shutdown(bounded)
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving at %s: %w", listener.Addr(), err)
	}
	return <-stopped
}

// tlsConfig is what upstream's flags mean.
func tlsConfig(minVersion, ciphers string) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if minVersion == "tls1_3" {
		config.MinVersion = tls.VersionTLS13
	}
	wanted := strings.FieldsFunc(ciphers, func(r rune) bool { return r == ',' || r == ':' })
	for _, suite := range tls.CipherSuites() {
		if slices.Contains(wanted, suite.Name) {
			config.CipherSuites = append(config.CipherSuites, suite.ID)
		}
	}
	return config
}
