package recommender

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
)

func isNear(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got < want*9/10 || got > want*11/10 {
		t.Errorf("%s is %d, want about %d", what, got, want)
	}
}

func TestRecommendationFollowsUse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 2)
		w.autoscaler("web")
		w.start()
		w.pass(2 * time.Minute)
		cpu, memory := w.target("web")
		isNear(t, "CPU", cpu, 115) // 100m and the margin
		isNear(t, "memory", memory, 500<<20*115/100)
		if c := w.condition("web", "RecommendationProvided"); c == nil || c.Status != corev1.ConditionTrue {
			t.Errorf("RecommendationProvided is %v", c)
		}
		if w.condition("web", "LowConfidence") == nil {
			t.Error("no message about the short history")
		}
		w.do(func() { w.milli["web"], w.bytes["web"] = 1000, 2<<30 })
		w.pass(time.Hour)
		cpu, memory = w.target("web")
		isNear(t, "CPU after an hour at ten times as much", cpu, 1150)
		isNear(t, "memory", memory, 2<<30*115/100)
	})
}

// Percentiles do not depend on how often use is sampled: one sample counts for each
// pod and interval.
func TestOneSampleForEachInterval(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 2)
		w.autoscaler("web")
		w.start()
		w.pass(time.Hour)
		w.stop()
		if got := w.checkpoints["web-app"].Status.TotalSamplesCount; got < 118 || got > 122 {
			t.Errorf("two pods gave %d samples in an hour, want about 120", got)
		}
		if _, made := w.checkpoints["web-init"]; made {
			t.Error("an init container is recommended for")
		}
	})
}

func TestSteadyWritesAreFew(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 2)
		w.autoscaler("web")
		w.start()
		w.pass(24 * time.Hour)
		statuses := w.statuses["web"]
		saves := w.saves["web-app"]
		w.pass(6 * time.Hour)
		if n := w.statuses["web"] - statuses; n > 4 {
			t.Errorf("the status was written %d times in six steady hours; upstream writes 360", n)
		}
		if n := w.saves["web-app"] - saves; n > 125 || n < 80 {
			t.Errorf("the checkpoint was written %d times in six hours, want one each three or four minutes", n)
		}
		w.do(func() { w.milli["web"] = 0 }) // metrics.k8s.io does not have the pods
		w.pass(time.Hour)
		saves = w.saves["web-app"]
		w.pass(6 * time.Hour)
		if n := w.saves["web-app"] - saves; n != 0 {
			t.Errorf("the checkpoint was written %d times with nothing new in it", n)
		}
	})
}

func TestHistorySurvivesARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.autoscaler("web")
		w.start()
		w.pass(3 * time.Hour)
		wantCPU, wantMemory := w.target("web")
		w.stop()
		w.do(func() { w.milli["web"], w.bytes["web"] = 10, 10<<20 })
		w.start()
		w.pass(2 * time.Second)
		cpu, memory := w.target("web")
		isNear(t, "CPU after a restart", cpu, wantCPU)
		isNear(t, "memory after a restart", memory, wantMemory)
		w.pass(10 * time.Minute)
		cpu, memory = w.target("web")
		isNear(t, "CPU some time after a restart", cpu, wantCPU)
		isNear(t, "memory some time after a restart", memory, wantMemory)
	})
}

// A recommender that cannot read checkpoints must not overwrite them.
func TestNothingIsDecidedBeforeCheckpointsAreRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.autoscaler("web")
		w.unreadable = errors.New("etcd is away")
		r := w.start()
		w.pass(10 * time.Minute)
		if len(w.statuses) != 0 || len(w.saves) != 0 || r.Ready() == nil {
			t.Errorf("%v statuses and %v were written, ready: %v", w.statuses, w.saves, r.Ready())
		}
		w.do(func() { w.unreadable = nil })
		w.pass(2 * time.Minute)
		if cpu, _ := w.target("web"); cpu == 0 || r.Ready() != nil || r.Alive(time.Now()) != nil {
			t.Errorf("nothing is recommended after it: %v, %v", r.Ready(), r.Alive(time.Now()))
		}
	})
}

