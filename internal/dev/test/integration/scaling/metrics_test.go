package scaling

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/world"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// reading is the expected status.currentMetrics, within 5 %; zero is not checked.
type reading struct {
	value, average float64
	percent        int32
}

func TestResourceMetricsGiveTheComputedCount(t *testing.T) {
	t.Parallel()
	// One request of 35/s uses 1Mi for a second; a pod has 1Mi of its own.
	memory := harness.Workload{Annotations: map[string]string{
		world.AnnotationMemoryBase: "1Mi", world.AnnotationMemoryPerRequest: "1Mi",
	}}
	// app takes 6.5m of the 10m of a request, and proxy 3.5m.
	two := harness.Workload{
		Annotations: map[string]string{world.AnnotationContainerShares: "app=65,proxy=35"},
		Containers:  []corev1.Container{harness.Container("app", "100m", "64Mi"), harness.Container("proxy", "100m", "64Mi")},
	}
	for name, c := range map[string]struct {
		workload harness.Workload
		load     float64
		metric   autoscalingv2.MetricSpec
		want     int64
		show     reading
		why      string
	}{
		"cpu utilization": {
			harness.Workload{}, 17.5, harness.Resource(corev1.ResourceCPU, harness.Utilization(50)),
			4, reading{average: 0.04375, percent: 44}, "175m over 50 % of 100m",
		},
		"cpu average value": {
			harness.Workload{}, 17.5, harness.Resource(corev1.ResourceCPU, harness.AverageValue("70m")),
			3, reading{average: 0.0583}, "175m over 70m",
		},
		"memory utilization": {
			memory, 35, harness.Resource(corev1.ResourceMemory, harness.Utilization(25)),
			3, reading{average: 38 << 20 / 3, percent: 20}, "36Mi to 38Mi over 25 % of 64Mi",
		},
		"memory average value": {
			memory, 35, harness.Resource(corev1.ResourceMemory, harness.AverageValue("10Mi")),
			4, reading{average: 39 << 20 / 4}, "36Mi to 39Mi over 10Mi",
		},
		"container cpu utilization": {
			two, 20, harness.ContainerResource("proxy", corev1.ResourceCPU, harness.Utilization(20)),
			4, reading{average: 0.0175, percent: 17},
			"proxy's 70m over 20 % of its 100m; the pods' 200m over 20 % of 200m would be 5",
		},
		"container cpu average value": {
			two, 20, harness.ContainerResource("proxy", corev1.ResourceCPU, harness.AverageValue("20m")),
			4, reading{average: 0.0175}, "proxy's 70m over 20m; the pods' 200m would be 10",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.Namespace(t)
			hpa := harness.Autoscaler("web", c.metric)
			hpa.Spec.Behavior = harness.DownAtOnce() // so that a count that is too high is not held
			s.Create(c.workload.Deployment(), c.workload.Service(c.load), hpa)
			awaitCount(s, c.want, c.show)
			s.HoldsReplicas(12*time.Second, harness.Deployment, "web", c.want) // one more scrape: c.why
		})
	}
}

func TestCustomAndExternalMetricsGiveTheComputedCount(t *testing.T) {
	t.Parallel()
	front := harness.Workload{Name: "front"}
	for name, c := range map[string]struct {
		source client.Object
		metric autoscalingv2.MetricSpec
		want   int64
		show   reading
		why    string
	}{
		"pods": {
			harness.Workload{}.Service(35), harness.PodRequests(harness.AverageValue("10")),
			4, reading{average: 8.75}, "35 over 10",
		},
		"object average value": {
			front.Service(35), harness.ServiceRequests("front", harness.AverageValue("10")),
			4, reading{average: 8.75}, "35 over 10, however many pods there are",
		},
		"object value": {
			front.Service(35), harness.ServiceRequests("front", harness.Value("20")),
			4, reading{value: 35}, "35/20 of the two ready pods",
		},
		"external average value": {
			harness.Queue("jobs", 35), harness.QueueLength("jobs", harness.AverageValue("10")),
			4, reading{average: 8.75}, "35 over 10",
		},
		"external value": {
			harness.Queue("jobs", 35), harness.QueueLength("jobs", harness.Value("20")),
			4, reading{value: 35}, "35/20 of the two ready pods",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.Namespace(t)
			// A second queue and a second load, which must not affect the metric.
			s.Create(harness.Queue("other", 500), harness.Workload{Name: "busy"}.Service(500), c.source)
			twoReadyPods(s)
			hpa := harness.Autoscaler("web", c.metric)
			hpa.Spec.Behavior = harness.DownAtOnce()
			s.Create(hpa)
			awaitCount(s, c.want, c.show)
			s.HoldsReplicas(5*time.Second, harness.Deployment, "web", c.want) // c.why
		})
	}
}

