package world

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

var epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// still is a world whose time the test moves.
type still struct {
	*World
	now    time.Time
	events *record.FakeRecorder
}

func newStill(t *testing.T) *still {
	t.Helper()
	w, err := New(Config{Client: fake.NewClientset()})
	if err != nil {
		t.Fatal(err)
	}
	s := &still{World: w, now: epoch, events: record.NewFakeRecorder(100)}
	w.start(epoch, s.events)
	w.setNode(testNode("node-1", "4"))
	return s
}

func (s *still) pass(d time.Duration) {
	for range int(d / time.Second) {
		s.now = s.now.Add(time.Second)
		s.advance(s.now)
	}
}

func testNode(name, cpu string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(epoch.Add(-time.Hour))},
		Status:     corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
	}
}

func testService(name string, annotations map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: annotations},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}},
	}
}

func load(text string) map[string]string { return map[string]string{AnnotationLoad: text} }

func testContainer(name, cpuRequest, cpuLimit string) corev1.Container {
	c := corev1.Container{
		Name: name, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}},
	}
	if cpuRequest != "" {
		c.Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpuRequest)
	}
	if cpuLimit != "" {
		c.Resources.Limits[corev1.ResourceCPU] = resource.MustParse(cpuLimit)
	}
	return c
}

func testPod(name string, ready bool) *corev1.Pod {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	start := metav1.NewTime(epoch)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"},
			Annotations:     map[string]string{AnnotationIdleCPU: "0"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1"}},
		},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{testContainer("app", "100m", "")}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &start,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: start}}},
			},
		},
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func (s *still) served(t *testing.T) map[string]float64 {
	t.Helper()
	rates := map[string]float64{}
	for _, p := range s.Pods("shop", labels.Everything()) {
		rates[p.Name] = math.Round(p.Stats.ServedPerSecond*1000) / 1000
	}
	return rates
}

func TestLoadReachesReadyPods(t *testing.T) {
	s := newStill(t)
	s.setService(testService("web", load("60")))
	s.setPod(testPod("a", true))
	s.setPod(testPod("b", true))
	s.setPod(testPod("c", false))
	pending := testPod("d", false)
	pending.Status.Phase = corev1.PodPending
	s.setPod(pending)
	stranger := testPod("e", true)
	stranger.Labels = map[string]string{"app": "other"}
	s.setPod(stranger)

	s.pass(2 * time.Second)
	if diff := cmp.Diff(map[string]float64{"a": 30, "b": 30, "c": 0, "e": 0}, s.served(t)); diff != "" {
		t.Error(diff)
	}
	s.setPod(testPod("c", true))
	leaving := testPod("a", true)
	leaving.DeletionTimestamp = &metav1.Time{Time: s.now}
	s.setPod(leaving)
	s.deletePod(testPod("b", true))
	s.pass(time.Second)
	if diff := cmp.Diff(map[string]float64{"a": 0, "c": 60, "e": 0}, s.served(t)); diff != "" {
		t.Error(diff)
	}
	view, found := s.Service("shop", "web")
	if !found || view.Stats.ReadyPods != 1 || view.Stats.Pods != 2 {
		t.Errorf("%+v %v", view, found)
	}
}

func TestTheLastWordOnLoadWins(t *testing.T) {
	s := newStill(t)
	s.setPod(testPod("a", true))
	offered := func() float64 {
		s.pass(time.Second)
		view, _ := s.Service("shop", "web")
		return view.Stats.OfferedPerSecond
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.SetLoad("shop", "web", 7)) // before the Service exists
	near(t, "program, no service yet", offered(), 7)
	s.setService(testService("web", nil))
	near(t, "a service without annotation", offered(), 7)
	if got := s.served(t)["a"]; got != 14 {
		t.Errorf("served %v after the service came, want 7 and the 7 that waited", got)
	}
	s.setService(testService("web", load("20")))
	near(t, "annotation", offered(), 20)
	must(s.SetLoad("shop", "web", 30))
	s.setService(testService("web", load("20")))
	near(t, "an update that does not change the annotation", offered(), 30)
	s.setService(testService("web", load("step:1@0s,5@2s")))
	near(t, "a shape begins when it is set", offered(), 1)
	offered()
	near(t, "and goes on", offered(), 5)
	s.setService(testService("web", nil))
	if _, found := s.Service("shop", "web"); found {
		t.Error("the load should end with the annotation")
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		if err := s.SetLoad("shop", "web", bad); err == nil || !strings.Contains(err.Error(), "shop/web") {
			t.Errorf("SetLoad(%v): %v", bad, err)
		}
	}
}