func TestCheckpointOfUpstreamIsTakenOver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.autoscaler("web")
		now := time.Now()
		w.checkpoints["web-app"] = &vpav1.VerticalPodAutoscalerCheckpoint{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-app"},
			Spec:       vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: "web", ContainerName: "app"},
			Status: vpav1.VerticalPodAutoscalerCheckpointStatus{
				Version: "v3", TotalSamplesCount: 10000, FirstSampleStart: metav1.NewTime(now.Add(-8 * 24 * time.Hour)),
				LastSampleStart: metav1.NewTime(now.Add(-time.Minute)),
				CPUHistogram: vpav1.HistogramCheckpoint{
					ReferenceTimestamp: metav1.NewTime(now.Truncate(24 * time.Hour)), BucketWeights: map[int]uint32{36: 10000},
					TotalWeight: 500,
				},
				MemoryHistogram: vpav1.HistogramCheckpoint{
					ReferenceTimestamp: metav1.NewTime(now.Truncate(24 * time.Hour)), BucketWeights: map[int]uint32{50: 10000},
					TotalWeight: 8,
				},
			},
		}
		w.start()
		w.pass(2 * time.Second)
		cpu, memory := w.target("web")
		// Bucket 36 ends at 0.01*(1.05^37-1)/0.05 cores, bucket 50 at 1e7*(1.05^51-1)/0.05 bytes.
		isNear(t, "CPU", cpu, 1016*115/100)
		isNear(t, "memory", memory, 2_208_154_000*115/100)
		if w.condition("web", "LowConfidence") != nil {
			t.Error("eight days of history are little")
		}
	})
}

func TestDamagedCheckpoint(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.autoscaler("web")
		w.checkpoints["web-app"] = &vpav1.VerticalPodAutoscalerCheckpoint{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-app"},
			Spec:       vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: "web", ContainerName: "app"},
			Status:     vpav1.VerticalPodAutoscalerCheckpointStatus{Version: "v3", TotalSamplesCount: -1},
		}
		w.start()
		w.pass(2 * time.Minute)
		if c := w.condition("web", "DamagedCheckpoint"); c == nil || w.warnings("web", "DamagedCheckpoint") != 1 {
			t.Errorf("the condition is %v, the events are %v", c, w.told)
		}
		w.pass(17 * time.Minute) // a checkpoint is written at least every 15 minutes
		if c := w.condition("web", "DamagedCheckpoint"); c != nil || w.checkpoints["web-app"].Status.TotalSamplesCount <= 0 {
			t.Errorf("after a new checkpoint: %v", c)
		}
	})
}

func killed(at time.Time, restarts int32) corev1.PodStatus {
	return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "app", RestartCount: restarts,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "OOMKilled", FinishedAt: metav1.NewTime(at),
		}},
	}}}
}

// The memory of a container that is killed before its first sample is raised within seconds, by the pod's status alone.
func TestOutOfMemoryFromTheFirstSecond(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 0)
		w.autoscaler("web")
		w.start()
		w.do(func() { w.milli["web"] = 0 }) // it never runs long enough
		w.pass(10 * time.Second)
		w.pod("web", "web-0", corev1.PodStatus{})
		pod := w.running["web-0"].DeepCopy()
		pod.Status = killed(time.Now(), 1)
		pod.Status.Phase = corev1.PodRunning
		w.pods.Modify(pod)
		w.pass(3 * time.Second)
		_, memory := w.target("web")
		// 300Mi and at least 100Mi, and the margin of 15 %.
		isNear(t, "memory", memory, 400<<20*115/100)
		if w.saves["web-app"] != 1 {
			t.Errorf("the checkpoint was written %d times after it, want once", w.saves["web-app"])
		}
		w.stop()
		w.start()
		w.pass(2 * time.Second)
		_, again := w.target("web")
		isNear(t, "memory after a restart", again, memory)
	})
}

func TestOutOfMemoryBeforeTheObject(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 0)
		w.pod("web", "web-0", killed(time.Now(), 3))
		w.do(func() { w.milli["web"] = 0 })
		w.start()
		w.pass(time.Minute)
		w.autoscaler("web")
		w.pass(3 * time.Second)
		_, memory := w.target("web")
		isNear(t, "memory", memory, 400<<20*115/100)
	})
}

// The statuses of pods count although the first lookup of their target fails.
func TestOutOfMemoryBeforeTheTargetIsFound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 0)
		w.pod("web", "web-0", killed(time.Now(), 3))
		w.do(func() { w.milli["web"], w.targets["web"] = 0, fmt.Errorf("timeout: %w", ownership.ErrUnknown) })
		w.autoscaler("web")
		w.start()
		w.pass(3 * time.Minute)
		w.do(func() { w.targets["web"] = nil })
		w.pass(2 * time.Minute)
		_, memory := w.target("web")
		isNear(t, "memory", memory, 400<<20*115/100)
	})
}

