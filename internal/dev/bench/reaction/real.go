package reaction

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/autoscaler"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/images"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/podreader"
	"github.com/plimsoll-dev/plimsoll/internal/dev/deployed"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
)

// RealConfig configures a real node.
type RealConfig struct {
	// BinDir is the folder of the control plane's parts, the kubelet, pause and the exporter.
	BinDir string
	// Plimsoll is the program to pack and measure.
	Plimsoll string
	// Load is the kind of the workload; the folder need not have the programs of the others.
	Load Load
	// Log is called at every step.
	Log func(format string, args ...any)
}

// CheckReal returns an error with the first requirement of the experiment on a real node that this machine lacks.
func CheckReal() error {
	return realnode.Check(
		realnode.Requirement{Program: "ab", Package: "apache2-utils"},
		realnode.Requirement{Program: "nginx", Package: "nginx-light"},
		realnode.Requirement{Program: "ldd", Package: "libc-bin"},
	)
}

// Real is the experiment's stage on a real node.
type Real struct {
	load    Load
	cluster *devcluster.Cluster
	node    *realnode.Node
	subject Subject

	// reader reads for upstream while a subject needs it; nil before the first that does.
	reader      *podreader.Reader
	stopReading func()
}

// StartReal builds up a control plane and a node. The caller closes what it returns.
func StartReal(ctx context.Context, config RealConfig) (*Real, error) {
	if err := CheckReal(); err != nil {
		return nil, err
	}
	cluster, err := devcluster.Start(ctx, devcluster.Config{
		BinDir: config.BinDir, ControlPlaneOnly: true, Scheduler: true, Log: config.Log,
	})
	if err != nil {
		return nil, err
	}
	r := &Real{load: config.Load, cluster: cluster}
	if r.node,
		err = realnode.Start(ctx, realnode.Config{Cluster: cluster, BinDir: config.BinDir, Log: config.Log}); err == nil {
		err = r.importImages(ctx, config)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Real) importImages(ctx context.Context, config RealConfig) error {
	if err := deployed.Import(ctx, r.node, config.Plimsoll); err != nil {
		return err
	}
	nginx, err := images.NewNginx(ctx)
	if err != nil {
		return err
	}
	if err := r.node.Import(ctx, images.Nginx, nginx); err != nil {
		return err
	}
	exporter, err := images.NewExporter(config.BinDir)
	if err != nil {
		return err
	}
	if err := r.node.Import(ctx, images.Exporter, exporter); err != nil || config.Load != Memory {
		return err
	}
	memory, err := images.NewMemoryServer(config.BinDir)
	if err != nil {
		return err
	}
	return r.node.Import(ctx, images.MemoryServer, memory)
}

// Close takes down the node and then the control plane.
func (r *Real) Close() error {
	r.endReading()
	var err error
	if r.node != nil {
		err = r.node.Stop()
	}
	return errors.Join(err, r.cluster.Stop())
}

// Title implements Stage.
func (r *Real) Title() string { return r.load.title() + " on a real node" }

// Client implements Stage.
func (r *Real) Client() kubernetes.Interface { return r.cluster.Client() }

// Failed implements Stage.
func (r *Real) Failed() <-chan error { return r.cluster.Failed() }

// Autoscaler implements Stage.
func (r *Real) Autoscaler(subject Subject) (Autoscaler, error) {
	return autoscalerOf(r.cluster, subject, images.ExporterPort)
}

// Template implements Stage. A pod is ready when nginx responds; its probe runs once a second, which costs it far less
// than a tenth of its target. The exporter is present only if its metrics are used: its CPU would be the pod's, too.
func (r *Real) Template(subject Subject) corev1.PodTemplateSpec {
	grace := int64(1)
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{
			Name: server, Image: images.Nginx, ImagePullPolicy: corev1.PullNever,
			ReadinessProbe: &corev1.Probe{
				ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)}},
				PeriodSeconds: 1,
			},
		}},
	}}
	if subject.OnRequests {
		template.Spec.Containers = append(template.Spec.Containers,
			corev1.Container{Name: "exporter", Image: images.Exporter, ImagePullPolicy: corev1.PullNever})
	}
	subject.Load.apply(&template.Spec)
	return template
}

// Begin implements Stage. metrics-server runs for upstream alone, so that the kubelet's CPU shows whose scrapes it
// serves.
func (r *Real) Begin(ctx context.Context, subject Subject) error {
	r.subject = subject
	if err := r.node.SetHousekeepingInterval(ctx, subject.Housekeeping); err != nil {
		return err
	}
	if subject.Kind == Upstream {
		if subject.OnRequests {
			if err := r.beginReading(ctx); err != nil {
				return err
			}
		}
		return beginUpstream(ctx, r.cluster, subject)
	}
	if subject.OnRequests {
		if err := r.cluster.InstallDefinitions(ctx, autoscaler.Group); err != nil {
			return err
		}
	}
	if err := deployed.Start(ctx, r.cluster, subject.Flags); err != nil || !subject.NodeAgent {
		return err
	}
	return deployed.StartAgent(ctx, r.cluster)
}

// beginReading makes the pods' requests a metric of the custom metrics API.
func (r *Real) beginReading(ctx context.Context) error {
	if r.reader == nil {
		reader := podreader.New(podreader.Config{
			Client: r.Client(), Namespace: namespace, Labels: podLabels, Port: images.ExporterPort,
		})
		if err := r.cluster.StartAdapter(ctx, reader); err != nil {
			return err
		}
		r.reader = reader
	}
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.reader.Run(reading)
	}()
	r.stopReading = func() {
		stop()
		<-ended
	}
	return nil
}

func (r *Real) endReading() {
	if r.stopReading != nil {
		r.stopReading()
		r.stopReading = nil
	}
}

// End implements Stage.
func (r *Real) End(ctx context.Context) error {
	r.endReading()
	if r.subject.Kind == Upstream {
		return endUpstream(ctx, r.cluster)
	}
	if r.subject.NodeAgent {
		if err := deployed.StopAgent(ctx, r.Client()); err != nil {
			return err
		}
	}
	return deployed.Stop(ctx, r.Client())
}

// beginUpstream turns on kube-controller-manager's loop and, for CPU, metrics-server, as the subject sets them.
func beginUpstream(ctx context.Context, cluster *devcluster.Cluster, subject Subject) error {
	if !subject.OnRequests {
		err := cluster.RestartMetricsServer(ctx, devcluster.MetricsServerConfig{
			Resolution: subject.Resolution, RequestTimeout: subject.RequestTimeout,
		})
		if err != nil {
			return err
		}
	}
	return cluster.RestartControllerManager(ctx, "--controllers=*", "--horizontal-pod-autoscaler-sync-period="+
		subject.SyncPeriod.String())
}

func endUpstream(ctx context.Context, cluster *devcluster.Cluster) error {
	if err := cluster.StopMetricsServer(ctx); err != nil {
		return err
	}
	return cluster.RestartControllerManager(ctx)
}

// Load implements Stage.
func (r *Real) Load(ctx context.Context, duration time.Duration) (int, error) {
	ends := time.Now().Add(duration)
	program, err := realnode.Find("ab")
	if err != nil {
		return 0, fmt.Errorf("ab: %w", err)
	}
	load := &abLoad{client: r.Client(), program: program, ends: ends, loaded: map[string]bool{}}
	return load.run(ctx)
}

// KubeletCPU implements Stage.
func (r *Real) KubeletCPU() (time.Duration, bool, error) {
	used, err := r.node.KubeletCPU()
	return used, true, err
}

var _ Stage = (*Real)(nil)
