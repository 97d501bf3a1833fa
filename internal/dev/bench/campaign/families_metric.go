package campaign

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// metricFamilies differ in what is measured, and in the kind of the autoscaler.
var metricFamilies = []family{
	{name: "pods", cases: 12, build: podsCase},
	{name: "external", cases: 12, build: externalCase},
	{name: "two", cases: 16, build: twoCase},
	{name: "workload", cases: 16, build: workloadCase},
	{name: "few", cases: 16, build: fewCase},
}

// requestsAtFull is the requests a second that a pod serves at 100 % of its CPU request.
const requestsAtFull = 50

func podsCase(c *Case, r random, i int) {
	base, factor := c.anyLoad(r, i)
	c.Metrics = requestsPerPod(c.TargetPercent)
	c.note("requests of each pod: %.1f pods, times %.1f", base, factor)
}

func externalCase(c *Case, r random, i int) {
	base, factor := c.anyLoad(r, i)
	if i%2 == 0 {
		c.Metrics = requestsOffered(requestsFor(c.TargetPercent))
		c.note("requests offered: %.1f pods, times %.1f", base, factor)
		return
	}
	waiting := r.of(5, 20, 50)
	c.Metrics = append(cpu(c.TargetPercent), requestsWaiting(waiting)...)
	c.note("CPU, and %.0f requests that wait for each pod: %.1f pods, times %.1f", waiting, base, factor)
}

func twoCase(c *Case, r random, i int) {
	base, factor := c.anyLoad(r, i)
	if i%2 == 0 {
		c.FixedMemory = true
		c.Metrics = append(cpu(c.TargetPercent), memory(50)...)
		c.note("CPU and memory: %.1f pods, times %.1f", base, factor)
		return
	}
	c.Metrics = append(cpu(c.TargetPercent), requestsPerPod(c.TargetPercent)...)
	c.note("CPU and requests of each pod: %.1f pods, times %.1f", base, factor)
}

func workloadCase(c *Case, r random, i int) {
	base, factor := c.anyLoad(r, i/4)
	c.Own = &Own{Metrics: ownCPU(c.TargetPercent)}
	name := "CPU"
	switch i % 4 {
	case 1:
		c.Own.SyncPeriodSeconds, name = 5, "CPU, decided every 5 s"
	case 2:
		c.Metrics, c.Own.Metrics, name = requestsPerPod(c.TargetPercent), endpointRate(c.TargetPercent), "PodEndpoint"
	case 3:
		c.Metrics = requestsOffered(requestsFor(c.TargetPercent))
		c.Own.Metrics, name = prometheus(c.TargetPercent), "Prometheus"
	}
	c.note("%s: %.1f pods, times %.1f", name, base, factor)
}

// fewCase has requests that pods count themselves, so few in each pod that chance alone makes a multiple of them. The
// load stays, or rises at once.
func fewCase(c *Case, r random, i int) {
	perPod := []float64{0.2, 1, 5, 30}[i%4]
	c.RequestsAtFull = perPod * 100 / float64(c.TargetPercent)
	base, factor := r.scaled(3, 12), []float64{1, 1, 3, r.of(1.5, 5)}[i/4%4]
	c.Metrics, c.Own = requestsOfEach(perPod), &Own{Metrics: endpointRateOf(perPod)}
	c.step(base, factor, 300)
	c.note("%g requests a second in each pod at the target: %.1f pods, times %.1f", perPod, base, factor)
}

// anyLoad is a step, bursts, a ramp or a swing.
func (c *Case) anyLoad(r random, i int) (base, factor float64) {
	base, factor = r.scaled(0.8, 8), r.of(1.4, 2, 3, 5)
	switch i % 4 {
	case 0:
		c.step(base, factor, 400)
	case 1:
		c.Load = periodic(1500, base, factor, r.of(30, 60, 90), r.of(0.2, 0.33, 0.5))
	case 2:
		seconds := int(r.scaled(20, 400))
		c.Load = join(flat(120, base), ramp(seconds, base, base*factor), flat(300, base*factor), flat(500, base))
	default:
		c.Load = sine(1500, base*factor, 1-1/factor, r.scaled(120, 900))
	}
	return base, factor
}