// twoReadyPods creates a Deployment with two ready pods whose further pods never become ready: targets of type Value
// count from the ready pods, and a value that does not fall as pods are added would otherwise lead to ever more.
func twoReadyPods(s *harness.Namespace) {
	const annotation = "sim.plimsoll.dev/ready"
	s.Create(harness.Workload{
		Replicas: ptr.To[int32](2), Annotations: map[string]string{annotation: "false"},
	}.Deployment())
	s.Eventually("two pods", func(ctx context.Context) error { return podCount(ctx, s, 2) })
	s.Kubectl("annotate", "pods", "--all", annotation+"-")
	s.Eventually("two ready pods", func(ctx context.Context) error { return readyPods(ctx, s, 2) })
}

func podCount(ctx context.Context, s *harness.Namespace, want int) error {
	pods, err := s.Client.CoreV1().Pods(s.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(pods.Items) != want {
		return fmt.Errorf("%d pods", len(pods.Items))
	}
	return nil
}

func readyPods(ctx context.Context, s *harness.Namespace, want int32) error {
	deployment, err := s.Client.AppsV1().Deployments(s.Name).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if got := deployment.Status.ReadyReplicas; got != want {
		return fmt.Errorf("%d ready pods", got)
	}
	return nil
}

// awaitCount waits until the count is there and the status shows the reading of that many pods.
func awaitCount(s *harness.Namespace, want int64, show reading) {
	s.AwaitReplicas(harness.Deployment, "web", want)
	s.AwaitHPA("web", "status", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		if len(hpa.Status.CurrentMetrics) != 1 {
			return fmt.Errorf("%d metrics, not one", len(hpa.Status.CurrentMetrics))
		}
		return both(hasValidMetric(hpa), currentReplicas(hpa, int32(want)),
			show.compare(currentOf(hpa.Status.CurrentMetrics[0])))
	})
}

func currentOf(m autoscalingv2.MetricStatus) autoscalingv2.MetricValueStatus {
	switch m.Type {
	case autoscalingv2.ResourceMetricSourceType:
		return m.Resource.Current
	case autoscalingv2.ContainerResourceMetricSourceType:
		return m.ContainerResource.Current
	case autoscalingv2.PodsMetricSourceType:
		return m.Pods.Current
	case autoscalingv2.ObjectMetricSourceType:
		return m.Object.Current
	case autoscalingv2.ExternalMetricSourceType:
		return m.External.Current
	default: // a metric that could not be read has an empty place, as upstream
		return autoscalingv2.MetricValueStatus{}
	}
}

func (r reading) compare(got autoscalingv2.MetricValueStatus) error {
	return both(near("value", got.Value, r.value), near("average value", got.AverageValue, r.average),
		r.comparePercent(got))
}

func (r reading) comparePercent(got autoscalingv2.MetricValueStatus) error {
	switch {
	case r.percent == 0:
		return nil
	case got.AverageUtilization == nil:
		return fmt.Errorf("no utilization, want %d %%", r.percent)
	case *got.AverageUtilization < r.percent-1 || *got.AverageUtilization > r.percent+1:
		return fmt.Errorf("utilization %d %%, want %d", *got.AverageUtilization, r.percent)
	}
	return nil
}

func near(what string, got *resource.Quantity, want float64) error {
	switch {
	case want == 0:
		return nil
	case got == nil:
		return fmt.Errorf("no %s, want %g", what, want)
	case math.Abs(got.AsApproximateFloat64()-want) > want/20:
		return fmt.Errorf("%s %s, want %g", what, got, want)
	}
	return nil
}

func TestKubectlTopShowsWhatPodsUse(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	web := harness.Workload{Replicas: ptr.To[int32](2)}
	s.Create(web.Deployment(), web.Service(40)) // 200m each
	s.Eventually("200m of CPU in kubectl top", func(ctx context.Context) error {
		out, err := s.Cluster.Kubectl(ctx, "--namespace="+s.Name, "top", "pods", "--no-headers")
		if err != nil {
			return err
		}
		return topShows(out, 2, 200)
	})
}

// topShows checks lines of pods with CPU within 5 %.
func topShows(out string, pods int, cpuMilli float64) error {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != pods {
		return fmt.Errorf("%d lines: %s", len(lines), out)
	}
	for _, line := range lines {
		fields := strings.Fields(line) // NAME CPU(cores) MEMORY(bytes)
		if len(fields) != 3 || !strings.HasSuffix(fields[2], "Mi") {
			return fmt.Errorf("line %q", line)
		}
		got, err := strconv.ParseFloat(strings.TrimSuffix(fields[1], "m"), 64)
		if err != nil || math.Abs(got-cpuMilli) > cpuMilli/20 {
			return fmt.Errorf("line %q, want %gm of CPU", line, cpuMilli)
		}
	}
	return nil
}
