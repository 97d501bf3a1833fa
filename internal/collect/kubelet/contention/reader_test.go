package contention

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
)

// nodes answer with what they have; one that has nothing does not answer.
type nodes struct {
	mu      sync.Mutex
	answers map[string][]byte
}

func (n *nodes) Get(_ context.Context, target kubelet.Target, dst []byte) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.answers[target.Node] == nil {
		return dst, errors.New("no answer")
	}
	return append(dst, n.answers[target.Node]...), nil
}

func TestReader(t *testing.T) {
	targets := []kubelet.Target{{Node: "a"}, {Node: "b"}}
	world := &nodes{answers: map[string][]byte{
		"a": answer(series(periods, "app", 100, 0), series(throttled, "app", 0, 0)),
	}}
	r, err := NewReader(world)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(t.Context(), targets); err == nil ||
		!strings.Contains(err.Error(), "contention on node b: no answer") {
		t.Errorf("a node that does not answer is %v", err)
	}
	world.answers["a"] = answer(series(periods, "app", 200, 60), series(throttled, "app", 50, 60))
	got, _ := r.Read(t.Context(), targets)
	if share := got[Key{"shop", "web-1", "app"}]; share.Throttled != 0.5 {
		t.Errorf("of the node that answers come %+v, want half of the periods throttled", got)
	}
	if _, err := r.Read(t.Context(), nil); err != nil || len(r.meters) != 0 {
		t.Errorf("%d nodes are remembered that nobody asks for, %v", len(r.meters), err)
	}
}
