package podusage

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// drawPod is a state of a pod, of any of its lives: on a node, or on none yet, with containers that run.
func drawPod(t *rapid.T, name string) *observe.Pod {
	p := pod(name, rapid.SampledFrom([]string{"", "a", "a", "b"}).Draw(t, "node"))
	p.UID = types.UID(rapid.SampledFrom([]string{"u1", "u2"}).Draw(t, "uid"))
	p.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodRunning, corev1.PodRunning, corev1.PodPending}).
		Draw(t, "phase")
	if rapid.IntRange(0, 4).Draw(t, "deleting") == 0 {
		p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	}
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"c1", "c2", "c3"}), 0, 3, rapid.ID).Draw(t, "ids") {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "app-" + id,
			ContainerID: "containerd://" + id, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	}
	translated := observe.PodOf(p)
	translated.Running = observe.RunningOf(p)
	return translated
}

// place is a pod on a node.
type place struct{ node, pod string }

// objectsOfPods is a plain twin of wantedPods: it remembers what each object has, and the state of a pod that was begun
// last, as long as an object has one of them.
type objectsOfPods struct {
	has   map[observe.Key][]*observe.Pod
	begun map[place]*observe.Pod
}

func (o *objectsOfPods) set(key observe.Key, pods []*observe.Pod) {
	for _, p := range pods {
		if !slices.Contains(o.has[key], p) && canBeSelected(p) {
			o.begun[place{p.Node(), p.Name}] = p
		}
	}
	o.has[key] = pods
	maps.DeleteFunc(o.begun, func(at place, _ *observe.Pod) bool {
		for _, pods := range o.has {
			for _, p := range pods {
				if canBeSelected(p) && at == (place{p.Node(), p.Name}) {
					return false
				}
			}
		}
		return true
	})
}

// lines are those of a node.
func (o *objectsOfPods) lines(node string) []string {
	lines := []string{}
	for at, p := range o.begun {
		for i := range p.Running.Containers {
			if c := &p.Running.Containers[i]; at.node == node {
				lines = append(lines, strings.Join([]string{p.Running.PodUID, c.ID, "shop", at.pod, c.Name}, " "))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// TestWantedPods: whatever states of whatever pods objects have, in common with others or alone, an agent is asked for the
// containers that run in them. Nothing is kept of pods that no object has any more.
func TestWantedPods(t *testing.T) {
	keys := []observe.Key{web, observe.WLA("shop", "web"), observe.HPA("shop", "other")}
	rapid.Check(t, func(t *rapid.T) {
		w, twin := newWantedPods(), objectsOfPods{map[observe.Key][]*observe.Pod{}, map[place]*observe.Pod{}}
		states := map[string][]*observe.Pod{}
		names := []string{"web-0", "web-1", "web-2"}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if name := rapid.SampledFrom(names).Draw(t, "changes"); len(states[name]) < 4 {
				states[name] = append(states[name], drawPod(t, name))
			}
			var pods []*observe.Pod
			for _, name := range names {
				if of := states[name]; len(of) > 0 && rapid.Bool().Draw(t, "has") {
					// Another object may have a newer one.
					pods = append(pods, rapid.SampledFrom(of).Draw(t, "state"))
				}
			}
			key := rapid.SampledFrom(keys).Draw(t, "object")
			w.table.SetAll(key, pods)
			twin.set(key, pods)
			for _, node := range []string{"a", "b"} {
				lines := []string{}
				if selected := w.selected(node); selected != nil {
					lines = slices.Sorted(strings.Lines(string(selected.Text)))
				}
				for i := range lines {
					lines[i] = strings.TrimSuffix(lines[i], "\n")
				}
				if want := twin.lines(node); !slices.Equal(lines, want) {
					t.Fatalf("of node %s %q is wanted, want %q", node, lines, want)
				}
			}
		}
		for _, key := range keys {
			w.table.SetAll(key, nil)
		}
		if len(w.nodes) > 0 {
			t.Fatalf("%d nodes are kept", len(w.nodes))
		}
	})
}
