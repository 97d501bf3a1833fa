package readings_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	kubeletrate "github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// periodicKubelet is a kubelet that renews its samples at an interval, however often it is scraped.
type periodicKubelet struct {
	*horizontaltest.Kubelets
	store *kubeletrate.Store
	at    *time.Time
}

func (h *periodicKubelet) Scrape(
	_ context.Context, target kubelet.Target, _ *selection.Prepared,
) (kubeletrate.Round, error) {
	pods := h.W.Pods("shop")
	h.W.Mu.Lock()
	node := &kubelettest.Node{}
	for i := range pods {
		p := &pods[i]
		node.Pods = append(node.Pods, kubelettest.Pod{Namespace: "shop", Name: p.Name,
			Containers: []kubelettest.Container{
				{Name: "web", Start: p.Status.StartTime.Time, CPUNanos: h.Counter["all"], MemoryBytes: 1 << 20},
			}})
	}
	at := *h.at
	h.W.Mu.Unlock()
	if at.IsZero() {
		return kubeletrate.Round{}, errors.New("not yet")
	}
	return h.store.Ingest(target.Node, time.Now(), node.Text(at))
}

func (w *world) periodicKubelets(k *horizontaltest.Kubelets, every time.Duration) func(*controllerhorizontal.Config) {
	at := new(time.Time)
	go func() {
		var total, last = int64(1e9), time.Now()
		for {
			select {
			case <-w.T.Context().Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
			now := time.Now()
			w.Set(func() {
				total += now.Sub(last).Nanoseconds() / 1000 * k.Milli
				last = now
				if at.IsZero() || now.Sub(*at) >= every {
					*at, k.Counter["all"] = now, total
				}
			})
		}
	}()
	return func(c *controllerhorizontal.Config) {
		options := kubelet.DefaultOptions()
		nodes, err := podusage.New(podusage.Config{
			Scraper: func(store *kubeletrate.Store) (podusage.Scraper, error) {
				return &periodicKubelet{k, store, at},
					nil
			},
			Target: options.Target, Rounds: k.Rounds, Registerer: w.Registry, Log: c.Log,
			Nodes: func() cache.SharedIndexInformer {
				return informers.NewSharedInformerFactoryWithOptions(w.Client, 0,
					informers.WithTransform(slim.Transform)).Core().V1().Nodes().Informer()
			},
		})
		if err != nil {
			w.T.Fatal(err)
		}
		c.Direct = nodes.Subscribe(podusage.Cadence{})
		k.Prompt(c)
		c.SyncPeriod = horizontaltest.Period
	}
}

// replicate creates the pods that the Deployment wants, as kube-controller-manager would.
func (w *world) replicate(name string, node string) {
	w.T.Helper()
	want := int(w.Replicas(name))
	pods := w.Pods("shop")
	have := map[string]bool{}
	for i := range pods {
		have[pods[i].Name] = true
	}
	for i := range want {
		if n := fmt.Sprintf("%s-%d", name, i); !have[n] {
			p := horizontaltest.Pod(n, map[string]string{"app": name})
			now := metav1.NewTime(time.Now())
			p.Status.StartTime, p.Status.Conditions[0].LastTransitionTime, p.CreationTimestamp = &now, now, now
			p.Spec.NodeName = node
			w.Add(horizontaltest.PodResource, p)
		}
	}
	for i := want; have[fmt.Sprintf("%s-%d", name, i)]; i++ {
		w.DeletePod(fmt.Sprintf("%s-%d", name, i))
	}
}

// burst is work that each pod does by itself: an amount of CPU for a time, in addition to a load that the pods share.
type burst struct {
	pods                   int32
	loadMilli              int64
	burstMilli             int64
	lasts, every           time.Duration
	times                  int
	keepsPods, hasBehavior bool
}

// play returns the highest count during each burst and the count before the next one.
// Upstream's rules decide on the same samples, each sync period.
func (b burst) play(t *testing.T, isUpstream bool) (peaks, ends []int32) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		hpa := w.Web("web", b.pods)
		hpa.Spec.MaxReplicas = 100
		if b.hasBehavior {
			hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{}
		}
		w.Onto("web", int(b.pods), "a")
		w.AddHPA(hpa)
		k.Milli = b.loadMilli / int64(b.pods)
		w.Start(w.periodicKubelets(k, time.Second), func(c *controllerhorizontal.Config) {
			if isUpstream {
				c.Options.Divergences, c.Options.Surge.Window, c.Triggers = divergence.None, 0, false
			}
		})
		peak := int32(0)
		run := func(d time.Duration, isBurst bool) {
			for end := time.Now().Add(d); time.Now().Before(end); w.Pass(500 * time.Millisecond) {
				pods := b.pods
				if !b.keepsPods {
					w.replicate("web", "a")
					pods = w.Replicas("web")
				}
				peak = max(peak, w.Replicas("web"))
				w.Set(func() {
					if k.Milli = b.loadMilli / int64(pods); isBurst {
						k.Milli = b.burstMilli
					}
				})
			}
		}
		run(time.Minute, false)
		for range b.times {
			peak = 0
			run(b.lasts, true)
			run(b.every-b.lasts, false)
			peaks, ends = append(peaks, peak), append(ends, w.Replicas("web"))
		}
	})
	return peaks, ends
}

