package vertical

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	upstream "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// keptCheckpoint is a checkpoint as Plimsoll saved it, or as upstream did.
type keptCheckpoint struct {
	saved usage.Checkpoint
	at    time.Time
	other *upstream.VerticalPodAutoscalerCheckpointStatus
}

// status is the checkpoint as upstream's API has it, and its annotations.
func (k *keptCheckpoint) status(t *testing.T) (upstream.VerticalPodAutoscalerCheckpointStatus, map[string]string) {
	t.Helper()
	if k.other != nil {
		return *k.other, nil
	}
	status, annotations, err := observevertical.CheckpointStatus(&k.saved, k.at)
	if err != nil {
		t.Fatal(err)
	}
	return converted[upstream.VerticalPodAutoscalerCheckpointStatus](t, status), annotations
}

// plimsollRecommender is Plimsoll's core between the same.
type plimsollRecommender struct {
	t         *testing.T
	policy    recommend.Policy
	from      *upstream.PodResourcePolicy // its container policies
	state     recommend.State
	published *status.Published
	saved     map[string]keptCheckpoint
	decision  recommend.Decision
}

func newPlimsollRecommender(t *testing.T, f *recommenderFlags, on divergence.Set) *plimsollRecommender {
	p := recommend.Policy{}
	p.Usage = usage.Policy{
		HalfLife: f.halfLife, Interval: f.interval, Count: f.count, BumpUpRatio: f.oomRatio, MinBumpUpBytes: f.oomMinBytes,
		Divergences: on,
	}
	p.MarginFraction, p.ConfidenceInterval = f.margin, f.confidence
	for r := range vertical.Resources {
		p.Percentiles[r] = estimate.Percentiles{Target: f.target[r], Lower: f.lower[r], Upper: f.upper[r]}
	}
	p.PodMin = [vertical.Resources]float64{f.podMinCPUMilli, f.podMinMemoryMiB}
	p.Round = [vertical.Resources]int{f.roundCPU, f.roundMemory}
	p.HumanizeMemory = f.humanize
	if f.maxCPUMilli > 0 {
		p.MaxAllowed = p.MaxAllowed.With(vertical.CPU, vertical.Amount(f.maxCPUMilli))
	}
	if f.maxMemoryBytes > 0 {
		p.MaxAllowed = p.MaxAllowed.With(vertical.Memory, vertical.Amount(f.maxMemoryBytes)).In(vertical.Memory,
			vertical.BinarySI)
	}
	if f.integerCPU {
		p.WholeCPUs = f.wholeCPUs
	}
	return &plimsollRecommender{t: t, policy: p, saved: map[string]keptCheckpoint{}}
}

// pass is one of the loop: decide, write the status, save checkpoints, settle.
func (m *plimsollRecommender) pass(s *scene) {
	if m.from != s.policy || m.policy.Containers == nil {
		m.policy.Containers, m.from = m.policies(s.policy), s.policy
	}
	if s.restart != goesOn {
		m.begin(s)
	}
	m.decision, m.state = recommend.Decide(s.at, m.policy, m.state, m.observe(s))
	outcome := recommend.Outcome{At: s.at, Written: m.decision.Write != status.NotWritten}
	if outcome.Written {
		m.published = &status.Published{
			Generation: s.generation, Recommendations: m.decision.Recommendations, Conditions: m.decision.Conditions,
		}
	}
	for i := range m.state.Containers {
		name := m.state.Containers[i].Name
		saved, ok := m.state.Checkpoint(&m.policy, name, s.at)
		if !ok || s.problem != "" && !(s.isTransient && m.policy.Has(divergence.KeepHistory)) {
			continue // upstream has no containers then
		}
		m.saved[name] = keptCheckpoint{saved: saved, at: s.at}
		outcome.Saved = append(outcome.Saved, name)
	}
	m.state = recommend.Settle(&m.policy, m.state, outcome)
}

// converted is the value in the other's types.
func converted[T any](t *testing.T, from any) T {
	t.Helper()
	text, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	var to T
	if err := json.Unmarshal(text, &to); err != nil {
		t.Fatal(err)
	}
	return to
}

func (m *plimsollRecommender) policies(from *upstream.PodResourcePolicy) []vertical.ContainerPolicy {
	return observevertical.PoliciesOf(&vpav1.VerticalPodAutoscalerSpec{ResourcePolicy: converted[*vpav1.PodResourcePolicy](
		m.t, from)})
}

func (m *plimsollRecommender) begin(s *scene) {
	m.state = recommend.State{}
	for name, kept := range m.saved {
		status, annotations := kept.status(m.t)
		object := &vpav1.VerticalPodAutoscalerCheckpoint{Status: converted[vpav1.VerticalPodAutoscalerCheckpointStatus](m.t,
			status)}
		object.Annotations = annotations
		saved, isWhole, err := observevertical.CheckpointOf(object)
		if err != nil || !isWhole {
			m.t.Errorf("a checkpoint cannot be read: %v", err)
		}
		if m.state, err = m.state.Restore(&m.policy, name, saved, s.at); err != nil {
			m.t.Errorf("a checkpoint is refused: %v", err)
		}
	}
}

func (m *plimsollRecommender) observe(s *scene) recommend.Observation {
	o := recommend.Observation{
		Lookup: recommend.Lookup{Problem: s.problem, Transient: s.isTransient}, Generation: s.generation,
		Published: m.published, SkipsConflicts: true,
	}
	pods := map[string]int{}
	for _, p := range s.pods {
		o.Pods = append(o.Pods, p.name)
		// To upstream, a pod that is over keeps an aggregate without samples alive only
		// while it is known whose it is.
		if s.problem != "" && p.phase != corev1.PodRunning {
			continue
		}
		for _, name := range p.containers {
			pods[name]++
		}
	}
	for _, name := range historyContainers {
		if pods[name] > 0 {
			o.Containers = append(o.Containers, recommend.Present{Container: name, Pods: pods[name]})
		}
	}
	for _, sample := range s.samples {
		used := vertical.Amounts{}
		if sample.hasCPU {
			used = used.With(vertical.CPU, vertical.Amount(sample.cpuMilli))
		}
		if sample.hasMem {
			used = used.With(vertical.Memory, vertical.Amount(sample.memory))
		}
		o.Samples = append(o.Samples, recommend.Sample{Pod: sample.pod,
			Container: sample.container, At: sample.at, Use: used})
	}
	for _, oom := range s.ooms {
		o.OOMs = append(o.OOMs, recommend.OOM{Container: oom.container, OOM: usage.OOM{
			Pod: oom.pod, At: oom.at, Request: vertical.Amount(oom.request), Limit: vertical.Amount(oom.limit),
			Standing: oom.isStanding,
		}})
	}
	for _, name := range s.conflicts {
		o.Conflicts = append(o.Conflicts, conflict.Conflict{Container: name, Resource: vertical.CPU, Horizontal: webHPA})
	}
	return o
}
