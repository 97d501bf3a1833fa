package horizontal

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

// WorkloadTrace is the part of a decision that only a WorkloadAutoscaler has.
type WorkloadTrace struct {
	Mode string `json:"mode"`
	// ActiveDesired is the count in mode Active; absent if the scale cannot be read.
	ActiveDesired *int32        `json:"activeDesiredReplicas,omitempty"`
	Refusal       *FailureTrace `json:"refusal,omitempty"`
	// MinReplicasBy and MaxReplicasBy are the schedules that set the bounds; absent if the spec's apply.
	MinReplicasBy string             `json:"minReplicasBy,omitempty"`
	MaxReplicasBy string             `json:"maxReplicasBy,omitempty"`
	MaxWins       bool               `json:"maxWins,omitempty"`
	Schedules     []ScheduleTrace    `json:"activeSchedules,omitempty"`
	Fallbacks     []FallbackTrace    `json:"fallbacks,omitempty"`
	Cooldown      *CooldownTrace     `json:"cooldown,omitempty"`
	Proposals     []OwnProposalTrace `json:"proposals,omitempty"`
	Next          *NextTrace         `json:"next,omitempty"`
	// IsHistoryUnknown is set if it is unknown since when metrics have failed or been inactive: Since and the times that
	// follow from it assume that this began now.
	IsHistoryUnknown bool `json:"historyUnknown,omitempty"`
}

// ScheduleTrace is a schedule in force.
type ScheduleTrace struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
	// Until is absent if no end is in sight.
	Until       *time.Time `json:"until,omitempty"`
	MinReplicas int32      `json:"minReplicas,omitempty"`
	MaxReplicas int32      `json:"maxReplicas,omitempty"`
	IsRamp      bool       `json:"ramp,omitempty"`
}

// FallbackTrace is an active fallback, with Since, or the next one, with Due.
type FallbackTrace struct {
	MetricIndex int        `json:"metricIndex"`
	Metric      string     `json:"metric"`
	Replicas    int32      `json:"replicas"`
	Since       *time.Time `json:"since,omitempty"`
	Due         *time.Time `json:"due,omitempty"`
}

// CooldownTrace is the state of the cooldown before the last replica is removed.
type CooldownTrace struct {
	// Metric is an active one.
	Metric string `json:"activeMetric,omitempty"`
	// End is absent while a metric is active or may be.
	End    *time.Time `json:"end,omitempty"`
	IsOver bool       `json:"over"`
}

// OwnProposalTrace is the proposal of one source.
type OwnProposalTrace struct {
	Source     string     `json:"source"`
	Name       string     `json:"name"`
	Replicas   int32      `json:"replicas"`
	SampleTime *time.Time `json:"sampleTime,omitempty"`
}

// NextTrace is the next time at which the decision may change although the metrics do not.
type NextTrace struct {
	Time    time.Time `json:"time"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
}

// workloadTrace returns nil for an HPA.
func (r workload) workloadTrace() *WorkloadTrace {
	if !r.isWorkload() {
		return nil
	}
	d := &r.Decision
	t := &WorkloadTrace{
		Mode: r.mode().String(), ActiveDesired: r.known(d.ActiveDesired), MaxWins: d.Schedules.MaxWins,
		MinReplicasBy: nameOf(d.Schedules.MinBy), MaxReplicasBy: nameOf(d.Schedules.MaxBy),
		Fallbacks: r.fallbackTraces(), Cooldown: r.cooldownTrace(), IsHistoryUnknown: r.IsHistoryUnknown,
	}
	if refusal := r.Observation.Refusal; refusal.Reason != "" {
		t.Refusal = &FailureTrace{Reason: refusal.Reason, Message: refusal.Message}
	}
	for i := range d.Schedules.InForce {
		f := &d.Schedules.InForce[i]
		t.Schedules = append(t.Schedules, ScheduleTrace{
			Name: f.Schedule.Name, Since: f.Since, Until: timeOrNil(f.Until), MinReplicas: f.MinReplicas,
			MaxReplicas: f.MaxReplicas, IsRamp: f.IsRamp,
		})
	}
	for _, p := range d.Proposals(nil) {
		t.Proposals = append(t.Proposals, r.proposalTrace(p))
	}
	if text := r.followUpText(); text != "" {
		t.Next = &NextTrace{Time: r.FollowUp.DecideAt, Reason: r.FollowUp.Reason.String(), Message: text}
	}
	return t
}

// shortName returns a metric's name in JSON.
func (r workload) shortName(i int) string { return r.Policy.Metrics[i].ShortName() }

func nameOf(s *schedules.Schedule) string {
	if s == nil {
		return ""
	}
	return s.Name
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (r workload) fallbackTraces() (traces []FallbackTrace) {
	d := &r.Decision
	for _, f := range d.Fallbacks.Active {
		traces = append(traces, FallbackTrace{
			MetricIndex: f.Metric, Metric: r.shortName(f.Metric), Replicas: f.Replicas, Since: timeOrNil(f.Since),
		})
	}
	if i := d.Fallbacks.DueMetric; !d.Fallbacks.Due.IsZero() {
		traces = append(traces, FallbackTrace{
			MetricIndex: i, Metric: r.shortName(i), Replicas: r.Policy.Metrics[i].Fallback.ReplicasAt(d.Current),
			Due: timeOrNil(d.Fallbacks.Due),
		})
	}
	return traces
}

func (r workload) cooldownTrace() *CooldownTrace {
	z := &r.Decision.Zero
	if !z.IsPossible || !r.hasActivation() {
		return nil
	}
	t := &CooldownTrace{End: timeOrNil(z.CooldownEnd), IsOver: z.IsCooledDown}
	if z.IsActive {
		t.Metric = r.shortName(z.Metric)
	}
	return t
}

func (r workload) proposalTrace(p proposal.Proposal) OwnProposalTrace {
	t := OwnProposalTrace{Source: p.Source.String(), Replicas: p.Replicas}
	switch p.Source {
	case proposal.Schedule:
		t.Name = r.Decision.Schedules.InForce[p.Index].Schedule.Name
		return t
	case proposal.Forecast:
		return t
	case proposal.Metric:
		t.SampleTime = timeOrNil(r.Decision.Metrics[p.Index].At)
	case proposal.Surge:
		t.SampleTime = timeOrNil(r.Decision.Surge.At)
	}
	t.Name = r.shortName(p.Index)
	return t
}
