package podusage

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// ErrStarting says that too little is known yet.
var ErrStarting = podload.ErrStarting

// View is what was known of some pods at one moment. It may be used again.
type View struct {
	podload.View
	// agents are asked before kubelets; nil for none.
	agents *agents
	reader reader
}

var _ observehorizontal.PodUsage = (*View)(nil)

// look finds what is known of the pods.
func (s *session) look(now time.Time, pods []*observe.Pod, v *View) error {
	v.agents, v.Period = s.agents, s.period
	v.reader = reader{session: s, now: now, pods: pods}
	err := v.Look(now, len(pods), &v.reader)
	v.reader = reader{}
	for _, i := range v.Lacking() {
		s.agents.lacks(now, pods[i])
	}
	return err
}

// reader has what the session knows at a moment.
type reader struct {
	session *session
	now     time.Time
	pods    []*observe.Pod
}

var _ podload.Reader = (*reader)(nil)

// Pod implements podload.Reader.
func (r *reader) Pod(i int) (pod *metric.Pod, node string) { return &r.pods[i].Pod, r.pods[i].Node() }

// Agent implements podload.Reader.
func (r *reader) Agent(i int, dst []podload.Container) (containers []podload.Container, answers bool) {
	a, pod := r.session.agents, r.pods[i]
	if a == nil || !a.want(r.now, pod) {
		return dst, false
	}
	from := len(dst)
	dst = a.store.Containers(r.query(pod), dst)
	if pod.Running == nil || len(dst)-from != len(pod.Running.Containers) {
		return dst[:from], true
	}
	return dst, true
}

// Kubelet implements podload.Reader.
func (r *reader) Kubelet(i int, dst []podload.Container) []podload.Container {
	return r.session.store.Containers(r.query(r.pods[i]), dst)
}

func (r *reader) query(pod *observe.Pod) rate.Query {
	return rate.Query{Node: pod.Node(), Namespace: pod.Namespace(), Pod: pod.Name, Now: r.now}
}

// Health implements podload.Reader.
func (r *reader) Health(node string) podload.Health {
	h, err := r.session.health(node, r.now)
	return podload.Health{Since: h.first, Err: err}
}
