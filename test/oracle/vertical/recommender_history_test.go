package vertical

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	upstream "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/utils/ptr"
)

// history is a workload's life under one recommender.
type history struct {
	seed   uint64
	flags  recommenderFlags
	scenes []scene
	// revisions is set if pods have different labels.
	revisions bool
}

// recommenderFlags are the recommender's.
type recommenderFlags struct {
	margin                          float64
	target, lower, upper            [2]float64
	confidence, halfLife            [2]time.Duration
	podMinCPUMilli, podMinMemoryMiB float64
	roundCPU, roundMemory           int
	humanize, integerCPU            bool
	interval                        time.Duration
	count                           int64
	oomRatio, oomMinBytes           float64
	maxCPUMilli, maxMemoryBytes     int64
	wholeCPUs                       []string
	perVPA                          bool
}

// How a recommender begins anew.
const (
	goesOn = iota
	restarts
	// changesOver gives each the other's checkpoints.
	changesOver
)

// scene is what there is at one pass.
type scene struct {
	at      time.Time
	restart int
	// problem and isTransient are why the target cannot be looked up.
	problem     string
	isTransient bool
	generation  int64
	policy      *upstream.PodResourcePolicy
	pods        []historyPod
	samples     []historySample
	ooms        []historyOOM
	conflicts   []string
}

type historyPod struct {
	name, revision string
	phase          corev1.PodPhase
	containers     []string
}

type historySample struct {
	pod, container   string
	at               time.Time
	cpuMilli, memory int64
	hasCPU, hasMem   bool
}

type historyOOM struct {
	pod, container string
	at             time.Time
	request, limit int64
	// isStanding is not seen by upstream, which waits for pods to change.
	isStanding bool
}

// virtualStart is when synctest's clock begins.
var virtualStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// historian makes up a history.
type historian struct {
	*rand.Rand
	h          *history
	now        time.Time
	pods       []historyPod
	made       int
	level      map[string]float64
	lastCPU    map[string]time.Time
	lastAt     map[string]time.Time
	policy     *upstream.PodResourcePolicy
	generation int64
	revision   string
	containers []string
	problem    int
	// memoryOnly is a container whose CPU is not measured.
	memoryOnly string
}

var historyContainers = []string{"app", "cache", "proxy", "worker"}

// newHistory is the history of that seed.
func newHistory(seed uint64) *history {
	r := &historian{
		Rand: rand.New(rand.NewPCG(seed, 2026)), h: &history{seed: seed}, now: virtualStart,
		level: map[string]float64{}, lastCPU: map[string]time.Time{}, lastAt: map[string]time.Time{}, revision: "a",
		generation: 1,
	}
	r.h.flags = r.makeFlags()
	r.h.revisions = r.Float64() < 0.1
	if !r.h.revisions && r.Float64() < 0.05 {
		r.memoryOnly = one(r, historyContainers...)
	}
	r.containers = slices.Clone(historyContainers[:1+r.IntN(len(historyContainers))])
	r.choosePolicy()
	for range 5 + r.IntN(36) {
		r.h.scenes = append(r.h.scenes, r.scene())
	}
	return r.h
}

func one[T any](r *historian, of ...T) T { return of[r.IntN(len(of))] }

func (r *historian) makeFlags() recommenderFlags {
	const day = 24 * time.Hour
	f := recommenderFlags{
		margin: 0.15, target: [2]float64{0.9, 0.9}, lower: [2]float64{0.5, 0.5}, upper: [2]float64{0.95, 0.95},
		confidence: [2]time.Duration{day, day}, halfLife: [2]time.Duration{day, day}, podMinCPUMilli: 25,
		podMinMemoryMiB: 250,
		roundCPU:        1, roundMemory: 1, interval: day, count: 8, oomRatio: 1.2, oomMinBytes: 100 << 20, perVPA: true,
	}
	if r.Float64() < 0.6 {
		return f
	}
	f.margin = one(r, 0, 0.1, 0.15, 0.5)
	for i := range 2 {
		f.target[i], f.lower[i], f.upper[i] = one(r, 0.9, 0.5, 0.99), one(r, 0.5, 0.1, 0), one(r, 0.95, 0.9, 1)
		f.confidence[i] = one(r, day, time.Hour, 7*day)
		f.halfLife[i] = one(r, day, time.Hour, 12*time.Hour, 3*day)
	}
	f.podMinCPUMilli, f.podMinMemoryMiB = one(r, 25, 10, 0, 1000.5), one(r, 250, 10, 0, 1000.25)
	f.roundCPU, f.roundMemory = one(r, 1, 5, 50, 0), one(r, 1, 1<<20, 1000, -1)
	f.humanize, f.integerCPU = r.Float64() < 0.3, r.Float64() < 0.3
	f.wholeCPUs = []string{one(r, historyContainers...)}
	f.interval, f.count = one(r, day, 8*time.Hour, 2*day), one[int64](r, 8, 2, 30)
	f.oomRatio, f.oomMinBytes = one(r, 1.2, 1, 2.5), one(r, 100<<20, 0, 1e9)
	if r.Float64() < 0.3 {
		f.maxCPUMilli, f.maxMemoryBytes = one[int64](r, 0, 500, 4000), one[int64](r, 0, 1<<30, 3<<29)
	}
	return f
}

