package podindex

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

func namesOf(pods []*observe.Pod) (names []string) {
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return names
}

func readyPod(name string, set map[string]string, status corev1.ConditionStatus) *observe.Pod {
	p := pod(name, set)
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	return observe.PodOf(p)
}

// TestOthers: the pods that an object reads beside those of its target are not its own: they overlap with no claim, and
// are no pods of the object. Their changes are reported for each object that reads them.
func TestOthers(t *testing.T) {
	x := New()
	gateway := SelectorOf(selector(t, "app=gateway"))
	x.Claim(object("gateway"), gateway, nil)
	x.Claim(object("web"), SelectorOf(selector(t, "app=web")), nil)
	x.Put(readyPod("gateway-1", map[string]string{"app": "gateway"}, corev1.ConditionFalse))
	for _, name := range []string{"web", "api"} {
		x.SetOthers(object(name), []*Selector{SelectorOf(selector(t, "app=gateway"))})
	}
	if got := x.Claim(object("gateway"), gateway, nil); got != "" {
		t.Errorf("overlap %s", got)
	}
	if got := namesOf(x.AppendOthers(nil, "shop", gateway)); !slices.Equal(got, []string{"gateway-1"}) {
		t.Errorf("%v", got)
	}
	if got := x.Of("shop", "gateway-1"); !slices.Equal(got, []observe.Key{object("gateway")}) {
		t.Errorf("gateway-1 is a pod of %v", got)
	}
	all := []observe.Key{object("gateway"), object("web"), object("api")}
	changed := x.Put(readyPod("gateway-1", map[string]string{"app": "gateway"}, corev1.ConditionTrue))
	if !slices.Equal(changed, all) {
		t.Errorf("ready: reported for %v", changed)
	}
	if changed := x.Put(readyPod("gateway-1", map[string]string{"app": "other"}, corev1.ConditionTrue)); !slices.Equal(changed, all) {
		t.Errorf("other labels: reported for %v", changed)
	}
	x.SetOthers(object("web"), nil)
	changed = x.Put(readyPod("gateway-2", map[string]string{"app": "gateway"}, corev1.ConditionTrue))
	if want := []observe.Key{object("gateway"), object("api")}; !slices.Equal(changed, want) {
		t.Errorf("new: reported for %v", changed)
	}
}

// TestOthersEqualTwin: the pods of each selector are those that a loop over all pods finds, and nothing remains of
// objects and pods that are gone.
func TestOthersEqualTwin(t *testing.T) {
	texts := []string{"app=a", "app=b", "app in (a,b)", "app!=a", "tier"}
	rapid.Check(t, func(t *rapid.T) {
		x, pods, reads := New(), map[string]labels.Set{}, map[string][]string{}
		name := func(t *rapid.T) string { return fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "name")) }
		set := func(name string, texts []string) {
			var all []*Selector
			for _, text := range texts {
				s, err := labels.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, SelectorOf(s))
			}
			x.SetOthers(object(name), all)
			reads[name] = texts
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				name, labels := name(t), labels.Set{}
				for _, key := range []string{"app", "tier"} {
					if v := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, key); v != "" {
						labels[key] = v
					}
				}
				x.Put(observe.PodOf(pod(name, labels)))
				pods[name] = labels
			},
			"remove": func(t *rapid.T) {
				name := name(t)
				x.Remove("shop", name)
				delete(pods, name)
			},
			"read": func(t *rapid.T) { set(name(t), rapid.SliceOfN(rapid.SampledFrom(texts), 0, 3).Draw(t, "texts")) },
			"delete": func(t *rapid.T) {
				name := name(t)
				x.Delete(object(name))
				delete(reads, name)
			},
			"": func(t *rapid.T) {
				for _, texts := range reads {
					for _, text := range texts {
						s, _ := labels.Parse(text)
						var want []string
						for name, set := range pods {
							if s.Matches(set) {
								want = append(want, name)
							}
						}
						slices.Sort(want)
						if got := namesOf(x.AppendOthers(nil, "shop", SelectorOf(s))); !slices.Equal(got, want) {
							t.Fatalf("%s: %v, want %v", text, got, want)
						}
					}
				}
			},
		})
		for name := range reads {
			set(name, nil)
		}
		for name := range pods {
			x.Remove("shop", name)
		}
		if len(x.namespaces) > 0 {
			t.Fatalf("%+v remains", x.namespaces["shop"])
		}
	})
}

// BenchmarkOthers is 10,000 objects with metrics of other pods: each of pods of its own, or twenty of a namespace of the
// same.
func BenchmarkOthers(b *testing.B) {
	for name, isShared := range map[string]bool{"of their own": false, "shared by 20": true} {
		x, own := crowd(b)
		selectors := make([][]*Selector, benchObjects)
		for i := range selectors {
			of := (i + 1) % benchPerNamespace
			if isShared {
				of = 0
			}
			selectors[i] = []*Selector{own[i/benchPerNamespace*benchPerNamespace+of]}
			x.SetOthers(benchObject(i), selectors[i])
		}
		b.Run("read pods "+name, func(b *testing.B) {
			var pods []*observe.Pod
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i = (i + 7919) % benchObjects
				x.SetOthers(benchObject(i), selectors[i])
				if pods = x.AppendOthers(pods[:0], benchObject(i).Namespace, selectors[i][0]); len(pods) != benchPods {
					b.Fatalf("%d pods", len(pods))
				}
			}
		})
		b.Run("update a pod "+name, func(b *testing.B) {
			states := [2]*observe.Pod{benchPod(5000, 3, corev1.PodRunning), benchPod(5000, 3, corev1.PodPending)}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				x.Put(states[i%2])
			}
		})
	}
}
