package vertical

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

const (
	// progressPeriod is the period of lines of progress.
	progressPeriod = 15 * time.Second
	// pagePeriod is the period of reading a subject's page, which has some thousand lines and costs it some milliseconds;
	// it has the durations of passes.
	pagePeriod = 3 * time.Second
	// resolution is that of metrics-server's manifests.
	resolution = 15 * time.Second
	startup    = 2 * time.Second
)

// bench is one running call of Run.
type bench struct {
	Config
	progress  *report.Progress
	cluster   *devcluster.Cluster
	crowd     *crowd
	launcher  *launcher
	apiServer *http.Client
	// bares are the numbers of a client that only evicts, in each run.
	bares []bareRun
}

// Run starts a cluster, fills it and measures each subject in each run.
func Run(ctx context.Context, config Config) (result Result, err error) {
	config, err = config.completed()
	if err != nil {
		return Result{}, fmt.Errorf("vertical: %w", err)
	}
	began := time.Now()
	b := &bench{Config: config, progress: report.NewProgress(config.Out, began)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		if b.cluster != nil {
			err = errors.Join(err, b.cluster.Stop())
		}
	}()
	if err := b.prepare(ctx); err != nil {
		return Result{}, fmt.Errorf("vertical: %w", err)
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
		return Result{}, fmt.Errorf("vertical: %w", errors.Join(err, context.Cause(ctx)))
	}
	result = config.result(report.ThisMachine(began), measured)
	result.Bare = bareOf(b.bares)
	return result, nil
}

func (b *bench) prepare(ctx context.Context) error {
	nodes := nodesFor(b.Config)
	b.progress.Say("starting a cluster of %d simulated nodes", nodes)
	var err error
	b.cluster, err = devcluster.Start(ctx, devcluster.Config{
		BinDir: b.BinDir, Nodes: nodes, MetricsServer: true, MetricResolution: resolution, StartupDelay: startup,
		ControllerManagerFlags: controllerManagerFlags(),
	})
	if err != nil {
		return err
	}
	if err := b.cluster.InstallDefinitions(ctx); err != nil {
		return err
	}
	if b.crowd, err = newCrowd(b.Config, b.cluster.RESTConfig()); err != nil {
		return err
	}
	if b.apiServer, err = rest.HTTPClientFor(b.cluster.RESTConfig()); err != nil {
		return fmt.Errorf("client of the API server: %w", err)
	}
	if b.launcher, err = newLauncher(ctx, b.Config, b.cluster); err != nil {
		return err
	}
	b.progress.Say("making %d workloads with %d pods each", b.Objects, b.PodsPer)
	var made atomic.Int64
	if err := b.crowd.create(ctx, &made); err != nil {
		return err
	}
	return b.awaitPods(ctx)
}

// controllerManagerFlags let pods come back fast: how late they do is not what is measured.
func controllerManagerFlags() []string {
	return []string{
		"--kube-api-qps=2000", "--kube-api-burst=4000", "--concurrent-replicaset-syncs=20",
		"--concurrent-deployment-syncs=20",
	}
}

// awaitPods waits until all pods are there.
func (b *bench) awaitPods(ctx context.Context) error {
	return wait{
		title: "pods ready", want: b.Objects * b.PodsPer, count: b.crowd.ready, say: b.progress.Say, period: time.Second,
	}.await(ctx, b.Patience)
}

// measureAll interleaves the subjects, so that what changes on the machine meanwhile meets all of them.
func (b *bench) measureAll(ctx context.Context) ([][]measurement, error) {
	measured := make([][]measurement, len(b.Subjects))
	for run := range b.Runs {
		bare, err := b.bare(ctx)
		if err != nil {
			return nil, err
		}
		b.bares = append(b.bares, bare)
		for i, subject := range b.Subjects {
			m, err := b.measure(ctx, subject, fmt.Sprintf("%s, run %d of %d", subject.Name, run+1, b.Runs))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", subject.Name, err)
			}
			measured[i] = append(measured[i], m)
			if run == b.Runs-1 && i == len(b.Subjects)-1 {
				break // The pods are not needed any more.
			}
			if err := b.renew(ctx); err != nil {
				return nil, err
			}
		}
	}
	return measured, nil
}

// serverPage reads the API server's own metrics.
func (b *bench) serverPage(ctx context.Context) (exposition.Page, error) {
	return exposition.Fetch(ctx, b.apiServer, b.cluster.RESTConfig().Host+"/metrics")
}

// serverCPU is the API server's CPU time in seconds. On a machine with other work it is more meaningful than elapsed
// time.
func (b *bench) serverCPU(ctx context.Context) (float64, error) {
	page, err := b.serverPage(ctx)
	if err != nil {
		return 0, err
	}
	return page.Sum("process_cpu_seconds_total"), nil
}
