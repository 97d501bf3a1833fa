package horizontal

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// TestSamplesText: an explanation says where CPU and memory are from, and which agents do not answer.
func TestSamplesText(t *testing.T) {
	for name, c := range map[string]struct {
		samples *snapshothorizontal.Samples
		want    string
	}{
		"from metrics.k8s.io, or not known": {nil, ""},
		"no pod is known":                   {&snapshothorizontal.Samples{}, "  samples        of no pod\n"},
		"all from kubelets": {
			&snapshothorizontal.Samples{KubeletPods: 2}, "  samples        of 2 pods from the kubelets of their nodes\n",
		},
		"metrics.k8s.io replaces the nodes": {
			&snapshothorizontal.Samples{NodesUnread: "connection refused"},
			"  samples        from metrics.k8s.io instead of the nodes: connection refused\n",
		},
		"one node cannot be read": {
			&snapshothorizontal.Samples{KubeletPods: 1, NodesUnread: "1 of 2 ready pods"},
			"  samples        of 1 pod from the kubelets of their nodes, 1 of 2 ready pods\n",
		},
		"some agents do not answer": {
			&snapshothorizontal.Samples{
				AgentPods: 9, KubeletPods: 1, MoreSilentAgents: 3,
				SilentAgents: []snapshothorizontal.SilentAgent{{Node: "n3", Message: "connection refused"}},
			},
			"  samples        of 9 pods from the agents of their nodes, of 1 pod from the kubelets of their nodes\n" +
				"    no agent     n3: connection refused\n" +
				"    no agent     3 more nodes\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &output.Page{}
			r := Result{Step: &snapshothorizontal.Step{Snapshot: &snapshothorizontal.Snapshot{Samples: c.samples}}}
			r.writeSamples(p)
			var text strings.Builder
			if err := output.WriteLines(&text, p.All(), output.Form{}); err != nil {
				t.Fatal(err)
			}
			if got := text.String(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestNoSamplesAtAll: metrics.k8s.io replaces the nodes only if it has samples.
func TestNoSamplesAtAll(t *testing.T) {
	r := Result{Step: &snapshothorizontal.Step{Snapshot: &snapshothorizontal.Snapshot{
		Samples: &snapshothorizontal.Samples{NodesUnread: "4 of 4 ready pods"},
	}}}
	r.Policy.Metrics = []source.Spec{{Type: source.External}, {Type: source.Resource}}
	for want, failure := range map[string]*source.Failure{
		"from metrics.k8s.io instead of the nodes: 4 of 4 ready pods":       nil,
		"neither from the nodes nor from metrics.k8s.io: 4 of 4 ready pods": {Message: "no metrics returned"},
	} {
		r.Decision.Metrics = []metric.Result{{}, {Failure: failure}}
		if got := r.unreadText(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestUnreadNodesOfTheSentence: the sentence gets the nodes that cannot be read as numbers and an error.
func TestUnreadNodesOfTheSentence(t *testing.T) {
	step := stepOf(t, forecastDocument)
	r := Result{Step: step}
	if got := r.input().Unread; got != (summary.UnreadNodes{}) {
		t.Errorf("without unread nodes: %+v", got)
	}
	step.Snapshot.Samples = &snapshothorizontal.Samples{
		Unread: &snapshothorizontal.UnreadNodes{Nodes: 4, Message: "connection refused"},
	}
	if got, want := r.input().Unread, (summary.UnreadNodes{Nodes: 4, Error: "connection refused"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
