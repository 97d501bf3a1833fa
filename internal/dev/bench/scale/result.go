package scale

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// Result is the result of Run.
type Result struct {
	Benchmark  string         `json:"benchmark"`
	Machine    report.Machine `json:"machine"`
	Kubernetes string         `json:"kubernetes"`

	Objects int `json:"objects"`
	// VerticalObjects of them have a VerticalPodAutoscaler as well.
	VerticalObjects int     `json:"verticalObjects,omitempty"`
	PodsPerObject   int     `json:"podsPerObject"`
	Nodes           int     `json:"nodes"`
	Namespaces      int     `json:"namespaces"`
	Resolution      float64 `json:"metricResolutionSeconds"`
	Noise           float64 `json:"noise"`
	Nice            int     `json:"nice,omitempty"`

	Subjects []SubjectResult `json:"subjects"`
}

// SubjectResult is one subject's numbers over all runs.
type SubjectResult struct {
	Subject
	Runs int `json:"runs"`

	PeriodP50Seconds    report.Spread `json:"periodP50Seconds"`
	PeriodP99Seconds    report.Spread `json:"periodP99Seconds"`
	SampleAgeP99Seconds report.Spread `json:"sampleAgeP99Seconds"`
	OldestAgeP50Seconds report.Spread `json:"oldestSampleAgeP50Seconds"`
	OldestAgeP99Seconds report.Spread `json:"oldestSampleAgeP99Seconds"`
	DecisionsPerSecond  report.Spread `json:"decisionsPerSecond"`

	CPUSecondsPerThousandDecisions       report.Spread `json:"cpuSecondsPerThousandDecisions"`
	CPUCores                             report.Spread `json:"cpuCores"`
	ServerCPUSecondsPerThousandDecisions report.Spread `json:"apiServerCPUSecondsPerThousandDecisions"`
	ResidentBytes                        report.Spread `json:"residentBytes"`
	LiveHeapBytes                        report.Spread `json:"liveHeapBytes"`

	RequestsPerSecond           map[string]report.Spread `json:"apiRequestsPerSecond"`
	MetricsRequestsPerSecond    report.Spread            `json:"metricsAPIRequestsPerSecond"`
	PodPagesPerSecond           report.Spread            `json:"podPagesPerSecond"`
	StatusWritesPerObjectMinute report.Spread            `json:"statusWritesPerObjectMinute"`
	ScaleWrites                 report.Spread            `json:"scaleWrites"`
	ObjectsWithoutPeriod        report.Spread            `json:"objectsWithoutPeriod"`
	CountedPerSeen              report.Spread            `json:"decisionsCountedPerSeen"`
	MeasuredSeconds             report.Spread            `json:"measuredSeconds"`

	// AgentAnswersPerSecond are those of the agents of nodes, AgentCPUCores is their CPU, and AgentDecisionShare the
	// fraction of the decisions for which all samples were from agents.
	AgentAnswersPerSecond report.Spread `json:"agentAnswersPerSecond"`
	AgentCPUCores         report.Spread `json:"agentCPUCores"`
	AgentDecisionShare    report.Spread `json:"agentDecisionShare"`

	UI UIResult `json:"ui"`

	// AllDecidedSeconds and AtRestSeconds are since the start: until each object had been decided once, and until the
	// measurement began. RestlessRuns are those that were measured before they came to rest.
	AllDecidedSeconds report.Spread `json:"allDecidedSeconds"`
	AtRestSeconds     report.Spread `json:"atRestSeconds"`
	RestlessRuns      int           `json:"restlessRuns"`
}

func (c Config) result(machine report.Machine, measured [][]measurement) Result {
	r := Result{
		Benchmark: "scale", Machine: machine, Kubernetes: build.KubernetesVersion,
		Objects: c.Size.Objects, VerticalObjects: c.VerticalObjects, PodsPerObject: c.Size.PodsPer, Nodes: c.Size.Nodes(),
		Namespaces: c.Size.Namespaces(),
		Resolution: c.Resolution.Seconds(), Noise: c.Noise, Nice: c.Nice,
	}
	for i, subject := range c.Subjects {
		r.Subjects = append(r.Subjects, resultOf(subject, measured[i]))
	}
	return r
}