// TestWorkInEachPodIsNoLoad: 0.8 cores of load, for which 8 pods are right, and every four minutes four seconds of 200m
// in each pod, twice the target. More pods do not reduce that. The first burst cannot be distinguished from a load; it
// expires before upstream's window ends, and later ones propose nothing.
func TestWorkInEachPodIsNoLoad(t *testing.T) {
	for _, hasBehavior := range []bool{false, true} {
		b := burst{pods: 10, loadMilli: 800, burstMilli: 200, lasts: 4 * time.Second, every: 4 * time.Minute,
			times: 12, hasBehavior: hasBehavior}
		peaks, ends := b.play(t, false)
		_, upstream := b.play(t, true)
		t.Logf("behavior %v: peaks %v, before the next %v; upstream %v", hasBehavior, peaks, ends, upstream)
		for i := range ends {
			if most := slices.Max(upstream) + 1; ends[i] > most || i > 0 && peaks[i] > most {
				t.Errorf("burst %d: %d at most, %d before the next; upstream %v", i, peaks[i], ends[i], upstream)
			}
		}
	}
}

// TestBurstBelowTarget: four seconds at twice the target, with an average of 90 % of it,
// hold no more replicas than with upstream's rules once the stable window had its time.
func TestBurstBelowTarget(t *testing.T) {
	b := burst{pods: 10, loadMilli: 500, burstMilli: 200, lasts: 4 * time.Second, every: time.Minute, times: 4,
		keepsPods: true}
	peaks, ends := b.play(t, false)
	_, upstream := b.play(t, true)
	t.Logf("peaks %v, before the next %v; upstream %v", peaks, ends, upstream)
	if slices.Max(ends) > slices.Max(upstream) || slices.Max(peaks[1:]) > slices.Max(upstream) {
		t.Errorf("at most %v, before the next %v; upstream %v", peaks, ends, upstream)
	}
}

// TestBurstInFewPods: a burst of seconds in one or two pods, at ten times the target, asks
// for no more than one replica more than upstream's average over 15 s.
func TestBurstInFewPods(t *testing.T) {
	for _, pods := range []int32{1, 2} {
		for seconds := 2; seconds <= 4; seconds++ {
			b := burst{pods: pods, loadMilli: 40 * int64(pods), burstMilli: 1000,
				lasts: time.Duration(seconds) * time.Second, every: 4 * time.Minute, times: 1, keepsPods: true}
			peaks, _ := b.play(t, false)
			average := (1000*seconds + 40*(15-seconds)) / 15
			upstream := (int32(average)*pods + 99) / 100
			t.Logf("%d pods, %d s: %v, upstream's average %d", pods, seconds, peaks, upstream)
			if peaks[0] > upstream+1 {
				t.Errorf("%d pods, %d s: %v, upstream's average %d", pods, seconds, peaks, upstream)
			}
		}
	}
}
