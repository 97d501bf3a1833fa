package podindex

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

func pod(name string, set map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: set}}
}

func selector(t testing.TB, text string) labels.Selector {
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func object(name string) observe.Key {
	return observe.HPA("shop", name)
}

// overlapOf repeats the object's claim.
func overlapOf(x *Index, object observe.Key) string {
	x.mu.Lock()
	g := x.groupLocked(object)
	x.mu.Unlock()
	return x.Claim(object, g.selector, g.follower)
}

func TestOverlapNamesBoth(t *testing.T) {
	x := New()
	x.Put(observe.PodOf(pod("web-1", map[string]string{"app": "web", "tier": "front"})))
	x.SetSelector(object("web"), SelectorOf(selector(t, "app=web")))
	if got := overlapOf(x, object("web")); got != "" {
		t.Fatalf("alone on its pods, yet overlap %q", got)
	}
	x.SetSelector(object("all"), SelectorOf(selector(t, "tier in (front,back)")))
	for _, name := range []string{"web", "all"} {
		if got, want := overlapOf(x, object(name)), "[shop/all shop/web]"; got != want {
			t.Errorf("%s: overlap %q, want %q", name, got, want)
		}
	}
	x.Delete(object("all"))
	if got := overlapOf(x, object("web")); got != "" {
		t.Errorf("the other is gone, yet overlap %q", got)
	}
}

// twin is a naive index: every query checks every pod.
type twin struct {
	pods      map[string]map[string]string
	selectors map[string]labels.Selector
}

func (w *twin) members(name string) []string {
	var names []string
	for pod, set := range w.pods {
		if s, ok := w.selectors[name]; ok && s.Matches(labels.Set(set)) {
			names = append(names, pod)
		}
	}
	slices.Sort(names)
	return names
}

func (w *twin) overlaps(name string) bool {
	for _, pod := range w.members(name) {
		for other := range w.selectors {
			if other != name && slices.Contains(w.members(other), pod) {
				return true
			}
		}
	}
	return false
}

func TestIndexEqualsTwin(t *testing.T) {
	texts := []string{"app=a", "app=b", "app in (a,b)", "app!=a", "tier=x", "app=a,tier=x", "tier", ""}
	values := []string{"", "a", "b", "x"}
	rapid.Check(t, func(t *rapid.T) {
		x, w := New(), &twin{pods: map[string]map[string]string{}, selectors: map[string]labels.Selector{}}
		step := func(t *rapid.T) {
			name := fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "name"))
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				set := map[string]string{}
				for _, key := range []string{"app", "tier"} {
					if v := rapid.SampledFrom(values).Draw(t, key); v != "" {
						set[key] = v
					}
				}
				x.Put(observe.PodOf(pod(name, set)))
				w.pods[name] = set
			case 1:
				x.Remove("shop", name)
				delete(w.pods, name)
			case 2:
				s, err := labels.Parse(rapid.SampledFrom(texts).Draw(t, "selector"))
				if err != nil {
					t.Fatal(err)
				}
				x.SetSelector(object(name), SelectorOf(s))
				w.selectors[name] = s
			case 3:
				x.Delete(object(name))
				delete(w.selectors, name)
			}
		}
		check := func(t *rapid.T) {
			for name := range w.selectors {
				var got []string
				for _, p := range x.Pods(object(name)) {
					got = append(got, p.Name)
				}
				if want := w.members(name); !slices.Equal(got, want) {
					t.Fatalf("%s has %v, want %v", name, got, want)
				}
				if got, want := overlapOf(x, object(name)) != "", w.overlaps(name); got != want {
					t.Fatalf("%s overlaps: %v, want %v", name, got, want)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){"step": step, "": check})
	})
}
