package demo

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// observer sees the demo as any user would: through the API server.
type observer struct {
	client kubernetes.Interface
	began  time.Time
}

func (o *observer) sample(ctx context.Context, load float64) (Sample, error) {
	get := metav1.GetOptions{}
	d, err := o.client.AppsV1().Deployments(demoNamespace).Get(ctx, demoWorkload, get)
	if err != nil {
		return Sample{}, fmt.Errorf("get deployment %s/%s: %w", demoNamespace, demoWorkload, err)
	}
	hpa, err := o.client.AutoscalingV2().HorizontalPodAutoscalers(demoNamespace).Get(ctx, demoWorkload, get)
	if err != nil {
		return Sample{}, fmt.Errorf("get horizontalpodautoscaler %s/%s: %w", demoNamespace, demoWorkload, err)
	}
	s := Sample{Elapsed: time.Since(o.began), Load: load, Ready: d.Status.ReadyReplicas}
	if d.Spec.Replicas != nil {
		s.Wanted = *d.Spec.Replicas
	}
	if m := hpa.Status.CurrentMetrics; len(m) > 0 && m[0].Resource != nil {
		s.Percent = m[0].Resource.Current.AverageUtilization
	}
	for _, c := range hpa.Status.Conditions {
		s.Conditions = append(s.Conditions, fmt.Sprintf("%s %s: %s", c.Type, c.Reason, c.Message))
	}
	return s, nil
}

// awaitMetric waits until the autoscaler has computed a count for the first
// time: metrics need two scrapes.
func (o *observer) awaitMetric(ctx context.Context) error {
	for {
		hpa, err := o.client.AutoscalingV2().HorizontalPodAutoscalers(demoNamespace).Get(ctx, demoWorkload,
			metav1.GetOptions{})
		if err == nil && computed(hpa) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the first metric: %w", context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func computed(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	for _, c := range hpa.Status.Conditions {
		if c.Type == autoscalingv2.ScalingActive {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// watchScales calls scaled for each event SuccessfulRescale of the autoscaler
// until the context ends.
func (o *observer) watchScales(ctx context.Context, scaled func(ScaleEvent)) error {
	only := fields.Set{"reason": "SuccessfulRescale", "involvedObject.name": demoWorkload}.String()
	events, err := o.client.CoreV1().Events(demoNamespace).Watch(ctx, metav1.ListOptions{FieldSelector: only})
	if err != nil {
		return fmt.Errorf("watch events of namespace %s: %w", demoNamespace, err)
	}
	defer events.Stop()
	from := int32(minReplicas)
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-events.ResultChan():
			if !open {
				return fmt.Errorf("the watch of events of namespace %s ended", demoNamespace)
			}
			event, ok := e.Object.(*corev1.Event)
			if !ok || (e.Type != watch.Added && e.Type != watch.Modified) {
				continue
			}
			if scale, ok := o.parse(event, from); ok {
				from = scale.To
				scaled(scale)
			}
		}
	}
}

var sizeAndReason = regexp.MustCompile(`^New size: (\d+); reason: (.*)$`)

func (o *observer) parse(event *corev1.Event, from int32) (ScaleEvent, bool) {
	parts := sizeAndReason.FindStringSubmatch(event.Message)
	if parts == nil {
		return ScaleEvent{}, false
	}
	to, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return ScaleEvent{}, false
	}
	now := time.Now()
	return ScaleEvent{
		Time: now, ElapsedSeconds: now.Sub(o.began).Seconds(), From: from, To: int32(to), Reason: parts[2],
	}, true
}