// Repeated out-of-memory kills cause additional passes, but only one sample in each interval.
func TestUrgentPassesTakeNoSamples(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.autoscaler("web")
		w.start()
		for i := range 60 {
			pod := w.running["web-0"].DeepCopy()
			pod.Status = killed(time.Now(), int32(i+1))
			pod.Status.Phase = corev1.PodRunning
			w.pods.Modify(pod)
			w.pass(20 * time.Second)
		}
		w.stop()
		if got := w.checkpoints["web-app"].Status.TotalSamplesCount; got < 18 || got > 22 {
			t.Errorf("%d samples in 20 minutes, want about 20", got)
		}
	})
}

func TestTransientLookupKeepsHistory(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.autoscaler("web")
		w.start()
		w.pass(time.Hour)
		before, _ := w.target("web")
		w.do(func() { w.targets["web"] = fmt.Errorf("timeout: %w", ownership.ErrUnknown) })
		w.pass(time.Hour)
		cpu, _ := w.target("web")
		isNear(t, "CPU while the target cannot be looked up", cpu, before)
		if c := w.condition("web", "ConfigUnsupported"); c == nil ||
			!strings.HasPrefix(c.Message, "Cannot read targetRef. Reason: timeout") {
			t.Errorf("ConfigUnsupported is %v", c)
		}
		w.do(func() { w.targets["web"] = nil })
		w.pass(2 * time.Minute)
		cpu, _ = w.target("web")
		isNear(t, "CPU after it", cpu, before)
		if c := w.condition("web", "ConfigUnsupported"); c != nil {
			t.Errorf("ConfigUnsupported stays: %v", c)
		}
		w.stop()
		if got := w.checkpoints["web-app"].Status.TotalSamplesCount; got < 100 {
			t.Errorf("%d samples are left of two hours", got)
		}
	})
}

// Each invalid object gets a condition and an event, and the valid one continues.
func TestBadObjects(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, name := range []string{"web", "twin", "narrow", "crash"} {
			w.deployment(name, 1)
		}
		w.targets["crash"] = errPanic
		w.targets["strange"] = fmt.Errorf("unhandled targetRef x / Y / strange: %w", ownership.ErrUnsupported)
		w.autoscaler("aimless", func(v *vpav1.VerticalPodAutoscaler) { v.Spec.TargetRef = nil })
		w.autoscaler("gone")
		w.autoscaler("strange")
		w.autoscaler("crash")
		w.autoscaler("twin")
		w.autoscaler("twin2", func(v *vpav1.VerticalPodAutoscaler) {
			v.Spec.TargetRef.Name = "twin"
			v.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Minute))
		})
		w.autoscaler("narrow", func(v *vpav1.VerticalPodAutoscaler) {
			list := func(cpu string) corev1.ResourceList {
				return corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse(cpu)}
			}
			v.Spec.ResourcePolicy = &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{
				{ContainerName: "app", MinAllowed: list("2"), MaxAllowed: list("1")},
			}}
		})
		w.autoscaler("web")
		w.start()
		w.pass(3 * time.Minute)
		for name, want := range map[string]struct{ kind, message string }{
			"aimless": {"ConfigUnsupported", "targetRef not defined"},
			"gone":    {"ConfigUnsupported", "Deployment shop/gone does not exist"},
			"strange": {"ConfigUnsupported", "unhandled targetRef"},
			"crash":   {"ConfigUnsupported", "Cannot read targetRef"},
			"twin": {status.TargetShared.String(), "Deployment twin has several VerticalPodAutoscalers: twin, twin2; twin " +
				"applies to its pods"},
			"twin2":  {status.TargetShared.String(), "twin applies to its pods"},
			"narrow": {status.ConfigInvalid.String(), "max"},
		} {
			c := w.condition(name, want.kind)
			if c == nil || c.Status != corev1.ConditionTrue || !strings.Contains(c.Message, want.message) {
				t.Errorf("%s: %s is %v, want %s", name, want.kind, c, want.message)
			}
			if n := w.warnings(name, want.kind); n != 1 {
				t.Errorf("%s: %d events of %s in %v, want one", name, n, want.kind, w.told)
			}
		}
		cpu, _ := w.target("web")
		isNear(t, "CPU of the good one", cpu, 115)
		before := maps.Clone(w.statuses)
		w.pass(time.Hour)
		for _, name := range []string{"aimless", "gone", "strange", "crash"} {
			if w.statuses[name] != before[name] {
				t.Errorf("%s: the status was written %d times with nothing new", name, w.statuses[name]-before[name])
			}
		}
		w.do(func() { delete(w.stored, "twin2") })
		w.objects.Delete(&vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "twin2"}})
		w.pass(time.Minute)
		if c := w.condition("twin", status.TargetShared.String()); c != nil {
			t.Errorf("nobody shares it any more: %v", c)
		}
	})
}

