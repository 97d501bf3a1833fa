package vertical

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// concurrency is the number of calls under way: enough to keep a small control plane busy, without timeouts.
const concurrency = 32

// crowd is the workloads and what autoscales them.
type crowd struct {
	objects, pods int
	mode          string
	client        kubernetes.Interface
	vertical      rest.Interface
}

func newCrowd(config Config, admin *rest.Config) (*crowd, error) {
	admin = rest.CopyConfig(admin)
	admin.QPS = -1
	builtIn := rest.CopyConfig(admin)
	builtIn.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(builtIn)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := vpav1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("client of the vertical objects: %w", err)
	}
	group := vpav1.SchemeGroupVersion
	admin.GroupVersion, admin.APIPath = &group, "/apis"
	admin.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	vertical, err := rest.RESTClientFor(admin)
	if err != nil {
		return nil, fmt.Errorf("client of the vertical objects: %w", err)
	}
	return &crowd{objects: config.Objects, pods: config.PodsPer, mode: config.Mode, client: client, vertical: vertical},
		nil
}

func (c *crowd) namespaces() int { return (c.objects + objectsPerNamespace - 1) / objectsPerNamespace }

// nodesFor leaves room for the pods that come while others go.
func nodesFor(config Config) int { return config.Objects*config.PodsPer/podsPerNode + 2 }

func each(ctx context.Context, count int, do func(context.Context, int) error) error {
	group, together := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for n := range count {
		if together.Err() != nil {
			break
		}
		group.Go(func() error { return do(together, n) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// create makes the workloads.
func (c *crowd) create(ctx context.Context, made *atomic.Int64) error {
	err := each(ctx, c.namespaces(), func(ctx context.Context, n int) error {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(n)}}
		_, err := c.client.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("create a namespace: %w", err)
	}
	err = each(ctx, c.objects, func(ctx context.Context, n int) error {
		if _, err := c.client.CoreV1().Services(namespaceOf(n)).Create(ctx, service(n, c.pods),
			metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := c.client.AppsV1().Deployments(namespaceOf(n)).Create(ctx, deployment(n, c.pods), metav1.CreateOptions{})
		made.Add(1)
		return err
	})
	if err != nil {
		return fmt.Errorf("create a workload: %w", err)
	}
	return nil
}

// ready counts the pods that are ready. The workloads' statuses would be too high while no controller updates them.
func (c *crowd) ready(ctx context.Context) (int, error) {
	list, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0, fmt.Errorf("list the pods: %w", err)
	}
	count := 0
	for i := range list.Items {
		pod := &list.Items[i]
		isReady := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if isReady && pod.DeletionTimestamp == nil {
			count++
		}
	}
	return count, nil
}

// renewPods replaces all pods, whose requests may have been changed in place.
func (c *crowd) renewPods(ctx context.Context) error {
	return each(ctx, c.namespaces(), func(ctx context.Context, n int) error {
		now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
		return c.client.CoreV1().Pods(namespaceName(n)).DeleteCollection(ctx, now, metav1.ListOptions{})
	})
}

// autoscale makes the vertical objects anew, with their history.
func (c *crowd) autoscale(ctx context.Context) error {
	if err := c.remove(ctx); err != nil {
		return err
	}
	now := time.Now()
	err := each(ctx, c.objects, func(ctx context.Context, n int) error {
		err := c.vertical.Post().Namespace(namespaceOf(n)).Resource(vpav1.VerticalPodAutoscalerCheckpoints).Body(checkpoint(n,
			now)).Do(ctx).Error()
		if err != nil {
			return err
		}
		return c.vertical.Post().Namespace(namespaceOf(n)).Resource(vpav1.VerticalPodAutoscalers).Body(autoscaler(n,
			c.mode)).Do(ctx).Error()
	})
	if err != nil {
		return fmt.Errorf("create a vertical object: %w", err)
	}
	return nil
}

func (c *crowd) remove(ctx context.Context) error {
	for _, plural := range []string{vpav1.VerticalPodAutoscalers, vpav1.VerticalPodAutoscalerCheckpoints} {
		err := each(ctx, c.namespaces(), func(ctx context.Context, n int) error {
			return c.vertical.Delete().Namespace(namespaceName(n)).Resource(plural).Body(&metav1.DeleteOptions{}).Do(ctx).Error()
		})
		if err != nil {
			return fmt.Errorf("delete %s: %w", plural, err)
		}
	}
	return nil
}

// askForMore makes every workload's pods fall short of what is recommended.
func (c *crowd) askForMore(ctx context.Context) error {
	err := each(ctx, c.objects, func(ctx context.Context, n int) error {
		return c.vertical.Patch(types.MergePatchType).Namespace(namespaceOf(n)).Resource(vpav1.VerticalPodAutoscalers).
			Name(objectName(n)).Body([]byte(morePatch)).Do(ctx).Error()
	})
	if err != nil {
		return fmt.Errorf("patch a vertical object: %w", err)
	}
	return nil
}

// recommended counts the objects with a recommendation.
func (c *crowd) recommended(ctx context.Context) (int, error) {
	list := &vpav1.VerticalPodAutoscalerList{}
	if err := c.vertical.Get().Resource(vpav1.VerticalPodAutoscalers).Param("resourceVersion",
		"0").Do(ctx).Into(list); err != nil {
		return 0, fmt.Errorf("list the vertical objects: %w", err)
	}
	count := 0
	for i := range list.Items {
		if r := list.Items[i].Status.Recommendation; r != nil && len(r.ContainerRecommendations) > 0 {
			count++
		}
	}
	return count, nil
}

// wait is a wait until a count has reached what is wanted.
type wait struct {
	title  string
	want   int
	count  func(context.Context) (int, error)
	say    func(format string, args ...any)
	period time.Duration
}

var errTooLong = errors.New("it took too long")

// await prints the progress of a wait.
func (w wait) await(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errTooLong)
	defer cancel()
	ticker := time.NewTicker(w.period)
	defer ticker.Stop()
	said := time.Now()
	for {
		count, err := w.count(ctx)
		if err == nil && count >= w.want {
			return nil
		}
		if time.Since(said) > progressPeriod {
			w.say("%s: %d of %d", w.title, count, w.want)
			said = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %d of %d: %w", w.title, count, w.want, errors.Join(context.Cause(ctx), err))
		case <-ticker.C:
		}
	}
}
