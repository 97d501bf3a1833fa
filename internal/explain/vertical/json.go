package vertical

import (
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// Output is an explanation in JSON and YAML.
type Output struct {
	// Summary is the explanation in one sentence.
	Summary    string      `json:"summary"`
	Time       time.Time   `json:"time"`
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Mode       string      `json:"updateMode"`
	Problem    string      `json:"problem,omitempty"`
	Features   []string    `json:"features,omitempty"`
	Containers []Container `json:"containers,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	Pods       []Pod       `json:"pods,omitempty"`
	Damaged    []string    `json:"damagedCheckpoints,omitempty"`
	Updater    Updater     `json:"updater"`
}

// Updater is the state of the updater itself.
type Updater struct {
	// KnowsHistory is set if its own state was available; NoHistory is why it was not.
	KnowsHistory bool   `json:"knowsHistory"`
	NoHistory    string `json:"noHistory,omitempty"`
	// LastPass and NextPass are the times of its passes.
	LastPass    time.Time `json:"lastPass,omitzero"`
	NextPass    time.Time `json:"nextPass,omitzero"`
	LeaseStale  bool      `json:"leaseStale,omitempty"`
	CircuitOpen bool      `json:"circuitOpen,omitempty"`
	Troubled    []string  `json:"failingPods,omitempty"`
	// EvictionsStopped is why nothing is evicted in the whole cluster, EvictionsLeft the number of its pods that may be;
	// nil means no limit.
	EvictionsStopped string `json:"evictionsStopped,omitempty"`
	EvictionsLeft    *int   `json:"evictionsLeft,omitempty"`
}

// Container has the steps of its recommendation, by resource.
type Container struct {
	Name      string     `json:"name"`
	Samples   int        `json:"cpuSamples"`
	Resources []Resource `json:"resources"`
}

// Resource is one of a container's.
type Resource struct {
	Name       string `json:"name"`
	Controlled bool   `json:"controlled"`
	Skipped    bool   `json:"skipped,omitempty"`
	// Unmeasured is set if there is no sample yet, and therefore no bound.
	Unmeasured bool    `json:"unmeasured,omitempty"`
	Confidence float64 `json:"confidence"`
	Bounds     []Bound `json:"bounds,omitempty"`
}

// Bound is the number after each step: milli-cores, or bytes.
type Bound struct {
	Name       string  `json:"name"`
	Percentile float64 `json:"percentile"`
	Used       int64   `json:"usage"`
	WithMargin int64   `json:"withMargin"`
	Widened    int64   `json:"widened"`
	Floored    int64   `json:"floored"`
	Rounded    int64   `json:"rounded"`
	Capped     int64   `json:"capped"`
	// CappedBy is the bound that made it differ from Rounded.
	CappedBy string `json:"cappedBy,omitempty"`
}

// Condition is one of the object's.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Pod is the next pass's decision on one pod.
type Pod struct {
	Name string `json:"name"`
	// Action is the action of the pass, Reason why an update is needed, BlockedBy why it is not done.
	Action    string `json:"action"`
	Reason    string `json:"reason,omitempty"`
	BlockedBy string `json:"blockedBy,omitempty"`
	// CheckResults has all results of the checks before a resize.
	CheckResults []string `json:"checkResults,omitempty"`
	// Caps has the bounds that made targets of this pod differ from the published ones, in order.
	Caps     []PodCap                       `json:"caps,omitempty"`
	Requests map[string]corev1.ResourceList `json:"requests"`
	// LastPass is the decision of the updater's last pass on the pod, if it was to be changed then.
	LastPass *snapshotvertical.PodVerdict `json:"lastPass,omitempty"`
}

// Output returns the explanation for JSON.
func (e *Explanation) Output() Output {
	k := e.Step
	out := Output{
		Summary: e.Summary(),
		Time:    k.Snapshot.Time, Namespace: k.Object.Namespace, Name: k.Object.Name, Mode: e.Mode.String(),
		Problem:  k.Snapshot.Target.Problem,
		Features: e.Features, Damaged: e.Damaged, Updater: e.updater(),
	}
	for i := range e.Recommended.Traces {
		t := &e.Recommended.Traces[i]
		c := Container{Name: t.Container, Samples: t.Samples}
		for r := range vertical.Resource(vertical.Resources) {
			c.Resources = append(c.Resources, resourceOf(&t.Trace, r))
		}
		out.Containers = append(out.Containers, c)
	}
	for _, c := range e.Recommended.Conditions {
		out.Conditions = append(out.Conditions,
			Condition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message})
	}
	for i := range e.Update.Pods {
		out.Pods = append(out.Pods, e.pod(&e.Update.Pods[i]))
	}
	return out
}

func (e *Explanation) pod(v *update.Verdict) Pod {
	pod := Pod{
		Name: v.Pod.Name, Action: v.Action.String(), Reason: v.Reason.String(), BlockedBy: v.BlockedBy.String(),
		Requests: map[string]corev1.ResourceList{}, LastPass: e.verdictBefore(v.Pod.UID),
		Caps: capsOf(v),
	}
	if e.Unboosted[v.Pod.UID] && v.Action == update.Nothing {
		pod.Action, pod.Reason, pod.BlockedBy = update.Unboost.String(), reason.BoostExpired.String(), ""
	}
	for _, note := range v.CheckResults {
		pod.CheckResults = append(pod.CheckResults, note.String())
	}
	for i := range v.Pod.Containers {
		pod.Requests[v.Pod.Containers[i].Name] = observevertical.ListOf(v.Pod.Containers[i].Requests)
	}
	return pod
}

func (e *Explanation) updater() Updater {
	u := e.Step.Snapshot.Updater
	if u == nil {
		return Updater{
			NoHistory: e.Step.Snapshot.UpdaterUnknown, CircuitOpen: e.Update.Circuit != reason.None, Troubled: e.Update.Troubled,
		}
	}
	known := Updater{
		KnowsHistory: true, LastPass: u.Time, LeaseStale: u.LeaseStale, CircuitOpen: e.Update.Circuit != reason.None,
		Troubled: e.Update.Troubled,
	}
	known.EvictionsStopped, known.EvictionsLeft = u.EvictionsStopped, u.EvictionsLeft
	if !u.Time.IsZero() {
		known.NextPass = u.Time.Add(u.Interval.Duration)
	}
	return known
}

func resourceOf(t *estimate.Trace, r vertical.Resource) Resource {
	out := Resource{Name: r.String(), Controlled: t.Controlled[r], Skipped: t.Skipped[r], Unmeasured: t.Unmeasured[r],
		Confidence: t.Confidence[r]}
	if !out.Controlled || out.Skipped {
		return out
	}
	for _, bound := range []estimate.Bound{estimate.Target, estimate.Lower, estimate.Upper} {
		s := &t.Estimates[r][bound]
		out.Bounds = append(out.Bounds, Bound{
			Name: bound.String(), Percentile: s.Percentile, Used: int64(s.Used), WithMargin: int64(s.WithMargin),
			Widened: int64(s.Widened),
			Floored: int64(s.Floored), Rounded: int64(s.Rounded), Capped: int64(s.Capped), CappedBy: s.CappedBy.String(),
		})
	}
	return out
}

// WriteJSON writes the explanation as one line of JSON.
func (e *Explanation) WriteJSON(w io.Writer) error { return output.JSONLine(w, e.Output()) }

// WriteYAML writes it as a YAML document.
func (e *Explanation) WriteYAML(w io.Writer) error { return output.YAML(w, e.Output()) }
