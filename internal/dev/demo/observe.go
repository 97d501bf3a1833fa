package demo

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// observer reads the demo as any user would: through the API server.
type observer struct {
	client kubernetes.Interface
	began  time.Time
}

func newObserver(config *rest.Config) (*observer, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &observer{client: client, began: time.Now()}, nil
}

func (o *observer) sample(ctx context.Context, workloads []workload, load float64) (Sample, error) {
	s := Sample{Elapsed: time.Since(o.began), Load: load}
	for _, w := range workloads {
		one, err := o.sampleOne(ctx, w)
		if err != nil {
			return Sample{}, err
		}
		s.Workloads = append(s.Workloads, one)
	}
	return s, nil
}

func (o *observer) sampleOne(ctx context.Context, w workload) (WorkloadSample, error) {
	d, err := o.client.AppsV1().Deployments(demoNamespace).Get(ctx, w.name, metav1.GetOptions{})
	if err != nil {
		return WorkloadSample{}, fmt.Errorf("get deployment %s/%s: %w", demoNamespace, w.name, err)
	}
	read, err := w.autoscaler.status(ctx)
	if err != nil {
		return WorkloadSample{}, err
	}
	s := WorkloadSample{
		Name: w.name, Wanted: ptr.Deref(d.Spec.Replicas, 0), Ready: d.Status.ReadyReplicas, Metric: w.metric(read),
		Status: read.lines,
	}
	for _, c := range read.conditions {
		s.Conditions = append(s.Conditions, c.String())
	}
	return s, nil
}

// awaitMetrics waits until each autoscaler has computed a count for the first time: metrics need two scrapes.
func (o *observer) awaitMetrics(ctx context.Context, workloads []workload) error {
	for _, w := range workloads {
		for {
			if s, err := w.autoscaler.status(ctx); err == nil && s.isComputed() {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("waiting for the first metric of %s: %w", w.name, context.Cause(ctx))
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	return nil
}

// watchScales calls scaled for each event SuccessfulRescale of the autoscalers until the context ends.
func (o *observer) watchScales(ctx context.Context, scaled func(ScaleEvent)) error {
	only := fields.Set{"reason": "SuccessfulRescale"}.String()
	events, err := o.client.CoreV1().Events(demoNamespace).Watch(ctx, metav1.ListOptions{FieldSelector: only})
	if err != nil {
		return fmt.Errorf("watch events of namespace %s: %w", demoNamespace, err)
	}
	defer events.Stop()
	from := map[string]int32{} // by workload
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
			name := event.InvolvedObject.Name
			if scale, ok := o.parse(event, max(from[name], minReplicas)); ok {
				from[name] = scale.To
				scaled(scale)
			}
		}
	}
}

// sizeAndReason also fits the one event that stands for all that come after the tenth within ten minutes.
var sizeAndReason = regexp.MustCompile(`^(?:\(combined from similar events\): )?New size: (\d+); reason: (.*)$`)

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
		Time: now, ElapsedSeconds: now.Sub(o.began).Seconds(), Workload: event.InvolvedObject.Name, From: from, To: int32(to),
		Reason: parts[2],
	}, true
}
