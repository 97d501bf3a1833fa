package simulate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// Workload describes the pods.
type Workload struct {
	// Name is for people.
	Name string
	// CPURequestMilli and CPULimitMilli are the pod's without its sidecars; a limit of 0 is none.
	CPURequestMilli, CPULimitMilli float64
	MemoryLimitBytes               float64
	// Burst is how many times its request a pod without a limit gets at most.
	Burst   float64
	Profile workloadmodel.Profile
	// Work is the work that its pods do besides their part of the load.
	Work []world.Work
	// StartAfter is from a pod's place on a node until it runs, ReadyAfter from there
	// until it is ready.
	StartAfter, ReadyAfter time.Duration
	// Grace is how long a pod that is to go may take at most. PreStop is how long the hook takes that
	// runs first, StopAfter how long the pod is there after that and after its last request.
	Grace, PreStop, StopAfter time.Duration
	// Containers are how many the pod has, which are simulated as one; Pod is its template as a pod. Sidecars come beside
	// them.
	Containers int
	Pod        *corev1.Pod
	Sidecars   []world.Sidecar
}

// requestsAtFull is how many requests a second a pod serves at 100 % of its CPU
// request, where the cost of one is not given.
const requestsAtFull = 50

// defaultStopAfter is what a program takes to stop that is told to, and the kubelet to remove its pod: most
// exit within a few seconds. Those that do not handle the signal take their whole grace period.
const defaultStopAfter = 5 * time.Second

// DefaultWorkload is the one without a manifest.
func DefaultWorkload() Workload {
	w := Workload{
		Name: "a pod of 500m", CPURequestMilli: 500, Burst: 2, Profile: workloadmodel.DefaultProfile(),
		StartAfter: 2 * time.Second, ReadyAfter: 5 * time.Second, Grace: 30 * time.Second,
		StopAfter: defaultStopAfter, Containers: 1,
	}
	w.Profile.IdleCPUMilli, w.Profile.CPUPerRequestMilliCoreSeconds = 0, 0
	return w
}

// Complete fills in what follows from the rest.
func (w *Workload) Complete() {
	if w.Profile.CPUPerRequestMilliCoreSeconds == 0 {
		w.Profile.CPUPerRequestMilliCoreSeconds = w.CPURequestMilli / requestsAtFull
	}
	w.Profile.Startup = w.ReadyAfter
	if w.Pod == nil {
		w.Pod = w.plainPod()
	}
}

// plainPod is a pod of one container that requests what the workload does.
func (w *Workload) plainPod() *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("app", w.CPURequestMilli, 128<<20)}}}
}

func container(name string, cpuMilli float64, memoryBytes int64) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(cpuMilli), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memoryBytes, resource.BinarySI),
	}}}
}

// wholePod is the template with its sidecars, which request twice the memory that they use.
func (w *Workload) wholePod() *corev1.Pod {
	pod := w.Pod.DeepCopy()
	for i := range w.Sidecars {
		s := &w.Sidecars[i]
		pod.Spec.Containers = append(pod.Spec.Containers, container(s.Name, s.CPURequestMilli, 2*world.SidecarMemoryBytes))
	}
	return pod
}

// ServingContainer is the container that ContainerResource metrics are of: the one that serves; empty if none says so.
func ServingContainer(a observehorizontal.Autoscaler) string {
	for i := range a.NumMetrics() {
		if m := a.Metric(i); m.Container != "" {
			return m.Container
		}
	}
	return ""
}

// ServeIn has the requests served in one of several containers. The others are sidecars that use no CPU.
func (w *Workload) ServeIn(container string) {
	all := w.Pod.Spec.Containers
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == container })
	if i < 0 || len(all) == 1 {
		return
	}
	for k := range all {
		if k != i {
			w.Sidecars = append(slices.Clone(w.Sidecars), world.Sidecar{
				Name: all[k].Name, CPURequestMilli: float64(all[k].Resources.Requests.Cpu().MilliValue()),
			})
		}
	}
	one := all[i].Resources
	w.CPURequestMilli = float64(one.Requests.Cpu().MilliValue())
	w.CPULimitMilli, w.MemoryLimitBytes = float64(one.Limits.Cpu().MilliValue()), float64(one.Limits.Memory().Value())
	w.Pod, w.Containers = w.Pod.DeepCopy(), 1
	w.Pod.Spec.Containers, w.Name = []corev1.Container{*all[i].DeepCopy()}, w.Name+", container "+container
}

// sidecars returns the sum of the requests and of the use of the sidecars that a metric counts.
func (w *Workload) sidecars(m *source.Spec) (requestMilli, usedMilli float64) {
	for i := range w.Sidecars {
		if s := &w.Sidecars[i]; m.Container == "" || m.Container == s.Name {
			requestMilli, usedMilli = requestMilli+s.CPURequestMilli, usedMilli+s.CPUMilli
		}
	}
	return requestMilli, usedMilli
}

