package reaction

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/autoscaler"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// The simulated load: the part of ab's load that a small web server takes before the processor is its limit. Two pods
// then use 25 times their requests, each as much as the real ones do.
const (
	simulatedPerSecond = 1000
	simulatedCost      = "1m"
	simulatedStart     = time.Second // until a pod is ready
	perSecond          = "sim.plimsoll.dev/requests-per-second"
)

// SimulatedConfig configures the simulated nodes.
type SimulatedConfig struct {
	// BinDir is the folder of the control plane's parts.
	BinDir string
	// Plimsoll is the program to measure.
	Plimsoll string
	// Log is called at every step.
	Log func(format string, args ...any)
}

// Simulated is the experiment's stage on simulated nodes. Plimsoll is a process beside the control plane, with the
// rights that config/ grants.
type Simulated struct {
	cluster    *devcluster.Cluster
	plimsoll   string
	kubeconfig string
	running    *devcluster.Program
}

// StartSimulated builds up a control plane with simulated nodes. The caller closes what it returns.
func StartSimulated(ctx context.Context, config SimulatedConfig) (*Simulated, error) {
	cluster, err := devcluster.Start(ctx, devcluster.Config{
		BinDir: config.BinDir, MetricsServer: true, StartupDelay: simulatedStart, Log: config.Log,
	})
	if err != nil {
		return nil, err
	}
	return &Simulated{cluster: cluster, plimsoll: config.Plimsoll}, nil
}

// Close takes down the cluster.
func (s *Simulated) Close() error { return s.cluster.Stop() }

// Title implements Stage.
func (s *Simulated) Title() string { return "simulated nodes" }

// Client implements Stage.
func (s *Simulated) Client() kubernetes.Interface { return s.cluster.Client() }

// Failed implements Stage.
func (s *Simulated) Failed() <-chan error { return s.cluster.Failed() }

// Autoscaler implements Stage.
func (s *Simulated) Autoscaler(subject Subject) (Autoscaler, error) {
	return autoscalerOf(s.cluster, subject, s.cluster.PodMetricsPort())
}

// Template implements Stage.
func (s *Simulated) Template(subject Subject) corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			"sim.plimsoll.dev/cpu-per-request": simulatedCost, "sim.plimsoll.dev/idle-cpu": "0",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "registry.example/nginx:1"}}},
	}
	if subject.OnRequests && subject.Kind == Plimsoll {
		template.Annotations["sim.plimsoll.dev/metrics"] = "true"
	}
	return template
}

// Begin implements Stage.
func (s *Simulated) Begin(ctx context.Context, subject Subject) error {
	if subject.Kind == Upstream {
		return beginUpstream(ctx, s.cluster, subject)
	}
	if err := endUpstream(ctx, s.cluster); err != nil {
		return err
	}
	var err error
	if s.kubeconfig == "" {
		if s.kubeconfig, err = s.cluster.InstallPlimsoll(ctx); err != nil {
			return err
		}
	}
	flags := subject.Flags
	if subject.OnRequests {
		if err := s.cluster.InstallDefinitions(ctx, autoscaler.Group); err != nil {
			return err
		}
		flags = append(slices.Clone(flags), "--pod-endpoint-allowed-cidr=127.0.0.0/8")
	}
	s.running, err = s.cluster.StartPlimsoll(ctx, s.plimsoll, s.kubeconfig, flags...)
	return err
}

// End implements Stage.
func (s *Simulated) End(ctx context.Context) error {
	if s.running == nil {
		return endUpstream(ctx, s.cluster)
	}
	s.running.Stop(ctx)
	s.running = nil
	return nil
}

// Samples implements Stage: simulated nodes have new samples at each scrape.
func (s *Simulated) Samples(context.Context) (Samples, error) { return nil, nil }

// Load implements Stage: it is offered to a Service, whose ready pods share it.
func (s *Simulated) Load(ctx context.Context, duration time.Duration) (int, error) {
	if err := s.offer(ctx, simulatedPerSecond); err != nil {
		return 0, err
	}
	err := timing.Pause(ctx, duration)
	if ctx.Err() == nil {
		err = s.offer(ctx, 0)
	}
	return int(simulatedPerSecond * duration.Seconds()), err
}

// offer sets the load of the workload's Service, which it makes at the first time.
func (s *Simulated) offer(ctx context.Context, load int) error {
	services := s.Client().CoreV1().Services(namespace)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: workload, Namespace: namespace, Annotations: map[string]string{perSecond: strconv.Itoa(load)},
		},
		Spec: corev1.ServiceSpec{
			Selector: podLabels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}},
		},
	}
	_, err := services.Create(ctx, service, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		var old *corev1.Service
		if old, err = services.Get(ctx, workload, metav1.GetOptions{}); err == nil {
			old.Annotations = service.Annotations
			_, err = services.Update(ctx, old, metav1.UpdateOptions{})
		}
	}
	if err != nil {
		return fmt.Errorf("set the load: %w", err)
	}
	return nil
}

// KubeletCPU implements Stage: there is no kubelet.
func (s *Simulated) KubeletCPU() (time.Duration, bool, error) { return 0, false, nil }

var _ Stage = (*Simulated)(nil)
