package scale

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/telemetry"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// progressPeriod is the period of lines of progress.
const progressPeriod = 5 * time.Second

// bench is one running call of Run.
type bench struct {
	Config
	progress  *report.Progress
	cluster   *devcluster.Cluster
	telemetry *telemetry.Server
	launcher  *launcher
	apiServer *http.Client
	idle      rates
	// population is the configuration of the objects, autoscalers their current autoscalers.
	population  population.Config
	autoscalers population.Autoscalers
}

// Run starts a control plane, fills it and measures each subject in each run.
func Run(ctx context.Context, config Config) (result Result, err error) {
	config, err = config.completed()
	if err == nil {
		err = checkNice(ctx, config.Nice)
	}
	if err != nil {
		return Result{}, fmt.Errorf("scale: %w", err)
	}
	began := time.Now()
	b := &bench{Config: config, progress: report.NewProgress(config.Out, began)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.prepare(ctx); err != nil {
		return Result{}, fmt.Errorf("scale: %w", err)
	}
	go func() {
		select {
		case failure := <-b.cluster.Failed():
			cancel(failure)
		case <-ctx.Done():
		}
	}()
	measured, err := b.measureAll(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("scale: %w", errors.Join(err, context.Cause(ctx)))
	}
	return config.result(report.ThisMachine(began), measured), nil
}

func (b *bench) close() error {
	var errs []error
	if b.launcher != nil && b.launcher.agents != nil {
		errs = append(errs, b.launcher.agents.Close())
	}
	if b.telemetry != nil {
		errs = append(errs, b.telemetry.Close())
	}
	if b.cluster != nil {
		errs = append(errs, b.cluster.Stop())
	}
	return errors.Join(errs...)
}

// prepare makes the world: a control plane, what is autoscaled, and its metrics.
func (b *bench) prepare(ctx context.Context) error {
	b.progress.Say("starting a control plane")
	var err error
	b.cluster, err = devcluster.Start(ctx, devcluster.Config{
		BinDir: b.BinDir, ControlPlaneOnly: true,
		// All that the workloads need is already there but for the accounts without which no pod is admitted.
		ControllerManagerFlags: []string{"--controllers=serviceaccount-controller", "--kube-api-qps=2000",
			"--kube-api-burst=4000"},
	})
	if err != nil {
		return err
	}
	if err := b.startTelemetry(ctx); err != nil {
		return err
	}
	if err := b.populate(ctx); err != nil {
		return err
	}
	if b.apiServer, err = rest.HTTPClientFor(b.cluster.RESTConfig()); err != nil {
		return fmt.Errorf("client of the API server: %w", err)
	}
	if b.launcher, err = newLauncher(ctx, b.cluster, &b.Config); err != nil {
		return err
	}
	if err := b.startAgents(ctx); err != nil {
		return err
	}
	return b.watchIdle(ctx)
}

func (b *bench) startTelemetry(ctx context.Context) error {
	const group, version = "metrics.k8s.io", "v1beta1"
	var certificates [2]tls.Certificate
	for i, host := range []string{devcluster.APIServiceHost(group), "127.0.0.1"} {
		var err error
		if certificates[i], err = b.cluster.CA().ServerCertificate(host); err != nil {
			return err
		}
	}
	var err error
	b.telemetry, err = telemetry.Start(ctx, telemetry.Config{
		Size: b.Size, Began: time.Now().Add(-time.Hour), Resolution: b.Resolution, Noise: b.Noise,
	}, certificates[0], certificates[1])
	if err != nil {
		return err
	}
	return b.cluster.RegisterAPIService(ctx, devcluster.APIService{
		Group: group, Version: version, Port: b.telemetry.MetricsPort(), CABundle: b.cluster.CA().CertPEM(),
	})
}

// populate makes the objects, with lines about it.
func (b *bench) populate(ctx context.Context) error {
	b.progress.Say("making %d objects with %d pods each, on %d nodes in %d namespaces",
		b.Size.Objects, b.Size.PodsPer, b.Size.Nodes(), b.Size.Namespaces())
	config := b.cluster.RESTConfig()
	config.QPS, config.ContentType = -1, runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	vertical, err := b.verticalClient(ctx)
	if err != nil {
		return err
	}
	if err := b.installDefinitions(ctx); err != nil {
		return err
	}
	var made atomic.Int64
	stop := b.sayEach(func() { b.progress.Say("%d of %d objects made", made.Load(), b.Size.Objects) })
	defer stop()
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	b.population = population.Config{
		Client: client, Size: b.Size, KubeletPorts: b.telemetry.KubeletPorts(),
		Progress: func(done int) { made.Store(int64(done)) },
		Vertical: vertical, VerticalObjects: b.VerticalObjects, Dynamic: custom,
		MetricsPort: b.telemetry.PodMetricsPort(),
	}
	return population.Create(ctx, b.population)
}

// sayEach calls say periodically until stop is called.
func (b *bench) sayEach(say func()) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressPeriod)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				say()
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

const (
	// mostIdleWindows bounds how often the API server is measured before it is at rest.
	mostIdleWindows = 24
	// idleShare is the part of the CPU before that it still takes at rest.
	idleShare = 0.8
)

// watchIdle measures the API server without an autoscaler, once it has finished its work for the new objects.
func (b *bench) watchIdle(ctx context.Context) error {
	b.progress.Say("watching the API server without an autoscaler, for %s at a time until its CPU no longer falls", b.Idle)
	before, err := b.serverNumbers(ctx)
	if err != nil {
		return err
	}
	for range mostIdleWindows {
		if err := timing.Pause(ctx, b.Idle); err != nil {
			return err
		}
		after, err := b.serverNumbers(ctx)
		if err != nil {
			return err
		}
		earlier := b.idle
		b.idle, before = after.since(before), after
		if earlier.seconds > 0 && b.idle.cores >= idleShare*earlier.cores {
			break
		}
	}
	return nil
}

// measureAll interleaves the subjects, so that what changes on the machine meanwhile meets all of them.
func (b *bench) measureAll(ctx context.Context) ([][]measurement, error) {
	measured := make([][]measurement, len(b.Subjects))
	for run := range b.Runs {
		for i, subject := range b.Subjects {
			m, err := b.measure(ctx, subject, fmt.Sprintf("%s, run %d of %d", subject.Name, run+1, b.Runs))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", subject.Name, err)
			}
			measured[i] = append(measured[i], m)
		}
	}
	return measured, nil
}