// A load that has just begun has not been measured: it is not reported as zero.
func TestLoadIsReportedAfterItsFirstStep(t *testing.T) {
	s := newStill(t)
	s.pass(time.Second)
	for range 2 {
		s.setService(testService("web", load("60")))
		_, found := s.Service("shop", "web")
		if found || len(s.Services("shop")) != 0 || len(s.Snapshot().Services) != 0 {
			t.Errorf("before the first step: %v %v %v", found, s.Services("shop"), s.Snapshot())
		}
		s.pass(time.Second)
		if view, found := s.Service("shop", "web"); !found || view.Stats.OfferedPerSecond != 60 ||
			len(s.Services("shop")) != 1 {
			t.Errorf("after it: %+v %v %v", view, found, s.Services("shop"))
		}
		s.deleteService(testService("web", nil))
	}
}

func TestDeletedServiceEndsItsLoad(t *testing.T) {
	s := newStill(t)
	s.setService(testService("web", load("60")))
	s.setPod(testPod("a", true))
	s.pass(time.Second)
	s.deleteService(testService("web", nil))
	s.pass(time.Second)
	if got := s.served(t)["a"]; got != 0 || len(s.Snapshot().Services) != 0 {
		t.Errorf("still serves %v, snapshot %v", got, s.Snapshot())
	}
}

func TestOverlappingServices(t *testing.T) {
	s := newStill(t)
	s.setPod(testPod("a", true))
	s.setService(testService("web-b", load("10")))
	s.setService(testService("web-a", load("30")))
	s.pass(time.Second)
	if got := s.served(t)["a"]; got != 30 {
		t.Errorf("serves %v, want the 30 of the first service by name", got)
	}
	if got := <-s.events.Events; !strings.Contains(got, "serve only web-a") {
		t.Errorf("event %q", got)
	}
}

// oneSummary returns the report of node-1's only pod.
func (s *still) onePod(t *testing.T) stats.PodStats {
	t.Helper()
	summary, err := s.Summary("node-1")
	if err != nil {
		t.Fatal(err)
	}
	if len(summary.Pods) != 1 {
		t.Fatalf("%d pods in the summary", len(summary.Pods))
	}
	return summary.Pods[0]
}

func TestSummary(t *testing.T) {
	s := newStill(t)
	s.setService(testService("web", load("20"))) // 200m
	s.pass(time.Second)
	pod := testPod("a", true)
	pod.Spec.Containers = []corev1.Container{testContainer("app", "300m", "1"), testContainer("proxy", "100m", "")}
	s.setService(testService("web", load("20")))
	s.setPod(pod)
	if summary, err := s.Summary("node-1"); err != nil || len(summary.Pods) != 0 {
		t.Errorf("a pod that has not been measured yet is reported: %v %v", summary, err)
	}
	s.pass(10 * time.Second) // and the 20 requests that waited for the pod
	got := s.onePod(t)
	used := 220.0 * 10 / 1000 // 11 s of 20 requests at 10 milli-core-seconds
	for i, part := range []float64{0.75, 0.25} {
		c := got.Containers[i]
		near(t, c.Name+" cpu", float64(*c.CPU.UsageCoreNanoSeconds), used*part*1e9+execCPUNanoSeconds)
		if !c.CPU.Time.Time.Equal(epoch.Add(11*time.Second)) || !c.StartTime.Time.Equal(epoch) {
			t.Errorf("%s: sampled %v, started %v", c.Name, c.CPU.Time, c.StartTime)
		}
	}
	if sum := *got.Containers[0].CPU.UsageCoreNanoSeconds + *got.Containers[1].CPU.UsageCoreNanoSeconds; sum != *got.CPU.UsageCoreNanoSeconds {
		t.Errorf("pod %d, containers %d", *got.CPU.UsageCoreNanoSeconds, sum)
	}
	if _, err := s.Summary("node-9"); err == nil {
		t.Error("an unknown node has a summary")
	}
	s.deleteNode(testNode("node-1", "4"))
	if _, err := s.Summary("node-1"); err == nil {
		t.Error("a deleted node has a summary")
	}
}

