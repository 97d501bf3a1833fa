package migrate

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// rising is a workload whose queue grows by the work of one replica at each step of the test. Whichever controller
// decides then, and however late, wants exactly one replica for each ten jobs that it has read: a step is more than the
// tolerance, also relative to the existing pods.
type rising struct {
	*workload

	changes *harness.Changes
	counts  *harness.Record

	mu sync.Mutex
	// steps are the times from which on so many replicas may have been wanted: one, two, and so on. Guarded by mu.
	steps []time.Time
}

func newRising(t *testing.T) *rising {
	t.Helper()
	w := emptyWorkload(t)
	hpa := queue("web")
	// Up at once, too, however many steps come within one period.
	hpa.Spec.Behavior.ScaleUp = &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: ptr.To[int32](0),
		Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 10,
			PeriodSeconds: 15}},
	}
	w.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 10), hpa)
	r := &rising{workload: w, steps: []time.Time{time.Now()}}
	r.changes, r.counts = w.WatchChanges("web"), w.WatchCounts("web")
	return r
}

// rise makes one step.
func (r *rising) rise() {
	r.t.Helper()
	r.mu.Lock()
	r.steps = append(r.steps, time.Now())
	jobs := 10 * len(r.steps)
	r.mu.Unlock()
	r.SetQueue("jobs", jobs)
}

// wanted is the maximum of wanted replicas so far.
func (r *rising) wanted(at time.Time) int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := int32(0)
	for _, from := range r.steps {
		if !from.After(at) {
			n++
		}
	}
	return n
}

// isScaledBy ends the test unless that one makes the next step.
func (r *rising) isScaledBy(by string) {
	r.t.Helper()
	before := len(r.changes.All())
	r.rise()
	r.await()
	want := harness.Change{From: int32(len(r.steps)) - 1, To: int32(len(r.steps)), By: by}
	if all := r.changes.All()[before:]; len(all) != 1 || all[0] != want {
		r.t.Fatalf("%v, want %v", all, want)
	}
}

// await waits until there are as many replicas as are wanted.
func (r *rising) await() {
	r.t.Helper()
	r.AwaitReplicas(harness.Deployment, "web", int64(len(r.steps)))
}

// turn is one run of plimsoll migrate.
type turn struct {
	args []string
	// acts is the one that acts before the first write with this method, and alone.
	acts, until string
	// steps is before how many of its writes there is a step.
	steps int
}

var (
	forward = turn{[]string{"hpa/web", "--apply", "--yes", observe, "--accept-differences"}, upstream,
		http.MethodDelete, 3}
	backward = turn{[]string{"hpa/web", "--apply", "--yes", "--back"}, plimsoll, http.MethodPost, 3}
)

// migrate takes the turn. Just before its writes there is a step each, so that the one that acts is about to scale, or
// does, when the other takes over.
func (r *rising) migrate(turn turn) {
	r.t.Helper()
	writes, goOn := make(chan string), make(chan struct{})
	p := proxy{before: func(request *http.Request) {
		select {
		case writes <- request.Method:
			<-goOn
		case <-r.t.Context().Done():
		}
	}}
	cmd := r.command(append(turn.args, "--kubeconfig="+p.start(r.workload))...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	before, isOver := len(r.changes.All()), false
	for steps := 0; ; {
		select {
		case method := <-writes:
			if isOver = isOver || method == turn.until; !isOver || method == turn.until {
				r.checkBy(before, turn.acts)
			}
			if steps < turn.steps {
				r.rise()
				steps++
			}
			goOn <- struct{}{}
		case err := <-ended:
			if err != nil {
				r.t.Fatalf("migrate %v: %v\n%s", turn.args, err, out.String())
			}
			r.await()
			return
		}
	}
}

// checkBy checks that one alone has scaled since.
func (r *rising) checkBy(before int, by string) {
	r.t.Helper()
	for _, c := range r.changes.All()[before:] {
		if c.By != by {
			r.t.Errorf("scaled by %s in the turn of %s: %v", c.By, by, c)
		}
	}
}

// check checks that the count has never fallen, and never exceeded what was wanted.
func (r *rising) check() {
	r.t.Helper()
	all, err := r.counts.Counts()
	if err != nil {
		r.t.Fatal(err)
	}
	for i, c := range all {
		if i > 0 && c.Replicas < all[i-1].Replicas {
			r.t.Errorf("the count falls: %s", r.counts)
		}
		if most := r.wanted(c.At); c.Replicas > most {
			r.t.Errorf("%d replicas, but %d were wanted at most: %s", c.Replicas, most, r.counts)
		}
	}
	r.t.Logf("%v", r.changes.All())
}

// Under rising load the count never falls and never exceeds the metric's proposal, and each change is by the controller
// whose turn it is: the HPA's controller, then Plimsoll, then the HPA's again.
func TestRisingLoad(t *testing.T) {
	t.Parallel()
	for i := range *times {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			r := newRising(t)
			before := r.HPA("web")
			r.isScaledBy(upstream)
			r.migrate(forward)
			r.isMigrated("web")
			r.isScaledBy(plimsoll)
			r.migrate(backward)
			r.isBack(before)
			r.isScaledBy(upstream)
			r.HoldsReplicas(patience/2, harness.Deployment, "web", int64(len(r.steps)))
			r.check()
		})
	}
}
