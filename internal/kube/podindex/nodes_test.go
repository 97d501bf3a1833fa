package podindex

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

func on(p *corev1.Pod, node string) *corev1.Pod {
	p.Spec.NodeName = node
	return p
}

func TestNodesOfFollowedObjects(t *testing.T) {
	x := New()
	x.Put(observe.PodOf(on(pod("web-1", map[string]string{"app": "web"}), "a")))
	x.Put(observe.PodOf(on(pod("web-2", map[string]string{"app": "web"}), "a")))
	x.Put(observe.PodOf(on(pod("api-1", map[string]string{"app": "api"}), "b")))
	x.SetSelector(object("web"), SelectorOf(selector(t, "app=web")))
	x.SetSelector(object("api"), SelectorOf(selector(t, "app=api")))
	if got := x.Nodes(nil); len(got) > 0 {
		t.Fatalf("no object is followed, yet nodes %v", got)
	}
	x.Follow(object("web"), true)
	wantMoved(t, x, true)
	if got := x.Nodes(nil); !slices.Equal(got, []string{"a"}) {
		t.Errorf("nodes %v, want a", got)
	}
	x.Remove("shop", "web-1")
	wantMoved(t, x, false)
	finished := on(pod("web-2", map[string]string{"app": "web"}), "a")
	finished.Status.Phase = corev1.PodSucceeded
	x.Put(observe.PodOf(finished))
	wantMoved(t, x, true)
	if got := x.Nodes(nil); len(got) > 0 {
		t.Errorf("nodes %v, but what ran there has finished", got)
	}
	x.Put(observe.PodOf(on(pod("web-3", map[string]string{"app": "web"}), "")))
	wantMoved(t, x, false)
	x.Put(observe.PodOf(on(pod("web-3", map[string]string{"app": "web"}), "b")))
	wantMoved(t, x, true)
	x.SetSelector(object("web"), SelectorOf(selector(t, "app in (web,api)")))
	if got, want := x.On("b", nil), []Subscription{{Object: object("web"), Nodes: 1}}; !slices.Equal(got, want) {
		t.Errorf("on b %v, want %v: another selector does not end following", got, want)
	}
	x.Claim(object("web"), SelectorOf(selector(t, "app in (web,api)")), "a follower")
	if got, want := x.On("b", nil),
		[]Subscription{{Object: object("web"), Follower: "a follower", Nodes: 1}}; !slices.Equal(got, want) {
		t.Errorf("on b %v, want %v", got, want)
	}
	x.Claim(object("web"), SelectorOf(selector(t, "app=web")), "another follower")
	if got, want := x.On("b", nil),
		[]Subscription{{Object: object("web"), Follower: "another follower", Nodes: 1}}; !slices.Equal(got, want) {
		t.Errorf("on b %v, want %v", got, want)
	}
	x.Claim(object("web"), SelectorOf(selector(t, "app=web")), nil)
	if got := x.On("b", nil); len(got) > 0 {
		t.Errorf("on b %v, but no object is followed", got)
	}
	x.Claim(object("web"), SelectorOf(selector(t, "app=web")), "a follower")
	x.Delete(object("web"))
	if got := x.Nodes(nil); len(got) > 0 {
		t.Errorf("nodes %v of no object", got)
	}
}

func wantMoved(t *testing.T, x *Index, want bool) {
	t.Helper()
	select {
	case <-x.Moved():
		if !want {
			t.Error("unchanged nodes are reported as changed")
		}
	default:
		if want {
			t.Error("no change of nodes that have changed")
		}
	}
}

// TestChangesThatMatter: for each change of a pod, whether its object is reported.
func TestChangesThatMatter(t *testing.T) {
	set := map[string]string{"app": "web"}
	ready := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
		}
	}
	for name, tt := range map[string]struct {
		change func(*corev1.Pod)
		want   []observe.Key
	}{
		"nothing":       {func(*corev1.Pod) {}, nil},
		"an annotation": {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, nil},
		"its node":      {func(p *corev1.Pod) { p.Spec.NodeName = "a" }, nil},
		"it is ready":   {ready(corev1.ConditionTrue), []observe.Key{object("web")}},
		"it is unready": {ready(corev1.ConditionFalse), []observe.Key{object("web")}},
		"it fails":      {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, []observe.Key{object("web")}},
		"it is deleted": {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
			[]observe.Key{object("web")}},
		"another of it": {func(p *corev1.Pod) { p.UID = "another" }, []observe.Key{object("web")}},
		"it joins": {func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web", "tier": "x"} },
			[]observe.Key{object("web"), object("tier")}},
		"it goes over": {func(p *corev1.Pod) { p.Labels = map[string]string{"tier": "x"} },
			[]observe.Key{object("web"), object("tier")}},
		"another's left": {func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web", "other": "y"} },
			[]observe.Key{object("web")}},
	} {
		t.Run(name, func(t *testing.T) {
			x := New()
			x.SetSelector(object("web"), SelectorOf(selector(t, "app=web")))
			x.SetSelector(object("tier"), SelectorOf(selector(t, "tier=x")))
			if got := x.Put(observe.PodOf(pod("p", set))); !slices.Equal(got, []observe.Key{object("web")}) {
				t.Errorf("appeared: reported %v", got)
			}
			changed := pod("p", set)
			tt.change(changed)
			if got := x.Put(observe.PodOf(changed)); !slices.Equal(got, tt.want) {
				t.Errorf("reported %v, want %v", got, tt.want)
			}
		})
	}
	x := New()
	x.SetSelector(object("web"), SelectorOf(selector(t, "app=web")))
	x.Put(observe.PodOf(pod("p", set)))
	if got := x.Remove("shop", "p"); !slices.Equal(got, []observe.Key{object("web")}) {
		t.Errorf("gone: reported %v", got)
	}
}

