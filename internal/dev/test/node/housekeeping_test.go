//go:build node

package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
)

const (
	// Containers count as new for so long, and are watched for so long after that.
	newFor, watchedFor = 2 * time.Minute, 5 * time.Minute
	// Then pods start one by one, so far apart, and the last of them early enough to be sampled.
	betweenStarts, lastStart = 25 * time.Second, newFor + watchedFor - 30*time.Second
	// noticed is the time in which cAdvisor detects a container while others start.
	noticed = 10 * time.Second
	// defaultHousekeeping is the kubelet's --housekeeping-interval, longestHousekeeping how far its cAdvisor doubles it
	// for a container that does nothing (k8s.io/kubernetes v1.37.1, pkg/kubelet/cadvisor/cadvisor_linux.go).
	defaultHousekeeping, longestHousekeeping = 10 * time.Second, 15 * time.Second
	// late is the largest delay of a timer on a busy machine, precision that of the samples' times.
	late, precision = 2 * time.Second, time.Millisecond
)

// TestHousekeeping records when a kubelet has new samples of containers, and checks the model of
// docs/contributing/kubelets.md: at each request until cAdvisor has two samples, then after one to two housekeeping
// intervals. The interval doubles for containers that do nothing, and falls back after the longest.
// internal/simulate/world plays that model.
// -housekeeping=1s is for a kubelet with another interval.
func TestHousekeeping(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	r := &renewals{
		space: s, every: cmp.Or(*housekeeping, defaultHousekeeping), seen: map[realnode.ContainerName]*renewal{},
	}
	busy, requests := []string{"-cpu-milli=30"}, map[corev1.ResourceName]string{"cpu": "10m"}
	s.deploy(workload{name: "busy", replicas: 4, args: busy, requests: requests})
	s.deploy(workload{name: "idle", replicas: 4, requests: requests})
	s.deploy(workload{name: "both", replicas: 4, args: busy, requests: requests, sidecar: true})
	s.deploy(workload{name: "alone", args: busy, requests: requests})
	r.record()
	r.print([]kind{
		{name: "busy", app: "busy", container: "app", isBusy: true},
		{name: "idle", app: "idle", container: "app"},
		{name: "busy, beside an idle one", app: "both", container: "app", isBusy: true},
		{name: "idle, beside a busy one", app: "both", container: "sidecar"},
		{name: "busy, started alone", app: "alone", container: "app", isBusy: true},
	})
}

// kind is a kind of containers.
type kind struct {
	name, app, container string
	isBusy               bool
}

// renewals are the samples of the containers of a namespace.
type renewals struct {
	*space
	// every is the kubelet's --housekeeping-interval.
	every time.Duration
	seen  map[realnode.ContainerName]*renewal
}

// renewal is a response about a container.
type renewal struct {
	// fresh were taken for the request that they answered: by the container runtime, as cAdvisor had fewer than two.
	fresh []time.Time
	// sampled are cAdvisor's, from the second on.
	sampled []time.Time
}

func (r *renewal) add(at, requested time.Time) {
	switch {
	case len(r.sampled) > 0 && r.sampled[len(r.sampled)-1].Equal(at):
	case len(r.sampled) == 0 && at.After(requested.Add(-precision)):
		r.fresh = append(r.fresh, at)
	default:
		r.sampled = append(r.sampled, at)
	}
}

// gaps are from one of cAdvisor's samples to the next.
func (r *renewal) gaps() (gaps []time.Duration) {
	for i := 1; i < len(r.sampled); i++ {
		gaps = append(gaps, r.sampled[i].Sub(r.sampled[i-1]))
	}
	return gaps
}

