package contention

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
)

// Path is what a Getter asks kubelets for.
const Path = "/metrics/cadvisor"

// atOnce is how many nodes are asked at a time: the answer of a kubelet may be megabytes.
const atOnce = 4

// Getter asks one kubelet, as kubelet.Client does with Path in its options.
type Getter interface {
	Get(ctx context.Context, target kubelet.Target, dst []byte) ([]byte, error)
}

var _ Getter = (*kubelet.Client)(nil)

// Agents ask the agents of nodes for the same counters, of some containers.
type Agents interface {
	// Contention has no answer where the agent of a node does not answer. isWhole says that the kubelet knows no more
	// that matters.
	Contention(ctx context.Context, node string) (answer []byte, isWhole bool, err error)
}

// Seen is what containers did not get since the look before, by their nodes: a node is believed for its own pods alone.
type Seen map[string]Look

// Look is what one look at a node found.
type Look struct {
	Shares map[Key]Shares
	// Same are containers of which there is nothing new: a kubelet's samples are up to 30 s apart.
	Same map[Key]struct{}
	// IsWhole: all others were compared. One without shares got all that it wanted.
	IsWhole bool
}

// Of is what is known of a container on a node.
func (s Seen) Of(node string, container Key) (shares Shares, isKnown bool) {
	look := s[node]
	shares, isSeen := look.Shares[container]
	_, isSame := look.Same[container]
	return shares, isSeen || look.IsWhole && !isSame
}

// Reader looks at nodes now and then. One goroutine uses it at a time.
type Reader struct {
	kubelets Getter
	agents   Agents
	meters   map[string]*meters
}

// meters are those of a node: counters of the kubelet are compared with the kubelet's, those of the agent with the
// agent's.
type meters struct{ kubelet, agent Meter }

// NewReader has not looked yet. The agents may be nil.
func NewReader(kubelets Getter, agents Agents) (*Reader, error) {
	if kubelets == nil {
		return nil, errors.New("looking for contention takes a client of kubelets")
	}
	return &Reader{kubelets: kubelets, agents: agents, meters: map[string]*meters{}}, nil
}

// Read looks at these nodes, and forgets others. Nodes that cannot be read are in the
// error, which says nothing against the shares of the rest.
func (r *Reader) Read(ctx context.Context, targets []kubelet.Target) (Seen, error) {
	found, failures := make([]Look, len(targets)), make([]error, len(targets))
	known := make(map[string]*meters, len(targets))
	var asking errgroup.Group
	asking.SetLimit(atOnce)
	for i, target := range targets {
		of := r.meters[target.Node]
		if of == nil {
			of = &meters{}
		}
		known[target.Node] = of
		asking.Go(func() error {
			found[i], failures[i] = r.read(ctx, target, of)
			return nil
		})
	}
	_ = asking.Wait() // each keeps its own error
	r.meters = known
	seen := make(Seen, len(targets))
	for i, target := range targets {
		seen[target.Node] = found[i]
	}
	return seen, errors.Join(failures...)
}

// read looks at one node: at its agent, and at its kubelet for what the agent does not know. When the agent begins to
// answer, its counters cannot be compared yet, and the kubelet's can for the last time.
func (r *Reader) read(ctx context.Context, target kubelet.Target, of *meters) (Look, error) {
	fromAgent, knowsAll, agentErr := r.fromAgent(ctx, target.Node, of)
	if fromAgent.IsWhole {
		of.kubelet = Meter{} // It has the counters of all containers of the node.
		return fromAgent, nil
	}
	found, err := r.fromKubelet(ctx, target, of)
	if found.Shares == nil {
		found.Shares = map[Key]Shares{}
	}
	// What both know is the agent's.
	maps.Copy(found.Shares, fromAgent.Shares)
	switch {
	case err == nil, knowsAll: // From the next look on the agent is enough.
		return found, nil
	case agentErr != nil:
		err = fmt.Errorf("%w; and its agent: %w", err, agentErr)
	}
	return found, fmt.Errorf("contention on node %s: %w", target.Node, err)
}

func (r *Reader) fromAgent(ctx context.Context, node string, of *meters) (found Look, knowsAll bool, err error) {
	if r.agents == nil {
		return Look{}, false, nil
	}
	answer, knowsAll, err := r.agents.Contention(ctx, node)
	if err != nil || answer == nil {
		return Look{}, false, err
	}
	found, err = of.agent.Look(time.Now(), answer)
	found.IsWhole = found.IsWhole && knowsAll
	return found, knowsAll && err == nil, err
}

func (r *Reader) fromKubelet(ctx context.Context, target kubelet.Target, of *meters) (Look, error) {
	answer, err := r.kubelets.Get(ctx, target, nil)
	if err != nil {
		return Look{}, err
	}
	return of.kubelet.Look(time.Now(), answer)
}