func TestOthersConditionsStay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.autoscaler("web", func(v *vpav1.VerticalPodAutoscaler) {
			v.Status.Conditions = []vpav1.VerticalPodAutoscalerCondition{{Type: "Updated", Status: "False",
				Reason: "MinReplicas"}}
		})
		w.start()
		w.pass(2 * time.Minute)
		if c := w.condition("web", "Updated"); c == nil || c.Reason != "MinReplicas" {
			t.Errorf("another's condition is %v", c)
		}
	})
}

func TestOrphanedCheckpointsAreDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		checkpoint := func(owner, container string) {
			w.checkpoints[owner+"-"+container] = &vpav1.VerticalPodAutoscalerCheckpoint{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: owner + "-" + container},
				Spec:       vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: owner, ContainerName: container},
				Status:     vpav1.VerticalPodAutoscalerCheckpointStatus{Version: "v3"},
			}
		}
		w.deployment("web", 1)
		w.autoscaler("web")
		w.autoscaler("theirs", func(v *vpav1.VerticalPodAutoscaler) {
			v.Spec.Recommenders = []vpav1.VerticalPodAutoscalerRecommenderSelector{{Name: "other"}}
		})
		checkpoint("gone", "app")
		checkpoint("theirs", "app")
		checkpoint("web", "removed")
		w.start()
		// The history of a removed container is kept for the memory window, in case it returns.
		w.pass(30 * time.Minute)
		if _, is := w.checkpoints["gone-app"]; is {
			t.Error("the checkpoint of a deleted object stays")
		}
		if _, is := w.checkpoints["theirs-app"]; !is {
			t.Error("the checkpoint of another recommender's object was deleted")
		}
		w.pass(10 * 24 * time.Hour)
		if _, is := w.checkpoints["web-removed"]; is {
			t.Error("the checkpoint of a removed container stays")
		}
		if _, is := w.checkpoints["web-app"]; !is {
			t.Error("the checkpoint of an existing container was deleted")
		}
	})
}

func TestNamesAndNamespaces(t *testing.T) {
	object := func(ns string, names ...string) *vpav1.VerticalPodAutoscaler {
		v := &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: ns}}
		for _, name := range names {
			v.Spec.Recommenders = append(v.Spec.Recommenders, vpav1.VerticalPodAutoscalerRecommenderSelector{Name: name})
		}
		return v
	}
	for why, c := range map[string]struct {
		config Config
		object *vpav1.VerticalPodAutoscaler
		want   bool
	}{
		"the default takes those that name none": {Config{Name: "default"}, object("a"), true},
		"and those that name it":                 {Config{Name: "default"}, object("a", "default"), true},
		"but no others":                          {Config{Name: "default"}, object("a", "fast"), false},
		"another takes those that name it":       {Config{Name: "fast"}, object("a", "fast"), true},
		"but none that name none":                {Config{Name: "fast"}, object("a"), false},
		"in its namespace":                       {Config{Name: "default", Namespace: "a"}, object("a"), true},
		"but in no other":                        {Config{Name: "default", Namespace: "a"}, object("b"), false},
		"nor where it is to look away":           {Config{Name: "default", Ignored: []string{"b"}}, object("b"), false},
	} {
		r := &Recommender{config: c.config}
		if got := r.config.isOurs(c.object); got != c.want {
			t.Errorf("%s: %t", why, got)
		}
	}
}

// The history of a workload is kept for a while after its object was deleted.
func TestRenamedObjectKeepsHistory(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.autoscaler("web")
		w.start()
		w.pass(2 * time.Hour)
		before, _ := w.target("web")
		w.objects.Delete(&vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}})
		w.pass(2 * time.Minute)
		w.do(func() { w.milli["web"] = 1000 })
		w.autoscaler("renamed", func(v *vpav1.VerticalPodAutoscaler) { v.Spec.TargetRef.Name = "web" })
		w.pass(2 * time.Minute)
		cpu, _ := w.target("renamed")
		isNear(t, "CPU of the object of another name", cpu, before)
	})
}