func resultOf(subject Subject, runs []measurement) SubjectResult {
	over := func(of func(*measurement) float64) report.Spread { return report.Over(runs, of) }
	r := SubjectResult{
		Subject: subject, Runs: len(runs), RequestsPerSecond: map[string]report.Spread{},
		PeriodP50Seconds:    over(func(m *measurement) float64 { return m.periodP50 }),
		PeriodP99Seconds:    over(func(m *measurement) float64 { return m.periodP99 }),
		SampleAgeP99Seconds: over(func(m *measurement) float64 { return m.sampleAgeP99 }),
		OldestAgeP50Seconds: over(known(func(m *measurement) float64 { return m.oldestAgeP50 })),
		OldestAgeP99Seconds: over(known(func(m *measurement) float64 { return m.oldestAgeP99 })),
		DecisionsPerSecond:  over(func(m *measurement) float64 { return m.perSecond }),

		CPUSecondsPerThousandDecisions:       over(func(m *measurement) float64 { return m.cpuPerThousand }),
		CPUCores:                             over(func(m *measurement) float64 { return m.cores }),
		ServerCPUSecondsPerThousandDecisions: over(func(m *measurement) float64 { return m.serverCPUPerThousand }),
		ResidentBytes:                        over(func(m *measurement) float64 { return m.residentBytes }),
		LiveHeapBytes:                        over(func(m *measurement) float64 { return m.liveHeapBytes }),

		MetricsRequestsPerSecond:    over(func(m *measurement) float64 { return m.metricsRequestsPerSecond }),
		PodPagesPerSecond:           over(known(func(m *measurement) float64 { return m.pagesPerSecond })),
		AgentAnswersPerSecond:       over(known(func(m *measurement) float64 { return m.agents.answersPerSecond })),
		AgentCPUCores:               over(known(func(m *measurement) float64 { return m.agents.cores })),
		AgentDecisionShare:          over(known(func(m *measurement) float64 { return m.agents.decisionShare })),
		StatusWritesPerObjectMinute: over(func(m *measurement) float64 { return m.statusWritesPerObjectMinute }),
		ScaleWrites:                 over(func(m *measurement) float64 { return m.scaleWrites }),
		ObjectsWithoutPeriod:        over(func(m *measurement) float64 { return float64(m.waiting) }),
		// infinite, and left out, if none is detected
		CountedPerSeen:    over(func(m *measurement) float64 { return m.counted / m.seen }),
		MeasuredSeconds:   over(func(m *measurement) float64 { return m.seconds }),
		AllDecidedSeconds: over(func(m *measurement) float64 { return m.start.decidedSeconds }),
		AtRestSeconds:     over(func(m *measurement) float64 { return m.start.restSeconds }),
		UI:                uiResultOf(runs),
	}
	for i := range runs {
		if runs[i].start.isRestless {
			r.RestlessRuns++
		}
		for verb := range runs[i].requestsPerSecond {
			if rate := over(func(m *measurement) float64 { return m.requestsPerSecond[verb] }); rate.Most() > 0 {
				r.RequestsPerSecond[verb] = rate
			}
		}
	}
	return r
}

// known omits values that are 0 because there was nothing to measure.
func known(of func(*measurement) float64) func(*measurement) float64 {
	return func(m *measurement) float64 {
		if value := of(m); value != 0 {
			return value
		}
		return math.NaN()
	}
}

type row = report.Row[SubjectResult]

