package horizontal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	kubeletrate "github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// kubelets answer for the pods of the world's nodes.
type kubelets struct {
	w *world
	// The following are guarded by the world's lock: what each pod uses, its counter
	// and when that was read; nodes that do not answer; when each node was asked.
	milli   int64
	counter map[string]int64
	read    map[string]time.Time
	broken  map[string]bool
	asked   map[string][]time.Time
	// of is what a pod uses; milli without it.
	of func(pod string) int64
	// frozen is when all samples are of, however often they are asked for; zero if they
	// are new each time.
	frozen  time.Time
	decided []time.Time

	// rounds has the budget.
	rounds scrape.Config[kubelet.Target]
	// isPatient says that no node goes before others, whatever the decisions say.
	isPatient bool
}

// patient never hurries.
type patient struct{ readings.Direct }

// Prefer implements readings.Direct.
func (patient) Prefer(bool, ...string) {}

// kubelets adds nodes. What starts with direct reads them.
func (w *world) kubelets(nodes ...string) *kubelets {
	w.t.Helper()
	for _, name := range nodes {
		w.add(corev1.SchemeGroupVersion.WithResource("nodes"), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP,
				Address: "10.0.0.1"}}},
		})
	}
	return &kubelets{
		w: w, milli: 100, rounds: scrape.Config[kubelet.Target]{Period: time.Second}, counter: map[string]int64{},
		read: map[string]time.Time{}, broken: map[string]bool{}, asked: map[string][]time.Time{},
	}
}

// scraper asks kubelets.
type scraper struct {
	*kubelets
	store *kubeletrate.Store
}

// Scrape implements resource.Scraper.
func (k *scraper) Scrape(_ context.Context, target kubelet.Target, _ *selection.Prepared) (kubeletrate.Round, error) {
	w, now := k.w, time.Now()
	pods := w.pods("shop")
	w.mu.Lock()
	k.asked[target.Node] = append(k.asked[target.Node], now)
	broken := k.broken[target.Node]
	node := &kubelettest.Node{}
	for i := range pods {
		p := &pods[i]
		if p.Spec.NodeName != target.Node || p.Status.Phase != corev1.PodRunning {
			continue
		}
		if began, known := k.read[p.Name]; known && k.frozen.IsZero() {
			milli := k.milli
			if k.of != nil {
				milli = k.of(p.Name)
			}
			k.counter[p.Name] += now.Sub(began).Nanoseconds() / 1000 * milli
		} else {
			k.counter[p.Name] = 1e9
		}
		k.read[p.Name] = now
		node.Pods = append(node.Pods, kubelettest.Pod{Namespace: "shop", Name: p.Name,
			Containers: []kubelettest.Container{
				{Name: "web", Start: p.Status.StartTime.Time, CPUNanos: k.counter[p.Name], MemoryBytes: 1 << 20},
			}})
	}
	w.mu.Unlock()
	if broken {
		return kubeletrate.Round{}, errors.New("connection refused")
	}
	sampled := now
	if !k.frozen.IsZero() {
		sampled = k.frozen
	}
	return k.store.Ingest(target.Node, now, node.Text(sampled))
}

// direct makes a controller read them and react to what it sees. A minute without
// a decision is otherwise no silence.
func (k *kubelets) direct(c *Config) {
	options := kubelet.DefaultOptions()
	nodes, err := podusage.New(podusage.Config{
		Scraper: func(store *kubeletrate.Store) (podusage.Scraper, error) { return &scraper{k, store}, nil },
		Target:  options.Target, Rounds: k.rounds, Registerer: k.w.registry, Log: c.Log,
		Nodes: func() cache.SharedIndexInformer {
			return informers.NewSharedInformerFactoryWithOptions(k.w.client, 0,
				informers.WithTransform(slim.Transform)).Core().V1().Nodes().Informer()
		},
	})
	if err != nil {
		k.w.t.Fatal(err)
	}
	c.Direct = nodes.Subscribe(podusage.Cadence{})
	if k.isPatient {
		c.Direct = patient{c.Direct}
	}
	k.prompt(c)
}