func resourceMetric(name corev1.ResourceName, percent int32) []autoscalingv2.MetricSpec {
	return []autoscalingv2.MetricSpec{{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{Name: name, Target: autoscalingv2.MetricTarget{
			Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent,
		}},
	}}
}

func cpu(percent int32) []autoscalingv2.MetricSpec {
	return resourceMetric(corev1.ResourceCPU, percent)
}

func memory(percent int32) []autoscalingv2.MetricSpec {
	return resourceMetric(corev1.ResourceMemory, percent)
}

func average(value float64) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(milli(value))}
}

// milli is a number as a quantity of thousandths.
func milli(value float64) resource.Quantity {
	return *resource.NewMilliQuantity(int64(value*1000+0.5), resource.DecimalSI)
}

// requestsFor returns the requests a second that a pod serves at a target of its CPU.
func requestsFor(percent int32) float64 { return requestsAtFull * float64(percent) / 100 }

func requestsPerPod(percent int32) []autoscalingv2.MetricSpec {
	return requestsOfEach(requestsFor(percent))
}

func requestsOfEach(perSecond float64) []autoscalingv2.MetricSpec {
	return []autoscalingv2.MetricSpec{{
		Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "requests_per_second"}, Target: average(perSecond),
		},
	}}
}

func requestsOffered(perPod float64) []autoscalingv2.MetricSpec {
	return []autoscalingv2.MetricSpec{{
		Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference{
				APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: "web",
			},
			Metric: autoscalingv2.MetricIdentifier{Name: "requests_per_second"}, Target: average(perPod),
		},
	}}
}

func requestsWaiting(perPod float64) []autoscalingv2.MetricSpec {
	return []autoscalingv2.MetricSpec{{
		Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "requests_waiting"}, Target: average(perPod),
		},
	}}
}

func ownCPU(percent int32) []plimsollv1alpha1.MetricSpec {
	return []plimsollv1alpha1.MetricSpec{{
		Name: "cpu", Type: plimsollv1alpha1.ResourceMetricSourceType,
		Resource: &plimsollv1alpha1.ResourceMetricSource{
			Name: string(corev1.ResourceCPU), Target: plimsollv1alpha1.MetricTarget{
				Type: plimsollv1alpha1.UtilizationMetricType, AverageUtilization: &percent,
			},
		},
	}}
}

func ownTarget(perSecond float64) plimsollv1alpha1.MetricTarget {
	return plimsollv1alpha1.MetricTarget{
		Type: plimsollv1alpha1.AverageValueMetricType, AverageValue: ptr.To(milli(perSecond)),
	}
}

func endpointRate(percent int32) []plimsollv1alpha1.MetricSpec {
	return endpointRateOf(requestsFor(percent))
}

func endpointRateOf(perSecond float64) []plimsollv1alpha1.MetricSpec {
	return []plimsollv1alpha1.MetricSpec{{
		Name: "requests", Type: plimsollv1alpha1.PodEndpointMetricSourceType,
		PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{
			Port: intstr.FromInt32(8080), Metric: plimsollv1alpha1.SeriesIdentifier{Name: "requests_total"},
			ValueType: plimsollv1alpha1.RateValueType, Target: ownTarget(perSecond),
		},
	}}
}

func prometheus(percent int32) []plimsollv1alpha1.MetricSpec {
	return []plimsollv1alpha1.MetricSpec{{
		Name: "requests", Type: plimsollv1alpha1.PrometheusMetricSourceType,
		Prometheus: &plimsollv1alpha1.PrometheusMetricSource{
			ServerAddress: "http://prometheus:9090", Query: "sum(rate(requests_total[1m]))",
			Target: ownTarget(requestsFor(percent)),
		},
	}}
}