func TestCountersOnlyRise(t *testing.T) {
	s := newStill(t)
	s.setService(testService("web", load("50")))
	pod := testPod("a", true)
	pod.Spec.Containers = []corev1.Container{testContainer("app", "100m", ""), testContainer("proxy", "100m", "")}
	s.setPod(pod)
	var last [2]uint64
	for step := range 20 {
		changed := pod.DeepCopy() // resized in place every time
		changed.Spec.Containers[0] = testContainer("app", fmt.Sprintf("%dm", 100+step*50), "2")
		s.setPod(changed)
		s.pass(time.Second)
		for i, c := range s.onePod(t).Containers {
			if *c.CPU.UsageCoreNanoSeconds <= last[i] {
				t.Fatalf("step %d: counter of %s went from %d to %d", step, c.Name, last[i], *c.CPU.UsageCoreNanoSeconds)
			}
			last[i] = *c.CPU.UsageCoreNanoSeconds
		}
	}
	reborn := pod.DeepCopy()
	reborn.UID = "another"
	s.setPod(reborn)
	s.pass(time.Second)
	if got := *s.onePod(t).Containers[0].CPU.UsageCoreNanoSeconds; got >= last[0] {
		t.Errorf("a pod of the same name and another UID begins anew: %d after %d", got, last[0])
	}
}

func TestLimitsOfContainers(t *testing.T) {
	for name, tt := range map[string]struct {
		reason     string
		containers []corev1.Container
		shares     string
		want       float64
	}{
		"alone": {"its limit", []corev1.Container{testContainer("app", "100m", "500m")}, "", 500},
		"none":  {"no limit", []corev1.Container{testContainer("app", "100m", "")}, "", 0},
		"tightest": {"proxy has 1/4 of the use: 100m for it are 400m for the pod, app's 600m would be 800m",
			[]corev1.Container{testContainer("app", "300m", "600m"), testContainer("proxy", "100m", "100m")}, "", 400},
		"evenly": {"without a request on one container each has a half",
			[]corev1.Container{testContainer("app", "300m", "600m"), testContainer("proxy", "", "")}, "", 1200},
		"by annotation": {"app has 0.9, proxy 0.1: 450/0.9 = 500 is less than 100/0.1",
			[]corev1.Container{testContainer("app", "300m", "450m"), testContainer("proxy", "100m", "100m")}, "app=90, proxy=10",
			500},
		"idle sidecar": {"a container without a share does not bind",
			[]corev1.Container{testContainer("app", "300m", "450m"), testContainer("proxy", "100m", "1m")}, "app=1", 450},
	} {
		t.Run(name, func(t *testing.T) {
			pod := testPod("a", true)
			pod.Spec.Containers = tt.containers
			if tt.shares != "" {
				pod.Annotations[AnnotationContainerShares] = tt.shares
			}
			containers, bad := split(pod)
			if bad != nil {
				t.Fatal(bad)
			}
			t.Log(tt.reason)
			near(t, "limit", resourcesOf(pod, containers).CPULimitMilli, tt.want)
		})
	}
}

func TestSidecarsAndPodLevelLimits(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := testPod("a", true)
	sidecar := testContainer("proxy", "100m", "")
	sidecar.RestartPolicy = &always
	pod.Spec.InitContainers = []corev1.Container{testContainer("migrate", "4", ""), sidecar}
	pod.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("700m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
	}}
	containers, _ := split(pod)
	if diff := cmp.Diff([]container{{"proxy", 0.5}, {"app", 0.5}}, containers,
		cmp.AllowUnexported(container{})); diff != "" {
		t.Error(diff)
	}
	got := resourcesOf(pod, containers)
	near(t, "cpu request", got.CPURequestMilli, 200)
	near(t, "cpu limit", got.CPULimitMilli, 700)
	near(t, "memory limit", got.MemoryLimitBytes, 64<<20)
}

func TestBadAnnotationsWarnOnceAndUseDefaults(t *testing.T) {
	s := newStill(t)
	s.setService(testService("web", load("20")))
	for i := range 5 {
		pod := testPod(fmt.Sprint(i), true)
		pod.Annotations[AnnotationCPUPerRequest] = "lots"
		pod.Annotations[AnnotationContainerShares] = "sidecar=1"
		pod.Annotations[AnnotationNoise] = "2"
		s.setPod(pod)
	}
	bad := testService("bad", load("many"))
	bad.Spec.Selector = map[string]string{"app": "none"}
	s.setService(bad)
	worse := bad.DeepCopy()
	worse.Annotations = map[string]string{AnnotationLoad: "5", AnnotationBacklogLimit: "-1"}
	s.setService(worse)
	s.pass(time.Second)
	near(t, "cpu at the default cost", s.Pods("shop", labels.Everything())[0].Stats.CPUMilli, 40)

	var got []string
	for len(s.events.Events) > 0 {
		got = append(got, <-s.events.Events)
	}
	if len(got) < 5 {
		t.Fatalf("events %q", got)
	}
	for i, want := range []string{AnnotationCPUPerRequest, AnnotationNoise, AnnotationContainerShares, AnnotationLoad,
		AnnotationBacklogLimit} {
		if !strings.Contains(got[i], want) || !strings.HasPrefix(got[i], "Warning "+ReasonInvalidParameter) {
			t.Errorf("event %d: %q, want one about %s", i, got[i], want)
		}
	}
}