// prompt makes a controller react to what it sees, and notes its decisions.
func (k *kubelets) prompt(c *Config) {
	c.Triggers, c.SyncPeriod = true, time.Minute
	c.Log = funcr.New(func(_, args string) {
		k.w.set(func() {
			k.w.logs = append(k.w.logs, args)
			if strings.Contains(args, `"msg"="decided"`) || strings.Contains(args, `"msg"="scaled"`) ||
				strings.Contains(args, `"msg"="decision deferred until newer samples arrive"`) {
				k.decided = append(k.decided, time.Now())
			}
		})
	}, funcr.Options{Verbosity: 1})
}

// decisions takes those since the last call.
func (k *kubelets) decisions() []time.Time {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	all := k.decided
	k.decided = nil
	return all
}

// onto puts a target's pods onto nodes in turn.
func (w *world) onto(name string, replicas int, nodes ...string) {
	w.t.Helper()
	for i := range replicas {
		w.changePod(fmt.Sprintf("%s-%d", name, i), func(p *corev1.Pod) { p.Spec.NodeName = nodes[i%len(nodes)] })
	}
}

func (w *world) changePod(name string, change func(*corev1.Pod)) {
	w.t.Helper()
	object, err := w.client.Tracker().Get(podResource, "shop", name)
	if err != nil {
		w.t.Fatal(err)
	}
	p := object.(*corev1.Pod).DeepCopy()
	change(p)
	w.store(podResource, p)
}

func (w *world) logged(part string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(strings.Join(w.logs, "\n"), part)
}

func TestLoadIsSeenWithinSeconds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		hpa := w.web("web", 2)
		w.onto("web", 2, "a")
		w.addHPA(hpa)
		w.start(k.direct)
		w.pass(10 * time.Second)
		if got := w.condition("web", autoscalingv2.ScalingActive); got != "True ValidMetricFound" {
			t.Fatalf("ScalingActive is %s", got)
		}
		asked := w.decisions()
		k.decisions()
		w.set(func() { k.milli = 200 })
		w.pass(5 * time.Second)
		w.wantReplicas("web", 4, "twice the target for five seconds, far from the end of the sync period")
		if n := w.decisions() - asked; n > 0 {
			t.Errorf("metrics.k8s.io was asked %d times", n)
		}
		if got := w.metric("plimsoll_resource_readings_total", monitor.SourceKubelet); got < 10 {
			t.Errorf("%v readings from kubelets", got)
		}
	})
}

// TestFourSamplesASecond: where samples come four times a second, an object far below its threshold is decided about once
// a second, on samples that are as fresh as ever; a load that rises is decided on at once.
func TestFourSamplesASecond(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a", "b")
		k.rounds.Period = 250 * time.Millisecond
		hpa := w.web("web", 4)
		w.onto("web", 4, "a", "b")
		w.addHPA(hpa)
		w.start(k.direct)
		w.pass(30 * time.Second)
		k.decisions()
		w.pass(time.Minute)
		if n := len(k.decisions()); n < 50 || n > 70 {
			t.Errorf("%d decisions in a minute in which nothing changes", n)
		}
		for range 20 {
			w.set(func() { k.milli = 400 })
			w.pass(350 * time.Millisecond)
			if len(k.decisions()) == 0 {
				t.Error("no decision in the first 350 ms of a load of four times the target")
			}
			w.set(func() { k.milli = 40 })
			w.pass(15350 * time.Millisecond)
			k.decisions()
		}
	})
}

// TestSurgeIsConfirmedEarly: a first sample far above the target has its node
// scraped again at once, and the second one decides.
func TestSurgeIsConfirmedEarly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		hpa := w.web("web", 4)
		w.onto("web", 4, "a")
		w.addHPA(hpa)
		k.milli = 10
		w.start(k.direct)
		w.pass(30 * time.Second)
		k.decisions()
		// Right after a scrape, so that the next one sees all of it.
		w.set(func() { k.milli, k.asked = 900, map[string][]time.Time{} })
		for len(k.decisions()) == 0 {
			w.pass(time.Millisecond)
		}
		began := time.Now()
		w.pass(time.Second)
		asked := k.asked["a"]
		if len(asked) < 3 || asked[1].Sub(asked[0]) > 300*time.Millisecond {
			t.Errorf("after the first sample, scraped at %v", asked)
		}
		if now := w.replicas("web"); now < 8 {
			t.Errorf("%d replicas, want twice the pods within a second of the first sample", now)
		}
		if decided := k.decisions(); len(decided) == 0 || decided[0].Sub(began) > 400*time.Millisecond {
			t.Errorf("decided at %v, the first sample came at %v", decided, began)
		}
	})
}

