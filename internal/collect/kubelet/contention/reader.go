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

// Path is the path that a Getter requests.
const Path = "/metrics/cadvisor"

// atOnce is the number of nodes that are read at a time: the response of a kubelet may be megabytes.
const atOnce = 4

// Getter reads one kubelet, as kubelet.Client does with Path in its options.
type Getter interface {
	Get(ctx context.Context, target kubelet.Target, dst []byte) ([]byte, error)
}

var _ Getter = (*kubelet.Client)(nil)

// Agents reads the same counters, of some containers, from the agents of nodes.
type Agents interface {
	// Contention returns no answer for a node whose agent does not respond. isWhole reports that the kubelet has no
	// further containers of interest.
	Contention(ctx context.Context, node string) (answer []byte, isWhole bool, err error)
}

// Seen holds the shares of containers since the last read, by their nodes: a node can report only about its own pods.
type Seen map[string]Look

// Look is the result of one read of a node.
type Look struct {
	Shares map[Key]Shares
	// Same holds the containers without a new sample: a kubelet's samples are up to 30 s apart.
	Same map[Key]struct{}
	// IsWhole is true if all others were compared: one without shares was neither throttled nor waited.
	IsWhole bool
}

// Of returns the shares of a container on a node.
func (s Seen) Of(node string, container Key) (shares Shares, isKnown bool) {
	look := s[node]
	shares, isSeen := look.Shares[container]
	_, isSame := look.Same[container]
	return shares, isSeen || look.IsWhole && !isSame
}

// Reader reads nodes from time to time. It must be used by one goroutine at a time.
type Reader struct {
	kubelets Getter
	agents   Agents
	meters   map[string]*meters
}

// meters has a meter for each source, because counters of a kubelet and of an agent cannot be compared.
type meters struct{ kubelet, agent Meter }

// NewReader makes a Reader. The agents may be nil.
func NewReader(kubelets Getter, agents Agents) (*Reader, error) {
	if kubelets == nil {
		return nil, errors.New("reading contention needs a client of kubelets")
	}
	return &Reader{kubelets: kubelets, agents: agents, meters: map[string]*meters{}}, nil
}

// Read reads these nodes, and forgets others. The error has the nodes that cannot be read; the shares of the rest are
// valid.
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

// read reads one node: its agent, and its kubelet for the containers that the agent lacks. At the first response of an
// agent its counters cannot be compared yet, but the kubelet's can, for the last time.
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
	// If both have a container, the agent's shares count.
	maps.Copy(found.Shares, fromAgent.Shares)
	switch {
	case err == nil, knowsAll: // From the next read on the agent is enough.
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
