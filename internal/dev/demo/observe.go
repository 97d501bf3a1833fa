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

	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

// observer sees the demo as any user would: through the API server.
type observer struct {
	client      kubernetes.Interface
	autoscalers autoscalers
	began       time.Time
}

func newObserver(config *rest.Config, kind Kind) (*observer, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	o := &observer{client: client, autoscalers: hpas{client}, began: time.Now()}
	if kind == WorkloadAutoscaler {
		own, err := wla.New(config)
		if err != nil {
			return nil, fmt.Errorf("client of WorkloadAutoscalers: %w", err)
		}
		o.autoscalers = workloadAutoscalers{own}
	}
	return o, nil
}

func (o *observer) sample(ctx context.Context, load float64) (Sample, error) {
	d, err := o.client.AppsV1().Deployments(demoNamespace).Get(ctx, demoWorkload, metav1.GetOptions{})
	if err != nil {
		return Sample{}, fmt.Errorf("get deployment %s/%s: %w", demoNamespace, demoWorkload, err)
	}
	read, err := o.autoscalers.status(ctx)
	if err != nil {
		return Sample{}, err
	}
	s := Sample{
		Elapsed: time.Since(o.began), Load: load, Ready: d.Status.ReadyReplicas, Percent: read.percent(),
		Status: read.lines,
	}
	if d.Spec.Replicas != nil {
		s.Wanted = *d.Spec.Replicas
	}
	for _, c := range read.conditions {
		s.Conditions = append(s.Conditions, c.String())
	}
	return s, nil
}

// awaitMetric waits until the autoscaler has computed a count for the first
// time: metrics need two scrapes.
func (o *observer) awaitMetric(ctx context.Context) error {
	for {
		if s, err := o.autoscalers.status(ctx); err == nil && s.isComputed() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the first metric: %w", context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
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