// TestOncePerRound: however many nodes the pods are on, each round of scrapes
// leads to one decision, at most 200 ms after its first samples.
func TestOncePerRound(t *testing.T) {
	for _, nodes := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c", "d", "e", "f", "g"}} {
		t.Run(fmt.Sprint(len(nodes), " nodes"), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := w.kubelets(nodes...)
				hpa := w.web("web", 14)
				w.onto("web", 14, nodes...)
				w.addHPA(hpa)
				w.start(k.direct)
				w.pass(10 * time.Second)
				k.decisions()
				w.set(func() { clear(k.asked) })
				w.pass(20 * time.Second)
				decided := k.decisions()
				if n := len(decided); n < 19 || n > 21 {
					t.Errorf("%d decisions in 20 rounds", n)
				}
				first := ""
				for node, asked := range k.asked {
					if first == "" || soonAfter(decided, asked) < soonAfter(decided, k.asked[first]) {
						first = node
					}
				}
				if delay := soonAfter(decided, k.asked[first]); delay > 200*time.Millisecond {
					t.Errorf("decided %s after the first samples of a round", delay)
				}
			})
		})
	}
}

// soonAfter is how long it takes from any of the moments to the next decision, at
// most.
func soonAfter(decided, moments []time.Time) (most time.Duration) {
	for _, m := range moments[:len(moments)-1] {
		for _, d := range decided {
			if !d.Before(m) {
				most = max(most, d.Sub(m))
				break
			}
		}
	}
	return most
}

// TestKubeletThatCannotBeRead: metrics.k8s.io stands in for it, which is reported once, and so is
// the end of it.
func TestKubeletThatCannotBeRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a", "b")
		hpa := w.web("web", 2)
		w.onto("web", 2, "a", "b")
		w.addHPA(hpa)
		w.start(k.direct)
		w.pass(10 * time.Second)
		asked := w.decisions()
		w.set(func() { k.broken["b"] = true })
		w.pass(20 * time.Second)
		if n := w.decisions() - asked; n < 3 || n > 5 {
			t.Errorf("metrics.k8s.io was asked %d times in the 17 s that it stood in", n)
		}
		if n := w.metric("plimsoll_resource_stand_ins"); n != 1 {
			t.Errorf("it stands in for %v objects", n)
		}
		if n := w.logged("falling back to metrics.k8s.io"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		if !w.hasEvent("web Warning FailedReadKubelet: metrics.k8s.io stands in meanwhile: connection refused") ||
			len(w.events) != 1 {
			t.Errorf("events %q", w.events)
		}
		w.set(func() { w.usage = 200 })
		w.pass(6 * time.Second)
		w.wantReplicas("web", 4, "what metrics.k8s.io says counts")
		w.set(func() { k.broken["b"], w.usage = false, 100 })
		w.pass(40 * time.Second)
		asked = w.decisions()
		w.pass(10 * time.Second)
		if n := w.decisions() - asked; n > 0 {
			t.Errorf("healed, but metrics.k8s.io was asked %d times", n)
		}
		if n := w.metric("plimsoll_resource_stand_ins"); n != 0 || w.logged("come from the nodes again") != 1 {
			t.Errorf("it stands in for %v objects, %q", n, w.logs)
		}
	})
}

// TestSamplesDoNotAskOthers: an object with another metric is decided every second, and asks for
// that one once in a sync period.
func TestSamplesDoNotAskOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		var asked []time.Time
		w.external = func(context.Context) (int64, error) {
			w.set(func() { asked = append(asked, time.Now()) })
			return 300, nil
		}
		hpa := w.web("web", 2)
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, externally(w.web("other", 1)).Spec.Metrics...)
		w.onto("web", 2, "a")
		w.addHPA(hpa)
		w.start(k.direct)
		w.wantReplicas("web", 3, "300m at 100m each")
		w.pass(5 * time.Minute)
		if n := len(k.decisions()); n < 300 {
			t.Errorf("%d decisions in 300 s", n)
		}
		for i := range asked[1:] {
			if gap := asked[i+1].Sub(asked[i]); gap < 30*time.Second || gap > time.Minute {
				t.Errorf("asked after %s", gap)
			}
		}
		// An edit is about what is to be asked.
		before := len(asked)
		w.edit("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.MaxReplicas = 9 })
		w.pass(10 * time.Millisecond)
		if len(asked) != before+1 {
			t.Errorf("asked %d times because of an edit", len(asked)-before)
		}
	})
}