func (r *historian) choosePolicy() {
	r.policy = nil
	if r.Float64() < 0.4 {
		return
	}
	r.policy = &upstream.PodResourcePolicy{}
	for _, name := range append([]string{upstream.DefaultContainerResourcePolicy}, historyContainers...) {
		if r.Float64() < 0.4 {
			r.policy.ContainerPolicies = append(r.policy.ContainerPolicies, r.containerPolicy(name))
		}
	}
}

func (r *historian) containerPolicy(name string) upstream.ContainerResourcePolicy {
	p := upstream.ContainerResourcePolicy{ContainerName: name}
	if r.Float64() < 0.15 {
		p.Mode = ptr.To(one(r, upstream.ContainerScalingModeOff, upstream.ContainerScalingModeAuto))
	}
	list := func(cpu, memory string) corev1.ResourceList {
		l := corev1.ResourceList{}
		if r.Float64() < 0.7 {
			l[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if r.Float64() < 0.7 {
			l[corev1.ResourceMemory] = resource.MustParse(memory)
		}
		return l
	}
	if r.Float64() < 0.3 {
		p.MinAllowed = list(one(r, "50m", "1", "0"), one(r, "300Mi", "2G", "0"))
	}
	if r.Float64() < 0.3 {
		p.MaxAllowed = list(one(r, "700m", "2", "0"), one(r, "400Mi", "3G", "0"))
	}
	if r.Float64() < 0.2 {
		p.ControlledResources = ptr.To(one(r, []corev1.ResourceName{corev1.ResourceCPU},
			[]corev1.ResourceName{corev1.ResourceMemory}, []corev1.ResourceName{}))
	}
	if r.h.revisions {
		return p // what is taken away again stays with some of the revisions
	}
	if r.Float64() < 0.25 {
		p.OOMBumpUpRatio = resource.NewMilliQuantity(one[int64](r, 1000, 1500, 3250), resource.DecimalSI)
	}
	if r.Float64() < 0.25 {
		p.OOMMinBumpUp = resource.NewQuantity(one[int64](r, 0, 5e8), resource.DecimalSI)
	}
	if r.Float64() < 0.2 {
		p.MemoryAggregationIntervalSeconds = ptr.To(one[int32](r, 8*3600, 24*3600))
	}
	if r.Float64() < 0.2 {
		p.MemoryAggregationIntervalCount = ptr.To(one[int64](r, 2, 12))
	}
	return p
}

// step is how long until the next pass.
func (r *historian) step() time.Duration {
	// Upstream forgets the pods of one revision all at once, some days after its last
	// sample, or when they are gone without a CPU sample; Plimsoll forgets a container
	// by and by. Before that there must be no difference.
	if r.h.revisions {
		return time.Duration(one(r, 1, 1, 1, 1, 5, 20)) * time.Minute
	}
	switch x := r.Float64(); {
	case x < 0.7:
		return time.Minute
	case x < 0.9:
		return time.Duration(1+r.IntN(120)) * time.Minute
	case x < 0.985:
		return time.Duration(1+r.IntN(60)) * time.Hour
	}
	return time.Duration(5+r.IntN(200)) * 24 * time.Hour
}

func (r *historian) scene() scene {
	r.now = r.now.Add(r.step())
	s := scene{at: r.now}
	gone := r.movePods()
	r.chooseProblem(&s)
	if s.problem == "" && r.Float64() < 0.05 {
		r.choosePolicy()
		r.generation++
	}
	r.chooseRestart(&s)
	s.policy, s.generation, s.pods = r.policy, r.generation, slices.Clone(r.pods)
	for _, pod := range r.pods {
		for _, container := range pod.containers {
			r.sample(&s, pod.name, container)
		}
	}
	known := s.pods
	if s.restart == goesOn && !r.h.revisions {
		known = append(slices.Clone(s.pods), gone...)
	}
	for _, pod := range known {
		r.chooseOOMs(&s, &pod)
	}
	if r.Float64() < 0.05 {
		s.conflicts = []string{one(r, historyContainers...)}
	}
	return s
}

func (r *historian) chooseOOMs(s *scene, pod *historyPod) {
	for _, container := range pod.containers {
		isSampled := slices.ContainsFunc(s.samples, func(x historySample) bool {
			return x.pod == pod.name && x.container == container && x.cpuMilli >= 0
		})
		if r.Float64() < 0.03 && (isSampled || !r.h.revisions) {
			s.ooms = append(s.ooms, r.oom(pod.name, container))
		}
	}
}

// chooseRestart lets a recommender begin anew. Upstream begins with its checkpoints
// while the target cannot be looked up, and drops them once it can; Plimsoll has no
// such state between.
func (r *historian) chooseRestart(s *scene) {
	switch x := r.Float64(); {
	case s.problem != "":
	case x < 0.04:
		s.restart = restarts
	case x < 0.08:
		s.restart = changesOver
	}
}

func (r *historian) chooseProblem(s *scene) {
	if len(r.h.scenes) > 0 && r.problem == 0 && r.Float64() < 0.02 {
		r.problem = 1 + r.IntN(3)
	}
	if r.problem > 0 {
		r.problem--
		s.isTransient = r.Float64() < 0.7
		s.problem = one(r, "Cannot read targetRef. Reason: no answer",
			"The target apps/v1.Deployment/web has a parent controller but it should point to a topmost well-known or "+
				"scalable controller")
	}
}

// movePods changes what pods there are, and says which are gone.
func (r *historian) movePods() (gone []historyPod) {
	if len(r.h.scenes) == 0 {
		r.addPods(1 + r.IntN(4))
		return nil
	}
	if r.h.revisions && r.Float64() < 0.15 {
		r.revision = string(rune('a' + r.IntN(4)))
	}
	if r.Float64() < 0.05 { // a container comes, goes or is renamed
		r.containers = slices.Clone(historyContainers[r.IntN(2) : 2+r.IntN(len(historyContainers)-1)])
	}
	switch x := r.Float64(); {
	case x < 0.12: // a rollout of some
		n := 1 + r.IntN(len(r.pods)+1)
		n = min(n, len(r.pods))
		gone, r.pods = slices.Clone(r.pods[:n]), slices.Clone(r.pods[n:])
		r.addPods(n)
	case x < 0.17:
		r.addPods(1)
	case x < 0.21 && len(r.pods) > 0:
		gone, r.pods = slices.Clone(r.pods[:1]), slices.Clone(r.pods[1:])
	case x < 0.23:
		gone, r.pods = r.pods, nil
	case len(r.pods) == 0 && x < 0.7:
		r.addPods(1 + r.IntN(3))
	}
	return gone
}

func (r *historian) addPods(n int) {
	for range n {
		r.made++
		pod := historyPod{
			name: fmt.Sprintf("web-%d", r.made), revision: r.revision, phase: corev1.PodRunning, containers: r.containers,
		}
		if r.Float64() < 0.05 {
			pod.phase = corev1.PodSucceeded
		}
		r.pods = append(r.pods, pod)
	}
}

func (r *historian) sample(s *scene, pod, container string) {
	key := pod + "/" + container
	// A container that exists is not forgotten: when it comes back with another pod,
	// upstream counts it before its first sample.
	overdue := r.now.Sub(r.lastCPU[container]) > 8*time.Hour
	if !overdue && r.Float64() < 0.1 {
		return
	}
	if _, ok := r.level[container]; !ok || r.Float64() < 0.01 {
		r.level[container] = math.Exp(r.NormFloat64()*2 - 2)
	}
	made := historySample{
		pod: pod, container: container, at: r.now.Add(-time.Duration(r.IntN(30)) * time.Second), hasCPU: true, hasMem: true,
	}
	r.flaw(&made, r.lastAt[key], overdue)
	r.use(&made)
	if made.hasCPU && made.cpuMilli >= 0 && made.at.Equal(r.now) {
		r.lastCPU[container] = made.at
	}
	r.lastAt[key] = made.at
	s.samples = append(s.samples, made)
}

// flaw makes some samples old, or half.
func (r *historian) flaw(made *historySample, last time.Time, overdue bool) {
	switch x := r.Float64(); {
	case made.container == r.memoryOnly:
		made.at, made.hasCPU = r.now, false
	case overdue:
		made.at = r.now
	case x < 0.03 && !last.IsZero():
		made.at = last // the same once more
	case x < 0.06 && !r.h.revisions:
		made.at = r.now.Add(-time.Duration(r.IntN(48)) * time.Hour)
	case x < 0.08 && !r.h.revisions:
		made.hasCPU = false
	case x < 0.10:
		made.hasMem = false
	}
}

// use is what the container used, which may be nothing, or absurd.
func (r *historian) use(made *historySample) {
	container := made.container
	noise := math.Exp(r.NormFloat64() * 0.4)
	made.cpuMilli = int64(1000 * r.level[container] * noise)
	made.memory = int64(3e8 * r.level[container] * math.Exp(r.NormFloat64()*0.3) * (0.5 + r.level[container]))
	switch x := r.Float64(); {
	case x < 0.02:
		made.cpuMilli, made.memory = 0, 0
	case x < 0.03:
		made.cpuMilli, made.memory = -5, -1
	case x < 0.034:
		made.cpuMilli, made.memory = 5e12, 9e13
	}
}

func (r *historian) oom(pod, container string) historyOOM {
	o := historyOOM{
		pod: pod, container: container, at: r.now.Add(-time.Duration(r.IntN(60)) * time.Second),
		isStanding: r.Float64() < 0.2,
	}
	if r.Float64() < 0.1 {
		o.at = r.now.Add(-time.Duration(r.IntN(72)) * time.Hour)
	}
	o.request = one(r, 0, 1<<27, 1<<30, int64(r.IntN(4e9)))
	o.limit = o.request * one[int64](r, 0, 1, 2)
	return o
}
