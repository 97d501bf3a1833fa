package reaction

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/dev/deployed"
)

// Kind is an autoscaler.
type Kind string

// The autoscalers.
const (
	Upstream Kind = "upstream"
	Plimsoll Kind = "plimsoll"
)

// Subject is an autoscaler with what it is measured with.
type Subject struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// SyncPeriod is --horizontal-pod-autoscaler-sync-period of upstream.
	SyncPeriod time.Duration `json:"syncPeriodNanoseconds,omitempty"`
	// Resolution is metrics-server's --metric-resolution; Plimsoll is measured without metrics-server.
	Resolution time.Duration `json:"metricResolutionNanoseconds,omitempty"`
	// RequestTimeout is metrics-server's --kubelet-request-timeout, which must be below Resolution.
	RequestTimeout time.Duration `json:"kubeletRequestTimeoutNanoseconds,omitempty"`
	// Housekeeping is the kubelet's --housekeeping-interval, how old its samples of CPU may be; 0 leaves its default of 10
	// s. Simulated nodes have fresh samples at each scrape.
	Housekeeping time.Duration `json:"kubeletHousekeepingIntervalNanoseconds,omitempty"`
	// OnRequests scales by the requests that the pods count themselves instead of their CPU: Plimsoll reads their pages,
	// upstream an adapter that reads them every second.
	OnRequests bool `json:"onRequests,omitempty"`
	// NodeAgent has Plimsoll's agent on the node, as config/node-agent runs it.
	NodeAgent bool `json:"nodeAgent,omitempty"`
	// Load is the kind of the workload, the article's if it is empty.
	Load Load `json:"load,omitempty"`
	// Flags are more flags of Plimsoll.
	Flags []string `json:"flags,omitempty"`
}

// UpstreamDefaults is kube-controller-manager with its defaults and metrics-server as its manifests run it.
func UpstreamDefaults() Subject {
	return Subject{
		Name: "upstream, defaults", Kind: Upstream,
		SyncPeriod: 15 * time.Second, Resolution: 15 * time.Second, RequestTimeout: 10 * time.Second,
	}
}

// often is the housekeeping interval of a kubelet that is set up for autoscaling within seconds.
const often = time.Second

// UpstreamTuned is upstream as fast as it can be set: metrics-server refuses a resolution below 10 s.
func UpstreamTuned() Subject {
	return Subject{
		Name: "upstream, tuned", Kind: Upstream,
		SyncPeriod: time.Second, Resolution: 10 * time.Second, RequestTimeout: 9 * time.Second, Housekeeping: often,
	}
}

// acts is that Plimsoll need not find out first that no other controller acts on HPAs.
const acts = "--horizontal-pod-autoscalers=act"

// PlimsollDefaults is Plimsoll as config/ runs it, but that it acts on HPAs at once, with more flags.
func PlimsollDefaults(flags ...string) Subject {
	return Subject{Name: "Plimsoll", Kind: Plimsoll, Flags: append([]string{acts}, flags...)}
}

// PlimsollTuned is the same, with a housekeeping interval of one second on the kubelet.
func PlimsollTuned(flags ...string) Subject {
	subject := PlimsollDefaults(flags...)
	subject.Name, subject.Housekeeping = "Plimsoll, kubelet at 1 s", often
	return subject
}

// PlimsollAgent is Plimsoll with its agent on the node. The kubelet has its defaults.
func PlimsollAgent(flags ...string) Subject {
	subject := PlimsollDefaults(append([]string{deployed.AgentFlag}, flags...)...)
	subject.Name, subject.NodeAgent = "Plimsoll, node agent", true
	return subject
}

// UpstreamRequests is upstream by requests, with the shortest sync period and an adapter as fast as it makes sense. The
// kubelet has its defaults.
func UpstreamRequests() Subject {
	return Subject{Name: "upstream, requests", Kind: Upstream, SyncPeriod: time.Second, OnRequests: true}
}

// PlimsollRequests is Plimsoll by requests, with the kubelet's defaults.
func PlimsollRequests(flags ...string) Subject {
	subject := PlimsollDefaults(flags...)
	subject.Name, subject.OnRequests = "Plimsoll, requests", true
	return subject
}

// targetRequests is the target of a pod by requests, per second. At rest it has a probe and a page each second, under
// load thousands.
const targetRequests = 50

// The article's numbers.
const (
	minReplicas   = 2
	maxReplicas   = 10
	almost        = 8 // a milestone of the article's
	requestMilli  = 20
	targetPercent = 20
	loadDuration  = 11 * time.Second
)

// Stage is the environment of the experiment.
type Stage interface {
	// Title describes it.
	Title() string
	// Client is an administrator's.
	Client() kubernetes.Interface
	// Failed delivers the end of something that the experiment cannot do without.
	Failed() <-chan error
	// Template are the pods of the workload for a subject; their labels and requests are added.
	Template(subject Subject) corev1.PodTemplateSpec
	// Autoscaler is the object that scales the workload for a subject.
	Autoscaler(subject Subject) (Autoscaler, error)
	// Begin starts a subject alone and returns when it decides; End ends it.
	Begin(ctx context.Context, subject Subject) error
	End(ctx context.Context) error
	// Load loads the pods of the workload for a time, new ones from when they are ready, and returns how many requests
	// were answered. It must return at once if ctx ends.
	Load(ctx context.Context, duration time.Duration) (answered int, err error)
	// Samples reads the samples that the subject has of the workload's pods; nil if what it reads is always current.
	Samples(ctx context.Context) (Samples, error)
	// KubeletCPU is the processor time that the kubelet has used, if there is one.
	KubeletCPU() (used time.Duration, exists bool, err error)
}

// Autoscaler is an object that scales the workload.
type Autoscaler interface {
	Create(ctx context.Context) error
	// Computed returns the reason why no count has been computed yet.
	Computed(ctx context.Context) error
	// Remove returns no error if it does not exist.
	Remove(ctx context.Context) error
}

// Defaults of Config.
const (
	DefaultRuns     = 5
	DefaultPatience = 2 * time.Minute
	DefaultRest     = 10 * time.Second
	phases          = 15 * time.Second
	// clearing is how long the kubelet may still be busy with the pods of the run before.
	clearing = 8 * time.Second
)

// Config configures Run.
type Config struct {
	Stage    Stage
	Subjects []Subject
	// Runs is the number of times the load begins for each subject; 0 means DefaultRuns.
	Runs int
	// Patience is the longest wait for 10 ready replicas; 0 means DefaultPatience.
	Patience time.Duration
	// Rest is the time, with the random phase on top, for which an autoscaler watches a workload at rest before the load,
	// while the kubelet's CPU is measured; 0 means DefaultRest.
	Rest time.Duration
	// Say prints a line of progress.
	Say func(format string, args ...any)
}

func (c Config) completed() (Config, error) {
	if c.Stage == nil || len(c.Subjects) == 0 {
		return c, errors.New("no stage or no subject to measure")
	}
	if c.Runs == 0 {
		c.Runs = DefaultRuns
	}
	if c.Runs < 0 {
		return c, errors.New("the number of runs is negative")
	}
	if c.Patience == 0 {
		c.Patience = DefaultPatience
	}
	if c.Rest == 0 {
		c.Rest = DefaultRest
	}
	if c.Say == nil {
		c.Say = func(string, ...any) {}
	}
	return c, nil
}

// settle is how long a workload runs before an autoscaler starts, so that no sample has the cost of its pods' start or
// of the load before: two scrapes of metrics-server, or Plimsoll's stable window.
func (s Subject) settle() time.Duration {
	return max(2*s.Resolution+5*time.Second, 20*time.Second)
}