// plan is an index, and the calls that filled it.
type plan struct {
	x        *Index
	w        *twin
	nodes    map[string]string
	followed map[string]bool
}

// TestNodesEqualTwin: the counts that follow each event equal a new count of all pods.
func TestNodesEqualTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &plan{
			x: New(), w: &twin{pods: map[string]map[string]string{}, selectors: map[string]labels.Selector{}},
			nodes: map[string]string{}, followed: map[string]bool{},
		}
		t.Repeat(map[string]func(*rapid.T){"put": p.put, "remove": p.remove, "select": p.selects, "delete": p.forget,
			"follow": p.follow, "": p.check})
	})
}

func anyName(t *rapid.T) string { return fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "name")) }

func (p *plan) put(t *rapid.T) {
	name := anyName(t)
	set := map[string]string{"app": rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "app")}
	changed := on(pod(name, set), rapid.SampledFrom([]string{"", "m", "n", "o"}).Draw(t, "node"))
	if rapid.Bool().Draw(t, "finished") {
		changed.Status.Phase = corev1.PodSucceeded
	}
	p.x.Put(observe.PodOf(changed))
	p.w.pods[name], p.nodes[name] = set, nodeOf(observe.PodOf(changed))
}

func (p *plan) remove(t *rapid.T) {
	name := anyName(t)
	p.x.Remove("shop", name)
	delete(p.w.pods, name)
}

func (p *plan) selects(t *rapid.T) {
	name := anyName(t)
	s, err := labels.Parse(rapid.SampledFrom([]string{"app=a", "app in (a,b)", "app!=a", ""}).Draw(t, "selector"))
	if err != nil {
		t.Fatal(err)
	}
	p.x.SetSelector(object(name), SelectorOf(s))
	p.w.selectors[name] = s
}

func (p *plan) forget(t *rapid.T) {
	name := anyName(t)
	p.x.Delete(object(name))
	delete(p.w.selectors, name)
	delete(p.followed, name)
}

func (p *plan) follow(t *rapid.T) {
	name, yes := anyName(t), rapid.Bool().Draw(t, "follow")
	p.x.Follow(object(name), yes)
	if _, known := p.w.selectors[name]; known {
		p.followed[name] = yes
	}
}

func (p *plan) check(t *rapid.T) {
	all := map[string]map[string]bool{}
	for name := range p.w.selectors {
		mine := p.nodesOf(name)
		if got := p.x.NodesOf(object(name), nil); len(got) != len(mine) {
			t.Fatalf("%s is on %v, want %v", name, got, mine)
		}
		for node := range mine {
			if all[node] == nil {
				all[node] = map[string]bool{}
			}
			all[node][name] = true
			if want := (Subscription{Object: object(name), Nodes: len(mine)}); !slices.Contains(p.x.On(node, nil), want) {
				t.Fatalf("on %s are %v, want %v among them", node, p.x.On(node, nil), want)
			}
		}
	}
	if got := p.x.Nodes(nil); len(got) != len(all) {
		t.Fatalf("nodes %v, want %v", got, all)
	}
	for node, objects := range all {
		if got := p.x.On(node, nil); len(got) != len(objects) {
			t.Fatalf("on %s are %v, want %v", node, got, objects)
		}
	}
}

// nodesOf counts all pods of an object.
func (p *plan) nodesOf(name string) map[string]bool {
	mine := map[string]bool{}
	for _, pod := range p.w.members(name) {
		if p.nodes[pod] != "" && p.followed[name] {
			mine[p.nodes[pod]] = true
		}
	}
	return mine
}

// TestFollowersOfPods: a ready pod yields the followers of all its objects; others yield none, nor does one that
// another node reports.
func TestFollowersOfPods(t *testing.T) {
	x := New()
	for name, ready := range map[string]corev1.ConditionStatus{"web-1": corev1.ConditionTrue, "web-2": corev1.ConditionFalse} {
		p := on(pod(name, map[string]string{"app": "web"}), "a")
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		x.Put(observe.PodOf(p))
	}
	x.Claim(object("web"), SelectorOf(selector(t, "app=web")), "web's")
	x.Watch(object("both"), SelectorOf(selector(t, "app in (web,api)")), "both's")
	x.SetSelector(object("unfollowed"), SelectorOf(selector(t, "app=web")))
	elsewhere := on(pod("web-4", map[string]string{"app": "web"}), "b")
	elsewhere.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	x.Put(observe.PodOf(elsewhere))
	names := []string{"web-1", "web-2", "web-3", "web-4"}
	var got []string
	Followers(x, "a", len(names), func(i int) (namespace, pod string) { return "shop", names[i] }, func(i int, follower any) {
		got = append(got, fmt.Sprint(names[i], " ", follower))
	})
	slices.Sort(got)
	if want := []string{"web-1 both's", "web-1 web's"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	Followers(x, "a", 1, func(int) (namespace, pod string) { return "elsewhere", "web-1" },
		func(int, any) { t.Error("a namespace without pods has followers") })
}
