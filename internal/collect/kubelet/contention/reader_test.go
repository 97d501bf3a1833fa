package contention

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
)

// nodes respond with their text; one without a text does not respond.
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

var web1 = Key{"shop", "web-1", "app"}

// isKnown reports whether a container without shares on a node was fully compared.
func isKnown(seen Seen, node string) bool {
	_, isKnown := seen.Of(node, Key{"shop", "web-2", "app"})
	return isKnown
}

func TestReader(t *testing.T) {
	targets := []kubelet.Target{{Node: "a"}, {Node: "b"}}
	world := &nodes{answers: map[string][]byte{
		"a": answer(series(periods, "app", 100, 0), series(throttled, "app", 0, 0)),
	}}
	r, err := NewReader(world, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := r.Read(t.Context(), targets)
	if err == nil || !strings.Contains(err.Error(), "contention on node b: no answer") ||
		isKnown(seen, "a") || isKnown(seen, "b") {
		t.Errorf("a node that does not answer is %v, known %v", err, seen)
	}
	world.answers["a"] = answer(series(periods, "app", 200, 60), series(throttled, "app", 50, 60))
	seen, _ = r.Read(t.Context(), targets)
	if share, _ := seen.Of("a", web1); share.Throttled != 0.5 || !isKnown(seen, "a") || isKnown(seen, "b") {
		t.Errorf("of the node that answers comes %+v, want half of the periods throttled", seen)
	}
	if _, err := r.Read(t.Context(), nil); err != nil || len(r.meters) != 0 {
		t.Errorf("%d nodes are remembered that nobody asks for, %v", len(r.meters), err)
	}
}

// agent is the agent of node a: its response, and whether that is whole.
type agent struct {
	answer  []byte
	isWhole bool
	err     error
}

// Contention implements Agents.
func (a *agent) Contention(context.Context, string) ([]byte, bool, error) {
	return a.answer, a.isWhole, a.err
}

// TestSources: the agent is read before the kubelet. Its counters are a hundred times those of the kubelet, so that a
// difference between the two would be a share of 1, or none.
func TestSources(t *testing.T) {
	const day = 24 * 3600
	lines := func(scale float64, second int, share float64) []byte {
		at := float64(second)
		return answer(series(periods, "app", scale*at, second), series(throttled, "app", scale*at*share, second))
	}
	const web = "a"
	var world nodes
	var from agent
	r, err := NewReader(&world, &from)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		what           string
		kubelet, agent float64
		// isPart: the agent lacks a container.
		isPart  bool
		failure error
		// want is the share; -1 for none.
		want    float64
		isWhole bool
	}{
		{"the first look", 0.2, -1, false, nil, -1, false},
		{"the kubelet alone", 0.2, -1, false, nil, 0.2, true},
		{"the agent begins: the kubelet's counters are compared once more", 0.2, 0.3, false, nil, 0.2, true},
		{"the agent", 0.2, 0.3, false, nil, 0.3, true},
		{"the agent, while the kubelet does not answer", -1, 0.3, false, nil, 0.3, true},
		{"the agent ends: nothing is known", 0.2, -1, false, errors.New("gone"), -1, false},
		{"the kubelet again", 0.2, -1, false, nil, 0.2, true},
		{"the agent is back, with counters of some minutes before", -1, 0.3, false, nil, 0.3, true},
		{"the agent does not know all, and the kubelet is new", 0.2, 0.3, true, nil, 0.3, false},
		{"what both know is the agent's", 0.2, 0.3, true, nil, 0.3, true},
		{"neither answers", -1, -1, false, errors.New("gone"), -1, false},
	} {
		second := day + 60*i
		world.answers, from = map[string][]byte{}, agent{isWhole: !step.isPart, err: step.failure}
		if step.kubelet >= 0 {
			world.answers[web] = lines(1, second, step.kubelet)
		}
		if step.agent >= 0 {
			from.answer = lines(100, second, step.agent)
		} else {
			from.isWhole = false
		}
		seen, err := r.Read(t.Context(), []kubelet.Target{{Node: web}})
		if isMissing := step.kubelet < 0 && step.agent < 0; (err != nil) != isMissing {
			t.Errorf("%s: %v", step.what, err)
		}
		shares, isSeen := seen.Of(web, web1)
		if isSeen != (step.want >= 0) || isSeen && math.Abs(shares.Throttled-step.want) > 1e-6 ||
			isKnown(seen, web) != step.isWhole || isKnown(seen, "b") {
			t.Errorf("%s: %+v, want %g", step.what, seen, step.want)
		}
	}
	if _, err := r.Read(t.Context(), []kubelet.Target{{Node: web}}); err == nil ||
		!strings.Contains(err.Error(), "no answer") || !strings.Contains(err.Error(), "gone") {
		t.Errorf("neither answers: %v", err)
	}
}

// TestStartedAnew: a restarted container has counters of its own, also those of an agent, whose labels have the
// container's ID.
func TestStartedAnew(t *testing.T) {
	lines := func(id string, p, th float64, second int) []byte {
		text := string(answer(series(periods, "app", p, second), series(throttled, "app", th, second)))
		return []byte(strings.ReplaceAll(text, "/pod1/app", "/pod1/"+id))
	}
	var world nodes
	from := agent{isWhole: true, answer: lines("1", 100, 100, 0)}
	r, err := NewReader(&world, &from)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		answer []byte
		want   Shares
	}{
		{lines("1", 200, 150, 60), Shares{Throttled: 0.5, HasThrottled: true}},
		{lines("2", 500, 400, 120), Shares{}},
		{lines("2", 600, 410, 180), Shares{Throttled: 0.1, HasThrottled: true}},
	} {
		if i == 0 {
			_, _ = r.Read(t.Context(), []kubelet.Target{{Node: "a"}})
		}
		from.answer = step.answer
		seen, err := r.Read(t.Context(), []kubelet.Target{{Node: "a"}})
		if got, _ := seen.Of("a", web1); err != nil || got != step.want {
			t.Errorf("%d: %+v, want %+v: %v", i, got, step.want, err)
		}
	}
}