func (w *Workload) requestMilli() float64 {
	sidecars, _ := w.sidecars(&source.Spec{})
	return w.CPURequestMilli + sidecars
}

// ceilingMilli is the most CPU that a pod gets.
func (w *Workload) ceilingMilli() float64 {
	if w.CPULimitMilli > 0 {
		return w.CPULimitMilli
	}
	return w.CPURequestMilli * w.Burst
}

func (w *Workload) validate() error {
	switch {
	case !(w.CPURequestMilli > 0):
		return fmt.Errorf("%s requests no CPU: without it neither a utilization nor a pod's capacity is defined", w.Name)
	case w.CPULimitMilli > 0 && w.CPULimitMilli < w.CPURequestMilli:
		return fmt.Errorf("%s: the CPU limit is below the request", w.Name)
	case w.CPULimitMilli <= 0 && !(w.Burst >= 1):
		return errors.New("a pod gets at least what it requests: the burst must be 1 or more")
	case w.StartAfter < 0 || w.ReadyAfter < 0 || w.Grace < 0 || w.PreStop < 0 || w.StopAfter < 0:
		return errors.New("the times of a pod's start and end must not be negative")
	case !(w.Profile.CPUPerRequestMilliCoreSeconds > 0):
		return errors.New("a request must cost some CPU")
	}
	if err := w.validateSidecars(); err != nil {
		return err
	}
	return w.Profile.Validate()
}

func (w *Workload) validateSidecars() error {
	names := map[string]bool{}
	for i := range w.Pod.Spec.Containers {
		names[w.Pod.Spec.Containers[i].Name] = true
	}
	for i := range w.Sidecars {
		s := &w.Sidecars[i]
		if s.Name == "" || names[s.Name] {
			return fmt.Errorf("sidecar: name=%s, want a name that no other container has", s.Name)
		}
		if !(s.CPURequestMilli >= 0 && s.CPUMilli >= 0) {
			return fmt.Errorf("sidecar %s: request=%vm, cpu=%vm, want 0 or more of both", s.Name, s.CPURequestMilli,
				s.CPUMilli)
		}
		names[s.Name] = true
	}
	return nil
}

// requests are what a pod requests of the resource of each metric whose target is a utilization, as the controller
// reads them.
func (w *Workload) requests(p *horizontal.Policy) ([]metric.Request, error) {
	translate := observehorizontal.NewAnswers(p, observe.PodsOf([]*corev1.Pod{w.wholePod()}))
	requests := make([]metric.Request, len(p.Metrics))
	for i := range p.Metrics {
		m := &p.Metrics[i]
		switch {
		case m.Type == source.ContainerResource && w.Containers > 1:
			return nil, fmt.Errorf("metric %s is of container %s; a pod of %d containers is simulated as a whole",
				m.ShortName(), m.Container, w.Containers)
		case m.Type == source.ContainerResource && !w.hasContainer(m.Container):
			return nil, fmt.Errorf("metric %s is of container %s, which %s does not have: name one that it has, with "+
				"--sidecar if the manifest lacks it", m.ShortName(), m.Container, w.Name)
		case m.Type == source.Resource || m.Type == source.ContainerResource:
			if m.Name != source.CPU && m.Name != string(corev1.ResourceMemory) {
				return nil, fmt.Errorf("metric %s is of %s; cpu and memory are simulated", m.ShortName(), m.Name)
			}
		default:
			continue
		}
		if m.Target.Type != source.Utilization {
			continue
		}
		reading := translate.Measured(i, nothing{})
		requests[i] = reading.Requests[0]
		if r := &requests[i]; r.Missing != metric.RequestSet {
			return nil,
				fmt.Errorf(
					"%s: container %q has no request of %s, so that its utilization is undefined: no autoscaler would scale it",
					w.Name, r.Container, m.Name)
		}
	}
	return requests, nil
}

func (w *Workload) hasContainer(name string) bool {
	return slices.ContainsFunc(w.wholePod().Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
}

// nothing is a usage of which only what surrounds it is of interest.
type nothing struct{}

var _ observehorizontal.PodUsage = nothing{}

// IsEmpty implements observe.PodUsage.
func (nothing) IsEmpty() bool { return false }

// Sample implements observe.PodUsage.
func (nothing) Sample(int, *source.Spec, arithmetic.Mode) metric.Sample { return metric.Sample{} }

// Earlier implements observe.PodUsage.
func (nothing) Earlier(int, *source.Spec, arithmetic.Mode) metric.Sample { return metric.Sample{} }

// Recent implements observe.PodUsage.
func (nothing) Recent(int, *source.Spec, arithmetic.Mode) metric.Recent { return metric.Recent{} }