func TestParameters(t *testing.T) {
	profile, complaints := profileOf(map[string]string{
		AnnotationCPUPerRequest: "25m", AnnotationIdleCPU: "0.05", AnnotationStartupCPU: "1",
		AnnotationStartupDuration: "20s",
		AnnotationMemoryBase:      "1Gi", AnnotationMemoryPerRequest: "1Ki", AnnotationIOLatency: "50ms",
		AnnotationQueueLimit: "1k", AnnotationImbalance: "0.25", AnnotationNoise: "0.5",
	})
	if len(complaints) != 0 {
		t.Fatal(complaints)
	}
	near(t, "cpu per request", profile.CPUPerRequestMilliCoreSeconds, 25)
	near(t, "idle", profile.IdleCPUMilli, 50)
	near(t, "start-up", profile.StartupCPUMilli, 1000)
	near(t, "start-up duration", profile.Startup.Seconds(), 20)
	near(t, "memory base", profile.MemoryBaseBytes, 1<<30)
	near(t, "memory per request", profile.MemoryPerRequestBytes, 1024)
	near(t, "io", profile.IOLatency.Seconds(), 0.05)
	near(t, "queue", profile.QueueLimit, 1000)
	near(t, "imbalance", profile.Imbalance, 0.25)
	near(t, "noise", profile.Noise, 0.5)
}

func TestStartupBurstOfANewPodOnly(t *testing.T) {
	s := newStill(t)
	s.pass(time.Minute)
	add := func(name string, started time.Time) {
		pod := testPod(name, false)
		pod.Annotations[AnnotationStartupCPU] = "500m"
		pod.Status.StartTime = &metav1.Time{Time: started}
		s.setPod(pod)
	}
	add("new", s.now.Add(-time.Second)) // the API's times are whole seconds: it may have started just now
	add("old", epoch)
	s.pass(time.Second)
	pods := s.Pods("shop", labels.Everything())
	near(t, "new", pods[0].Stats.CPUMilli, 500)
	near(t, "old", pods[1].Stats.CPUMilli, 0)
}

// TestRun follows a cluster through informers in real time.
func TestRun(t *testing.T) {
	client := fake.NewClientset(testNode("node-1", "4"), testService("web", load("nonsense")), testPod("a", true))
	w, err := New(Config{Client: client, Tick: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	<-w.Synced()
	if err := w.SetLoad("shop", "web", 100); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod serves", func() bool {
		summary, err := w.Summary("node-1")
		view, _ := w.Service("shop", "web")
		return err == nil && len(summary.Pods) == 1 && view.Stats.ServedTotal > 1
	})
	eventually(t, "the event about the annotation is written", func() bool {
		events, err := client.CoreV1().Events("shop").List(ctx, metav1.ListOptions{})
		return err == nil && len(events.Items) == 1 && events.Items[0].InvolvedObject.Name == "web"
	})
	if err := client.CoreV1().Pods("shop").Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod is gone", func() bool { return len(w.Pods("shop", labels.Everything())) == 0 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	deadline := time.After(time.Minute) // other tests may keep the machine busy
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !check() {
		select {
		case <-deadline:
			t.Fatalf("never: %s", what)
		case <-ticker.C:
		}
	}
}

// BenchmarkTenThousandPods is one tick and one scrape of all nodes.
func BenchmarkTenThousandPods(b *testing.B) {
	w, err := New(Config{Client: fake.NewClientset()})
	if err != nil {
		b.Fatal(err)
	}
	now := epoch
	w.start(now, nil)
	w.setService(testService("web", load("100000")))
	for i := range 100 {
		w.setNode(testNode(fmt.Sprint("node-", i), "32"))
	}
	for i := range 10000 {
		pod := testPod(fmt.Sprint("pod-", i), true)
		pod.Spec.NodeName = fmt.Sprint("node-", i%100)
		w.setPod(pod)
	}
	b.Run("tick", func(b *testing.B) {
		for b.Loop() {
			now = now.Add(time.Second)
			w.advance(now)
		}
	})
	b.Run("scrape", func(b *testing.B) {
		for b.Loop() {
			for i := range 100 {
				if _, err := w.Summary(fmt.Sprint("node-", i)); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
