package advise

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
)

// mostLoads is how many loads are read from Prometheus at most: each is some queries a day of history.
const mostLoads = 100

// readPrometheus reads the loads of the other autoscalers from Prometheus. Those whose load cannot be read are named,
// and the rest is checked.
func (o *adviseOptions) readPrometheus(ctx context.Context, c *objects.Collection) error {
	h := &o.history
	if h.client == nil {
		return nil
	}
	if len(c.Horizontals) > mostLoads {
		return fmt.Errorf("--prometheus-address: the load of %d autoscalers at most is read at a time, these are %d; "+
			"choose a namespace", mostLoads, len(c.Horizontals))
	}
	now := time.Now()
	for i, a := range c.Horizontals {
		if c.LoadOf(a) != nil {
			continue
		}
		o.doing.Store(fmt.Sprintf("reading the load of %s from Prometheus (%d of %d)", a.Describe(), i+1, len(c.Horizontals)))
		l, err := h.readLoad(ctx, c, a, now)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			o.unknown = append(o.unknown,
				fmt.Sprintf("The load of %s %s/%s could not be read: %v", a.Noun(), a.Namespace, a.Name, err))
		default:
			remember(c, a, l)
		}
	}
	return nil
}

func (h *historyOptions) readLoad(
	ctx context.Context, c *objects.Collection, a *objects.Horizontal, now time.Time,
) (*objects.Load, error) {
	target, ok := cpuTargetOf(c, a)
	if !ok {
		return nil, errors.New("it has no CPU metric")
	}
	s, err := h.client.Load(ctx, prometheushistory.Query{
		Namespace: a.Namespace, Kind: a.Spec.ScaleTargetRef.Kind, Name: a.Spec.ScaleTargetRef.Name,
		Container: target.container, From: now.Add(-h.lasts), To: now,
		UtilizationPercent: target.percent, AverageMilli: target.averageMilli, RequestMilli: target.requestMilli,
	})
	if err != nil {
		return nil, err
	}
	return &objects.Load{
		Start: s.Start, Pods: s.Pods, Utilization: target.utilization(), StartUp: h.startUp, Location: h.location,
		Source: "CPU use in Prometheus",
	}, nil
}

// cpuTarget is the target of a CPU metric.
type cpuTarget struct {
	container    string
	percent      int32
	averageMilli int64
	// requestMilli is what a pod, or the container, requests; 0 if that is not known.
	requestMilli int64
}

// utilization is the part of its request that a pod uses at the target; what it can use beyond does not count.
func (t *cpuTarget) utilization() float64 {
	switch {
	case t.percent > 0:
		return min(1, float64(t.percent)/100)
	case t.requestMilli > 0:
		return min(1, float64(t.averageMilli)/float64(t.requestMilli))
	}
	return 1
}

// utilizationOf is that of an autoscaler; without a CPU metric a pod at the target serves all that it can.
func utilizationOf(c *objects.Collection, a *objects.Horizontal) float64 {
	t, ok := cpuTargetOf(c, a)
	if !ok {
		return 1
	}
	return t.utilization()
}

// cpuTargetOf is the target of the first CPU metric.
func cpuTargetOf(c *objects.Collection, a *objects.Horizontal) (cpuTarget, bool) {
	metrics := a.Metrics()
	for i := range metrics {
		var t cpuTarget
		var target *autoscalingv2.MetricTarget
		switch m := &metrics[i]; {
		case m.Resource != nil && m.Resource.Name == corev1.ResourceCPU:
			target = &m.Resource.Target
		case m.ContainerResource != nil && m.ContainerResource.Name == corev1.ResourceCPU:
			target, t.container = &m.ContainerResource.Target, m.ContainerResource.Container
		default:
			continue
		}
		t.requestMilli = requestOf(c, a, t.container)
		switch {
		case target.AverageUtilization != nil && *target.AverageUtilization > 0:
			t.percent = *target.AverageUtilization
			return t, true
		case target.AverageValue != nil && target.AverageValue.MilliValue() > 0:
			t.averageMilli = target.AverageValue.MilliValue()
			return t, true
		}
	}
	return cpuTarget{}, false
}

// requestOf is what a pod of the target requests today, or one of its containers; 0 if that is not known.
func requestOf(c *objects.Collection, a *objects.Horizontal, container string) int64 {
	w := c.TargetOfHorizontal(a)
	if w == nil {
		return 0
	}
	sum := int64(0)
	for _, one := range w.Containers() {
		if container != "" && one.Name != container {
			continue
		}
		request, ok := c.RequestOf(w, one, corev1.ResourceCPU)
		if !ok {
			return 0
		}
		sum += max(0, request.MilliValue())
	}
	return sum
}