func TestPodsLeadToDecisions(t *testing.T) {
	change := map[string]func(w *world){
		"one becomes unready": func(w *world) {
			w.changePod("web-0", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
		},
		"one goes": func(w *world) {
			w.deletePod("web-0")
		},
		"one fails": func(w *world) {
			w.changePod("web-0",
				func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		},
		"one appears": func(w *world) { w.add(podResource, pod("web-new", map[string]string{"app": "web"})) },
		"many appear": func(w *world) {
			for i := range 30 {
				w.add(podResource, pod(fmt.Sprint("web-new-", i), map[string]string{"app": "web"}))
			}
		},
		"another writer scales": func(w *world) { w.setReplicas("web", 3) },
	}
	for name, f := range change {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := w.kubelets()
				w.addHPA(w.web("web", 2))
				w.start(k.prompt)
				w.pass(5 * time.Second)
				k.decisions()
				f(w)
				began := time.Now()
				w.pass(5 * time.Second)
				if decided := k.decisions(); len(decided) != 1 || decided[0].Sub(began) > 100*time.Millisecond {
					t.Errorf("decided %v after %s: %q", decided, began, w.logs)
				}
			})
		})
	}
	t.Run("without triggers none does", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			k := w.kubelets()
			w.addHPA(w.web("web", 2))
			w.start(k.prompt, func(c *Config) { c.Triggers = false })
			w.pass(5 * time.Second)
			k.decisions()
			for name, f := range change {
				if name != "one goes" {
					f(w)
				}
			}
			w.pass(5 * time.Second)
			if decided := k.decisions(); len(decided) > 0 {
				t.Errorf("decided %v", decided)
			}
		})
	})
}

// TestEventsDoNotLower: right after a pod has gone the others do not have its load
// yet. A decision that is made at once must not take that for too little load.
func TestEventsDoNotLower(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets()
		hpa := w.web("web", 4)
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
		}
		w.addHPA(hpa)
		w.start(k.prompt)
		w.pass(5 * time.Second)
		w.set(func() { w.usage = 30 })
		w.changePod("web-0", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		w.pass(time.Second)
		w.wantReplicas("web", 4, "a pod has gone, and nothing else is known")
		if n := w.logged("decision deferred until newer samples arrive"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		w.set(func() { w.usage = 600 })
		w.changePod("web-1", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		w.pass(2 * time.Second)
		w.wantReplicas("web", 8, "what asks for more is not held")
		w.set(func() { w.usage = 30 })
		w.pass(time.Minute)
		if got := w.replicas("web"); got >= 8 {
			t.Errorf("%d replicas after the object's turn by the clock", got)
		}
	})
}

// TestEventsAskSeldom: where metrics.k8s.io has to be asked, pods that change all
// the time lead to one question a second.
func TestEventsAskSeldom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets()
		w.addHPA(w.web("web", 2))
		w.start(k.prompt)
		w.pass(5 * time.Second)
		before := w.decisions()
		for i := range 100 {
			w.add(podResource, pod(fmt.Sprint("web-new-", i), map[string]string{"app": "web"}))
			w.pass(100 * time.Millisecond)
		}
		if n := w.decisions() - before; n < 9 || n > 11 {
			t.Errorf("asked %d times in 10 s", n)
		}
	})
}

// TestOwnScalingIsNoNews: a count that Plimsoll has set does not lead to another
// decision.
func TestOwnScalingIsNoNews(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets()
		w.usage = 200
		w.addHPA(w.web("web", 2))
		w.start(k.prompt)
		w.wantReplicas("web", 4, "twice the target")
		w.pass(5 * time.Second)
		if n := len(k.decisions()); n != 1 {
			t.Errorf("%d decisions", n)
		}
		w.set(func() { w.usage = 100 })
		w.setReplicas("web", 5)
		w.pass(time.Second)
		if n := len(k.decisions()); n != 1 {
			t.Errorf("%d decisions after the scaling of another writer", n)
		}
	})
}