// record requests the kubelet's samples every second, and starts pods meanwhile.
func (r *renewals) record() {
	r.t.Helper()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	began, alone := time.Now(), 0
	for time.Since(began) < newFor+watchedFor {
		requested := time.Now()
		samples, err := stage.node.Samples(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		for _, sample := range samples {
			if sample.Namespace != r.namespace {
				continue
			}
			of := r.seen[sample.ContainerName]
			if of == nil {
				of = &renewal{}
				r.seen[sample.ContainerName] = of
			}
			of.add(sample.At, requested)
		}
		if next := newFor + time.Duration(alone)*betweenStarts; time.Since(began) > next && next < lastStart {
			alone++
			r.scale("alone", alone)
		}
		<-ticker.C
	}
}

func (r *renewals) scale(name string, replicas int) {
	r.t.Helper()
	deployments := stage.cluster.Client().AppsV1().Deployments(r.namespace)
	scale, err := deployments.GetScale(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	scale.Spec.Replicas = int32(replicas)
	if _, err := deployments.UpdateScale(r.t.Context(), name, scale, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// print prints how far apart samples were, and compares that with the model.
func (r *renewals) print(kinds []kind) {
	r.t.Helper()
	known := report.Table{
		Title: "Seconds from a container's start to cAdvisor's second sample of it. Until then each request has a new one.",
		Head:  []string{"containers", "least", "quartile", "median", "quartile", "most", "containers"},
	}
	apart := report.Table{
		Title: fmt.Sprintf("Seconds between cAdvisor's samples, --housekeeping-interval=%s", r.every),
		Head:  []string{"containers", "least", "quartile", "median", "quartile", "most", "samples"},
	}
	for _, k := range kinds {
		var unknown, young, old []float64
		pods, err := r.pods(r.t.Context(), k.app)
		if err != nil || len(pods) == 0 {
			r.t.Fatalf("%d pods of %s, %v", len(pods), k.app, err)
		}
		for i := range pods {
			started := startOf(r.t, &pods[i], k.container)
			of := r.seen[realnode.ContainerName{Namespace: r.namespace, Pod: pods[i].Name, Container: k.container}]
			if of == nil || len(of.sampled) == 0 {
				r.t.Errorf("%s of %s has no sample: %+v", k.container, pods[i].Name, of)
				continue
			}
			first := of.sampled[0].Sub(started)
			if first < r.every || first > 2*r.every+noticed {
				r.t.Errorf("%s, %s: each request has a new sample until %s after the start", k.name, pods[i].Name, first)
			}
			unknown = append(unknown, first.Seconds())
			gaps := of.gaps()
			for n, gap := range gaps {
				if of.sampled[n+1].Sub(started) <= newFor {
					young = append(young, gap.Seconds())
				} else {
					old = append(old, gap.Seconds())
				}
			}
			r.check(k, pods[i].Name, gaps)
			r.t.Logf("%s, %s: %d fresh, then after %s", k.name, pods[i].Name, len(of.fresh), rounded(gaps))
		}
		addRow(&known, k.name, unknown)
		addRow(&apart, k.name+", new", young)
		addRow(&apart, k.name, old)
	}
	var out strings.Builder
	for _, table := range []*report.Table{&known, &apart} {
		out.WriteByte('\n')
		if _, err := table.WriteTo(&out); err != nil {
			r.t.Fatal(err)
		}
	}
	r.t.Log(out.String())
}

// check compares the times between samples with cAdvisor's code. Where the interval doubles, a gap that is longer than
// twice any interval but the longest is followed by one of the kubelet's own interval.
func (r *renewals) check(k kind, pod string, gaps []time.Duration) {
	r.t.Helper()
	longest, second := r.every, r.every
	for !k.isBusy && longest < longestHousekeeping {
		longest, second = min(2*longest, longestHousekeeping), longest
	}
	for i, gap := range gaps {
		most := 2 * longest
		if i > 0 && gaps[i-1] > 2*second+late && longest > second {
			most = 2 * r.every
		}
		if gap < r.every-precision || gap > most+late {
			r.t.Errorf("%s, %s: %s between two samples, not %s to %s: %s", k.name, pod, gap, r.every, most, rounded(gaps))
		}
	}
}

func addRow(table *report.Table, name string, seconds []float64) {
	cells := []any{name}
	for _, q := range []float64{0, 0.25, 0.5, 0.75, 1} {
		cells = append(cells, fmt.Sprintf("%.1f", report.Quantile(slices.Clone(seconds), q)))
	}
	table.Add(append(cells, len(seconds))...)
}

func rounded(gaps []time.Duration) string {
	words := make([]string, len(gaps))
	for i, gap := range gaps {
		words[i] = fmt.Sprintf("%.1f", gap.Seconds())
	}
	return strings.Join(words, " ") + " s"
}

func startOf(t *testing.T, pod *corev1.Pod, container string) time.Time {
	t.Helper()
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == container && status.State.Running != nil {
			return status.State.Running.StartedAt.Time
		}
	}
	t.Fatalf("%s: %s does not run: %+v", pod.Name, container, pod.Status.ContainerStatuses)
	return time.Time{}
}
