package population

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"golang.org/x/sync/errgroup"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// DefaultConcurrency keeps a small control plane busy without timeouts.
const DefaultConcurrency = 32

// accountTimeout bounds the wait for the service account of a namespace, which its controller makes.
const accountTimeout = 2 * time.Minute

// Config configures Create.
type Config struct {
	Client kubernetes.Interface
	Size   Size
	// KubeletPorts are the ports of the nodes' kubelets on this machine, by the nodes' numbers.
	KubeletPorts []int
	// The first VerticalObjects workloads get a VerticalPodAutoscaler, too, for which there must be a client: Vertical.
	Vertical        rest.Interface
	VerticalObjects int
	// Dynamic is the client of WorkloadAutoscalers; Replace alone needs it.
	Dynamic dynamic.Interface
	// MetricsPort is the port of the pods' own metrics; only Replace by OwnMetrics needs it.
	MetricsPort int
	// Concurrency is the number of workloads that are created at a time; 0 means DefaultConcurrency.
	Concurrency int
	// Progress is called with how many workloads are there; it may be nil. It is called from several goroutines.
	Progress func(done int)
}

// Create makes everything. The autoscalers come last of each workload, when its pods run.
func Create(ctx context.Context, config Config) error {
	var err error
	if config.Size, err = config.Size.Completed(); err != nil {
		return fmt.Errorf("population: %w", err)
	}
	if config.Client == nil || len(config.KubeletPorts) != config.Size.Nodes() {
		return fmt.Errorf("population: a client and the ports of %d kubelets are needed", config.Size.Nodes())
	}
	if config.Concurrency == 0 {
		config.Concurrency = DefaultConcurrency
	}
	c := &creation{Config: config}
	for _, step := range []struct {
		what  string
		count int
		make  func(context.Context, int) error
	}{
		{"node", config.Size.Nodes(), c.node},
		{"namespace", config.Size.Namespaces(), c.namespace},
		{"workload", config.Size.Objects, c.workload},
	} {
		if err := c.each(ctx, step.count, step.make); err != nil {
			return fmt.Errorf("population: %s: %w", step.what, err)
		}
	}
	return nil
}

type creation struct {
	Config
	done atomic.Int64
}

func (c *creation) each(ctx context.Context, count int, create func(context.Context, int) error) error {
	group, together := errgroup.WithContext(ctx)
	group.SetLimit(c.Concurrency)
	for n := range count {
		if together.Err() != nil {
			break
		}
		group.Go(func() error { return create(together, n) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

func (c *creation) node(ctx context.Context, n int) error {
	_, err := c.Client.CoreV1().Nodes().Create(ctx, c.Size.node(n, c.KubeletPorts[n]), metav1.CreateOptions{})
	return err
}

// namespace waits for the default service account, without which no pod is admitted.
func (c *creation) namespace(ctx context.Context, n int) error {
	if _, err := c.Client.CoreV1().Namespaces().Create(ctx, namespace(n), metav1.CreateOptions{}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, accountTimeout,
		errors.New("its default service account was not made in time"))
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		_, err := c.Client.CoreV1().ServiceAccounts(NamespaceName(n)).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", NamespaceName(n), context.Cause(ctx))
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

func (c *creation) workload(ctx context.Context, object int) error {
	namespace := c.Size.NamespaceOf(object)
	apps := c.Client.AppsV1()
	deployment, err := apps.Deployments(namespace).Create(ctx, c.Size.deployment(object), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	deployment.Status = c.Size.deploymentStatus(deployment.Generation)
	if deployment, err = apps.Deployments(namespace).UpdateStatus(ctx, deployment, metav1.UpdateOptions{}); err != nil {
		return err
	}
	set, err := apps.ReplicaSets(namespace).Create(ctx, c.Size.replicaSet(deployment, object), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	pods := c.Client.CoreV1().Pods(namespace)
	for n := range c.Size.PodsPer {
		place := Place{Object: object, Pod: n}
		pod, err := pods.Create(ctx, c.Size.pod(set, place), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		pod.Status = podStatus(time.Now(), place)
		if _, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	err = c.hpa(ctx, object)
	if err == nil && object < c.VerticalObjects {
		err = c.Vertical.Post().Namespace(namespace).Resource(vpav1.VerticalPodAutoscalers).Body(c.Size.verticalAutoscaler(
			object)).Do(ctx).Error()
	}
	if err == nil && c.Progress != nil {
		c.Progress(int(c.done.Add(1)))
	}
	return err
}

func (c *creation) hpa(ctx context.Context, object int) error {
	_, err := c.Client.AutoscalingV2().HorizontalPodAutoscalers(c.Size.NamespaceOf(object)).Create(ctx,
		c.Size.autoscaler(object), metav1.CreateOptions{})
	return err
}