func rows(subjects []SubjectResult, verbs []string) []row {
	all := []row{
		{Name: "decision period p50, s", Of: func(r *SubjectResult) report.Spread { return r.PeriodP50Seconds }},
		{Name: "decision period p99, s", Of: func(r *SubjectResult) report.Spread { return r.PeriodP99Seconds }},
		{Name: "newest sample's age p99, s", Of: func(r *SubjectResult) report.Spread { return r.SampleAgeP99Seconds }},
	}
	all = append(all, report.MeasuredRows(subjects,
		row{Name: "oldest sample's age p50, s", Of: func(r *SubjectResult) report.Spread { return r.OldestAgeP50Seconds }},
		row{Name: "oldest sample's age p99, s",
			Of: func(r *SubjectResult) report.Spread { return r.OldestAgeP99Seconds }})...)
	all = append(all, []row{
		{Name: "decisions a second", Of: func(r *SubjectResult) report.Spread { return r.DecisionsPerSecond }},
		{Name: "CPU s per 1000 decisions",
			Of: func(r *SubjectResult) report.Spread { return r.CPUSecondsPerThousandDecisions }},
		{Name: "CPU, cores", Of: func(r *SubjectResult) report.Spread { return r.CPUCores }},
		{Name: "API server's CPU s per 1000",
			Of: func(r *SubjectResult) report.Spread { return r.ServerCPUSecondsPerThousandDecisions }},
		{Name: "resident memory, MiB",
			Of: func(r *SubjectResult) report.Spread { return r.ResidentBytes.Times(1.0 / report.Mebibyte) }},
		{Name: "live heap, MiB",
			Of: func(r *SubjectResult) report.Spread { return r.LiveHeapBytes.Times(1.0 / report.Mebibyte) }},
		{Name: "status writes / object / min",
			Of: func(r *SubjectResult) report.Spread { return r.StatusWritesPerObjectMinute }},
		{Name: "metrics API requests a second",
			Of: func(r *SubjectResult) report.Spread { return r.MetricsRequestsPerSecond }},
	}...)
	all = append(all, report.MeasuredRows(subjects,
		row{Name: "pods' own pages a second", Of: func(r *SubjectResult) report.Spread { return r.PodPagesPerSecond }},
		row{Name: "agents' answers a second",
			Of: func(r *SubjectResult) report.Spread { return r.AgentAnswersPerSecond }},
		row{Name: "all agents' CPU, cores", Of: func(r *SubjectResult) report.Spread { return r.AgentCPUCores }},
		row{Name: "decided on agents alone, %",
			Of: func(r *SubjectResult) report.Spread { return r.AgentDecisionShare.Times(100) }})...)
	all = append(all, uiRows(subjects)...)
	all = append(all,
		row{Name: "start: each decided once, s", Of: func(r *SubjectResult) report.Spread { return r.AllDecidedSeconds }},
		row{Name: "start: at rest, s", Of: func(r *SubjectResult) report.Spread { return r.AtRestSeconds }})
	for _, verb := range verbs {
		all = append(all,
			row{Name: verb + " a second", Of: func(r *SubjectResult) report.Spread { return r.RequestsPerSecond[verb] }})
	}
	return all
}

// seldom is the number of requests a second below which they have no line of their own.
const seldom = 0.1

// verbs that some subject used, in order.
func (r *Result) verbs() []string {
	var verbs []string
	for i := range r.Subjects {
		for verb, rate := range r.Subjects[i].RequestsPerSecond {
			if rate.Most() >= seldom && !slices.Contains(verbs, verb) {
				verbs = append(verbs, verb)
			}
		}
	}
	slices.Sort(verbs)
	return verbs
}

// Write prints the table and, below it, what may make its numbers doubtful.
func (r *Result) Write(w io.Writer) error {
	title := fmt.Sprintf(
		"%d autoscalers with %d pods each, %d nodes, Kubernetes %s, on %d CPUs (%s). Median of the runs (least to most).",
		r.Objects, r.PodsPerObject, r.Nodes, r.Kubernetes, r.Machine.CPUs, r.Machine.CPUModel)
	if r.VerticalObjects != 0 {
		title += fmt.Sprintf(" %d of the workloads with a VerticalPodAutoscaler as well.", r.VerticalObjects)
	}
	if r.Nice != 0 {
		title += fmt.Sprintf(" At a nice value of %d.", r.Nice)
	}
	name := func(s *SubjectResult) string { return s.Name }
	if _, err := report.Compare(title, r.Subjects, name, rows(r.Subjects, r.verbs())).WriteTo(w); err != nil {
		return err
	}
	if err := r.writeRatios(w); err != nil {
		return err
	}
	return report.WriteNotes(w, r.doubts())
}

// agreement is the largest difference of a subject's own count of its decisions from the detected ones.
const agreement = 0.03

func (r *Result) doubts() []string {
	var doubts []string
	for i := range r.Subjects {
		s := &r.Subjects[i]
		if n := s.ObjectsWithoutPeriod.Most(); n > 0 {
			doubts = append(doubts, fmt.Sprintf("%s left %.0f objects without a second decision as long as was waited: its "+
				"periods are longer than shown.", s.Name, n))
		}
		if s.RestlessRuns > 0 {
			doubts = append(doubts,
				fmt.Sprintf("%s was measured while it still wrote more status than at rest, as patience had ended.", s.Name))
		}
		if n := s.ScaleWrites.Most(); n > 0 {
			doubts = append(doubts, fmt.Sprintf("%s wrote %.0f scales, although all workloads were at rest.", s.Name, n))
		}
		if own := s.CountedPerSeen; len(own.Runs) > 0 && (own.Most() > 1+agreement || own.Least() < 1-agreement) {
			doubts = append(doubts, fmt.Sprintf("%s counted %s decisions of its own for each one seen from outside.",
				s.Name, own))
		}
	}
	return doubts
}
