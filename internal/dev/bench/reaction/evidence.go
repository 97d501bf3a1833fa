package reaction

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/autoscaler"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup"
)

// Samples reads the newest samples of containers.
type Samples interface {
	Read(ctx context.Context) ([]realnode.Sample, error)
	Close() error
}

// readEvery is the period of reading samples until one shows the load: shorter than that of a kubelet's samples, and
// the period of Plimsoll's requests to an agent.
const readEvery = 250 * time.Millisecond

// evidence finds the first sample that shows the load: no autoscaler that reads samples can react earlier.
type evidence struct {
	samples Samples
	of      corev1.ResourceName
	// target is the target use of a pod, in cores or bytes.
	target float64
	began  time.Time
	newest map[string]realnode.Sample
}

func newEvidence(samples Samples, pod *corev1.PodSpec, of autoscaler.Resource, began time.Time) *evidence {
	return &evidence{
		samples: samples, of: of.Name, target: targetOf(pod, of), began: began, newest: map[string]realnode.Sample{},
	}
}

// targetOf is a metric's target of a pod, in cores or bytes.
func targetOf(pod *corev1.PodSpec, of autoscaler.Resource) (target float64) {
	for i := range pod.Containers {
		if of.Container == "" || of.Container == pod.Containers[i].Name {
			request := pod.Containers[i].Resources.Requests[of.Name]
			target += request.AsApproximateFloat64() * float64(of.Percent) / 100
		}
	}
	return target
}

// find reads samples until one shows the load, and returns after how many seconds of load it was taken; NaN if the
// context ends first. The first reading is what samples are compared with.
func (e *evidence) find(ctx context.Context) (float64, error) {
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	for {
		samples, err := e.samples.Read(ctx)
		if ctx.Err() != nil {
			return math.NaN(), nil
		}
		if err != nil {
			return math.NaN(), err
		}
		if first := e.firstOf(samples); !first.IsZero() {
			return first.Sub(e.began).Seconds(), nil
		}
		select {
		case <-ctx.Done():
			return math.NaN(), nil
		case <-ticker.C:
		}
	}
}

// follow reads samples beside the load, until the function that it returns is called. That returns after how many
// seconds of load the first sample was taken that shows it; NaN if there is none.
func (c Config) follow(
	ctx context.Context, subject Subject, samples Samples, began time.Time,
) (end func() (sampled float64, err error)) {
	if samples == nil {
		return func() (float64, error) { return math.NaN(), nil }
	}
	e := newEvidence(samples, &deployment(c.Stage.Template(subject)).Spec.Template.Spec, subject.Load.metric(), began)
	following, stop := context.WithCancel(ctx)
	var group errgroup.Group
	first := math.NaN()
	group.Go(func() (err error) {
		first, err = e.find(following)
		return errors.Join(err, samples.Close())
	})
	return func() (float64, error) {
		stop()
		err := group.Wait()
		return first, err
	}
}

// firstOf adds samples, and returns the time of the earliest one that shows the load.
func (e *evidence) firstOf(samples []realnode.Sample) (first time.Time) {
	for _, s := range samples {
		if s.Namespace != namespace || s.Container != server {
			continue
		}
		before, isKnown := e.newest[s.Pod]
		e.newest[s.Pod] = s
		if isKnown && s.At.After(before.At) && s.At.After(e.began) && e.use(&before, &s) > e.target &&
			(first.IsZero() || s.At.Before(first)) {
			first = s.At
		}
	}
	return first
}

// use returns the use in a sample since the one before, in cores or bytes.
func (e *evidence) use(before, s *realnode.Sample) float64 {
	if e.of == corev1.ResourceMemory {
		return s.WorkingSetBytes
	}
	return (s.CPUSeconds - before.CPUSeconds) / s.At.Sub(before.At).Seconds()
}

// Samples implements Stage. The subjects by requests read what the pods answer at that moment.
func (r *Real) Samples(ctx context.Context) (Samples, error) {
	switch {
	case r.subject.OnRequests:
		return nil, nil
	case r.subject.NodeAgent:
		return r.openCgroups(ctx)
	}
	return kubeletSamples{r.node}, nil
}

type kubeletSamples struct{ node *realnode.Node }

func (k kubeletSamples) Read(ctx context.Context) ([]realnode.Sample, error) {
	return k.node.Samples(ctx)
}

func (kubeletSamples) Close() error { return nil }

// cgroupSamples reads cgroups as an agent does: each read has a new sample.
type cgroupSamples struct {
	tree       *cgroup.Tree
	containers map[realnode.ContainerName]*cgroup.Container
	buffer     cgroup.Buffer
}

// openCgroups finds the loaded containers of the pods that there are.
func (r *Real) openCgroups(ctx context.Context) (*cgroupSamples, error) {
	pods, err := r.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	tree, err := cgroup.Open(cgroup.Config{Directory: "/sys/fs/cgroup", KubeletRoot: realnode.CgroupRoot})
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	c := &cgroupSamples{tree: tree, containers: map[realnode.ContainerName]*cgroup.Container{}}
	for i := range pods.Items {
		pod := &pods.Items[i]
		for k := range pod.Status.ContainerStatuses {
			status := &pod.Status.ContainerStatuses[k]
			if status.Name != server {
				continue
			}
			_, id, _ := strings.Cut(status.ContainerID, "://")
			found, err := tree.Container(cgroup.Name{PodUID: string(pod.UID), ID: id})
			if err != nil {
				return nil, errors.Join(fmt.Errorf("samples: %w", err), c.Close())
			}
			c.containers[realnode.ContainerName{Namespace: namespace, Pod: pod.Name, Container: server}] = found
		}
	}
	return c, nil
}

func (c *cgroupSamples) Read(context.Context) ([]realnode.Sample, error) {
	var samples []realnode.Sample
	for name, container := range c.containers {
		at := time.Now()
		nanos, err := container.CPUNanos(&c.buffer)
		if err != nil {
			return nil, fmt.Errorf("samples: %w", err)
		}
		bytes, err := container.WorkingSetBytes(&c.buffer)
		if err != nil {
			return nil, fmt.Errorf("samples: %w", err)
		}
		samples = append(samples, realnode.Sample{
			ContainerName: name, At: at, CPUSeconds: time.Duration(nanos).Seconds(), WorkingSetBytes: float64(bytes),
		})
	}
	return samples, nil
}

func (c *cgroupSamples) Close() error {
	var errs []error
	for _, container := range c.containers {
		errs = append(errs, container.Close())
	}
	return errors.Join(append(errs, c.tree.Close())...)
}
