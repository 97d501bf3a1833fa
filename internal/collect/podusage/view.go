package podusage

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// ErrStarting is returned while samples are seconds away.
var ErrStarting = podload.ErrStarting

// View holds the usage of some pods at one moment. It can be reused.
type View struct {
	podload.View
	// agents are read before kubelets; nil for none.
	agents *agents
	reader reader
}

var _ observehorizontal.PodUsage = (*View)(nil)

func (s *session) latest(of *Subscription, now time.Time, pods []*observe.Pod, v *View) error {
	v.agents, v.Period = s.agentsOf(of), of.cadence.Kubelets
	v.reader = reader{session: s, subscription: of, agents: v.agents, now: now, pods: pods}
	err := v.Look(now, len(pods), &v.reader)
	v.reader = reader{}
	return err
}

// reader reads the session's samples as of one moment.
type reader struct {
	session      *session
	subscription *Subscription
	agents       *agents
	now          time.Time
	pods         []*observe.Pod
}

var _ podload.Reader = (*reader)(nil)

// Pod implements podload.Reader.
func (r *reader) Pod(i int) (pod *metric.Pod, node string) { return &r.pods[i].Pod, r.pods[i].Node() }

// Agent implements podload.Reader.
func (r *reader) Agent(i int, dst []podload.Container) (containers []podload.Container, answers bool) {
	pod := r.pods[i]
	if r.agents == nil || !r.agents.isHealthy(pod.Node(), r.now) {
		return dst, false
	}
	from := len(dst)
	dst = r.agents.store.Containers(r.query(pod), dst)
	if pod.Running == nil || len(dst)-from != len(pod.Running.Containers) {
		return dst[:from], true
	}
	return dst, true
}

// Kubelet implements podload.Reader.
func (r *reader) Kubelet(i int, dst []podload.Container) []podload.Container {
	query := r.query(r.pods[i])
	query.MaxSampleAge = r.subscription.maxSampleAge()
	return r.session.kubelets.store.Containers(query, dst)
}

func (r *reader) query(pod *observe.Pod) rate.Query {
	return rate.Query{Node: pod.Node(), Namespace: pod.Namespace(), Pod: pod.Name, Now: r.now}
}

// Health implements podload.Reader.
func (r *reader) Health(node string) podload.Health {
	f, err := r.session.health(r.subscription, node, r.now)
	return podload.Health{Since: f.first, Err: err}
}
