package vertical

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// poor returns the step of known with three ready pods that all request too little.
func poor() *snapshotvertical.Step {
	step := known()
	for _, p := range step.Pods {
		p.Labels = map[string]string{"app": "web"}
		p.Spec.Containers[0].Resources.Requests = resources("50m", "400Mi")
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return step
}

// updater returns the state of an updater whose last pass was 20 s ago.
func updater() *snapshotvertical.Updater {
	return &snapshotvertical.Updater{
		Time: noon.Add(-20 * time.Second), Interval: metav1.Duration{Duration: time.Minute}, State: update.State{}.Clone(),
		Evictions: disruption.NewBucket(0, 1),
	}
}

// confirmed returns the circuit of a workload whose first replacement was as expected.
func confirmed() disruption.Circuit {
	return disruption.Circuit{
		EvictedFrom: noon.Add(-2 * time.Minute), EvictedTo: noon.Add(-2 * time.Minute), Confirmed: true,
	}
}

func protect(step *snapshotvertical.Step, left int32) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: left, CurrentHealthy: 3, DesiredHealthy: 3},
	}
	step.Budgets = append(step.Budgets, budget)
	return budget
}

// shrinks gives the pods memory limits that a resize to the recommendation would lower.
func shrinks(s *snapshotvertical.Step) {
	inPlace(s, vpav1.UpdateModeInPlaceOrRecreate)
	for _, p := range s.Pods {
		c := &p.Spec.Containers[0]
		c.Resources.Requests = resources("50m", "800Mi")
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: *c.Resources.Requests.Memory()}
	}
}

func inPlace(step *snapshotvertical.Step, mode vpav1.UpdateMode) {
	step.Object.Spec.UpdatePolicy.UpdateMode = &mode
	step.Nodes = []*corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "node"},
		Status: corev1.NodeStatus{
			Allocatable: resources("1", "4Gi"),
			NodeInfo:    corev1.NodeSystemInfo{KubeletVersion: "v1.37.0", OperatingSystem: "linux"},
		},
	}}
}

// TestEachPod: the explanation says for each pod what blocks it, as JSON and as text.
func TestEachPod(t *testing.T) {
	evicted, held := "evict OutsideRange ", func(by string) string { return "nothing OutsideRange " + by }
	waits := held("WaitingForReplacement")
	const words = "needs an update: app requests cpu 50m, less than the lower bound of 150m; blocked: "
	for why, c := range map[string]struct {
		change func(*snapshotvertical.Step)
		want   [3]string
		words  string
	}{
		"half may be away": {
			func(*snapshotvertical.Step) {}, [3]string{evicted, held("DisruptionBudget"), held("DisruptionBudget")},
			words + "as many pods are away or not ready as --eviction-tolerance allows",
		},
		"the operator lets more go": {
			func(s *snapshotvertical.Step) { s.Snapshot.Flags = map[string]string{"eviction-tolerance": "0.7"} },
			[3]string{evicted, waits, waits}, words + "the pod that replaces the first evicted one has not come up yet",
		},
		"a budget": {
			func(s *snapshotvertical.Step) { protect(s, 0) },
			[3]string{held("PodDisruptionBudget"), held("PodDisruptionBudget"), held("PodDisruptionBudget")},
			words + "a PodDisruptionBudget does not allow an eviction",
		},
		"a budget of another": {
			func(s *snapshotvertical.Step) { protect(s, 0).Spec.Selector.MatchLabels["app"] = "api" },
			[3]string{evicted, held("DisruptionBudget"), held("DisruptionBudget")}, "would be evicted",
		},
		"a budget is used up": {
			func(s *snapshotvertical.Step) {
				protect(s, 1)
				s.Snapshot.Flags = map[string]string{"eviction-tolerance": "1"}
			}, [3]string{evicted, waits, waits}, "would be evicted",
		},
		"not counted yet": {
			func(s *snapshotvertical.Step) { protect(s, 3).Generation = 2 },
			[3]string{held("PodDisruptionBudget"), held("PodDisruptionBudget"), held("PodDisruptionBudget")},
			"a PodDisruptionBudget",
		},
		"a budget lets the sick go": {
			func(s *snapshotvertical.Step) {
				protect(s, 0).Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
				s.Pods[1].Status.Conditions = nil
				s.Snapshot.Flags = map[string]string{"eviction-tolerance": "1"}
			}, [3]string{held("PodDisruptionBudget"), evicted, waits}, "would be evicted",
		},
		"two budgets": {
			func(s *snapshotvertical.Step) { protect(s, 3); protect(s, 3) },
			[3]string{held("Failed"), held("Failed"), held("Failed")},
			words + "the API server answered with an error",
		},
		"too few": {
			func(s *snapshotvertical.Step) { s.Object.Spec.UpdatePolicy.MinReplicas = ptr.To[int32](4) },
			[3]string{held("MinReplicas"), held("MinReplicas"), held("MinReplicas")}, words +
				"there are fewer pods than minReplicas",
		},
		"requirements": {
			func(s *snapshotvertical.Step) {
				s.Object.Spec.UpdatePolicy.EvictionRequirements = []vpav1.EvictionRequirement{{
					Resources: []corev1.ResourceName{corev1.ResourceCPU}, ChangeRequirement: vpav1.TargetLowerThanRequests,
				}}
			}, [3]string{held("EvictionRequirements"), held("EvictionRequirements"), held("EvictionRequirements")}, words +
				"the change does not meet the evictionRequirements",
		},
		"good enough": {
			func(s *snapshotvertical.Step) {
				for _, p := range s.Pods {
					p.Spec.Containers[0].Resources.Requests = resources("160m", "400Mi")
				}
			}, [3]string{"nothing  WithinBounds", "nothing  WithinBounds", "nothing  WithinBounds"},
			"not updated: the pods' requests are within the recommended bounds",
		},
		"fought over": {
			func(s *snapshotvertical.Step) {
				s.Horizontals = []*autoscalingv2.HorizontalPodAutoscaler{{
					ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
					Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
						ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"},
						Metrics: []autoscalingv2.MetricSpec{{
							Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
								Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{AverageUtilization: ptr.To[int32](50)},
							}}},
					},
				}}
			}, [3]string{"nothing  Conflict", "nothing  Conflict", "nothing  Conflict"},
			"not updated: a horizontal autoscaler has a utilization target",
		},
		"no turn": {
			func(s *snapshotvertical.Step) {
				s.Snapshot.Updater = updater()
				s.Snapshot.Updater.Evictions = disruption.NewBucket(0.001, 1).Empty(noon.Add(-20 * time.Second))
			}, [3]string{held("RateLimit"), held("RateLimit"), held("RateLimit")}, words +
				"--eviction-rate-limit allows no more in this pass",
		},
		"the Lease is not renewed": {
			func(s *snapshotvertical.Step) { s.Snapshot.Updater = updater(); s.Snapshot.Updater.LeaseStale = true },
			[3]string{held("LeaseStale"), held("LeaseStale"), held("LeaseStale")},
			"skips its passes: the admission controller's Lease is not renewed",
		},
		"the cluster evicts nothing": {
			func(s *snapshotvertical.Step) {
				s.Snapshot.Updater = updater()
				s.Snapshot.Updater.EvictionsStopped = "ClusterNotAdmitted"
			},
			[3]string{held("ClusterNotAdmitted"), held("ClusterNotAdmitted"), held("ClusterNotAdmitted")},
			"evicts nothing in the whole cluster: pods of several workloads were created without the recommended requests",
		},
		"an updater that knows more holds it": {
			func(s *snapshotvertical.Step) {
				s.Snapshot.Updater = updater()
				s.Snapshot.Updater.EvictionsStopped = "SomethingNew"
			},
			[3]string{evicted, held("DisruptionBudget"), held("DisruptionBudget")},
			"evicts nothing in the whole cluster: SomethingNew",
		},
		"the cluster has had enough": {
			func(s *snapshotvertical.Step) {
				s.Snapshot.Updater = updater()
				s.Snapshot.Updater.EvictionsLeft = ptr.To(0)
			},
			[3]string{held("ClusterBudget"), held("ClusterBudget"), held("ClusterBudget")},
			"--max-eviction-percent leaves 0 evictions in the whole cluster for now",
		},
		"the cluster bears one more": {
			func(s *snapshotvertical.Step) {
				s.Snapshot.Updater = updater()
				s.Snapshot.Updater.EvictionsLeft = ptr.To(1)
				s.Snapshot.Updater.State.Circuit = confirmed()
				s.Snapshot.Flags = map[string]string{"eviction-tolerance": "1"}
			}, [3]string{evicted, held("ClusterBudget"), held("ClusterBudget")}, words +
				"as many pods of the cluster were evicted as --max-eviction-percent allows",
		},
		"new pods are refused": {
			func(s *snapshotvertical.Step) { s.Snapshot.Updater = updater(); s.Snapshot.Updater.FailedCreate = true },
			[3]string{held("FailedCreate"), held("FailedCreate"), held("FailedCreate")}, words +
				"pods of the workload are not created",
		},
		"little history": {
			func(s *snapshotvertical.Step) {
				for _, p := range s.Pods {
					p.Spec.Containers[0].Resources.Requests = resources("200m", "800Mi")
				}
				s.Object.Status.Recommendation.ContainerRecommendations[0].UpperBound = resources("200m", "500Mi")
				s.Object.Status.Conditions = append(s.Object.Status.Conditions,
					vpav1.VerticalPodAutoscalerCondition{Type: "LowConfidence", Status: corev1.ConditionTrue})
			}, [3]string{"nothing  LittleHistory", "nothing  LittleHistory", "nothing  LittleHistory"},
			"not updated: the history is shorter than the confidence interval",
		},
		"new pods crash": {
			func(s *snapshotvertical.Step) {
				s.Snapshot.Updater = updater()
				s.Snapshot.Updater.State.Circuit.EvictedFrom = noon.Add(-30 * time.Minute)
				s.Snapshot.Updater.State.Circuit.EvictedTo = s.Snapshot.Updater.State.Circuit.EvictedFrom
				s.Snapshot.Updater.State.Circuit.Since = noon.Add(-time.Minute)
				s.Pods[0].CreationTimestamp = metav1.NewTime(noon.Add(-10 * time.Minute))
				s.Pods[0].Annotations = map[string]string{observevertical.AnnotationUpdates: "updated"}
				for _, p := range s.Pods[1:] {
					p.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
				}
				s.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
					LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
						ExitCode: 1, FinishedAt: metav1.NewTime(noon),
					}},
				}}
			}, [3]string{evicted, held("CircuitOpen"), held("CircuitOpen")},
			"pods that were changed earlier do not become ready: web-1",
		},
		"in place": {
			func(s *snapshotvertical.Step) { inPlace(s, vpav1.UpdateModeInPlaceOrRecreate) },
			[3]string{"resize OutsideRange ", held("DisruptionBudget"), held("DisruptionBudget")},
			"would be resized in place by the next pass",
		},
		"no room": {
			func(s *snapshotvertical.Step) {
				inPlace(s, vpav1.UpdateModeInPlaceOrRecreate)
				s.Snapshot.Updater = updater()
				s.Snapshot.Updater.Requested = map[string]vertical.Amounts{"node": vertical.Amounts{}.With(vertical.CPU, 1000)}
			}, [3]string{held("NodeFull"), held("NodeFull"), held("NodeFull")}, words +
				"the node has no room for the recommendation",
		},
		"refused before": {
			func(s *snapshotvertical.Step) {
				inPlace(s, vpav1.UpdateModeInPlace)
				s.Snapshot.Flags = map[string]string{"updater-feature-gates.InPlace": "true"}
				s.Snapshot.Updater = updater()
				s.Snapshot.Updater.Requested = map[string]vertical.Amounts{"node": vertical.Amounts{}.With(vertical.CPU, 150)}
				for _, p := range s.Pods {
					s.Snapshot.Updater.State.Resize.Infeasible[string(p.UID)] = resize.InfeasibleResize{
						Targets: map[string]vertical.Amounts{"app": vertical.Amounts{}.With(vertical.CPU, 200)},
						Room:    vertical.Amounts{}.With(vertical.CPU, 1000).With(vertical.Memory, 4<<30),
					}
				}
			}, [3]string{held("InfeasibleBefore"), held("InfeasibleBefore"), held("InfeasibleBefore")}, words +
				"the node could not do the resize",
		},
		"the kubelet has refused another workload's pod": {
			func(s *snapshotvertical.Step) {
				inPlace(s, vpav1.UpdateModeInPlace)
				s.Snapshot.Flags = map[string]string{"updater-feature-gates.InPlace": "true"}
				s.Snapshot.Updater = updater()
				s.Snapshot.Updater.KubeletRefusals = map[string]snapshotvertical.KubeletRefusals{"node": {NoResizes: true}}
			}, [3]string{held("OldKubelet"), held("OldKubelet"), held("OldKubelet")}, words,
		},
		"memory in use": {
			func(s *snapshotvertical.Step) {
				shrinks(s)
				for _, p := range s.Pods {
					s.PodMetrics = append(s.PodMetrics, metricsv1beta1.PodMetrics{
						ObjectMeta: metav1.ObjectMeta{Name: p.Name},
						Containers: []metricsv1beta1.ContainerMetrics{{Name: "app", Usage: resources("50m", "700Mi")}},
					})
				}
			}, [3]string{held("MemoryInUse"), held("MemoryInUse"), held("MemoryInUse")}, words +
				"a container uses more memory than its new limit would allow",
		},
		"memory in use, says the updater": {
			func(s *snapshotvertical.Step) {
				shrinks(s)
				s.Snapshot.Updater = updater()
				s.Snapshot.Updater.Used = map[string]map[string]vertical.Amounts{}
				for _, p := range s.Pods {
					s.Snapshot.Updater.Used[string(p.UID)] = map[string]vertical.Amounts{"app": vertical.Amounts{}.With(
						vertical.Memory, 700<<20)}
				}
			}, [3]string{held("MemoryInUse"), held("MemoryInUse"), held("MemoryInUse")}, words +
				"a container uses more memory than its new limit would allow",
		},
		"the use is unknown": {
			shrinks, [3]string{held("MemoryUnknown"), held("MemoryUnknown"), held("MemoryUnknown")}, words +
				"a container's memory limit would fall, and its usage is unknown",
		},
		"the boost is over": {
			func(s *snapshotvertical.Step) {
				s.Snapshot.Flags = map[string]string{"updater-feature-gates.CPUStartupBoost": "true"}
				s.Object.Spec.UpdatePolicy.UpdateMode = ptr.To(vpav1.UpdateModeOff)
				s.Object.Spec.StartupBoost = &vpav1.StartupBoost{CPU: &vpav1.GenericStartupBoost{
					Type: vpav1.FactorStartupBoostType, Factor: ptr.To[int32](2),
				}}
				s.Pods[0].Annotations = map[string]string{"vpaCpuStartupBoost/app": `{"requests":{"cpu":"50m"}}`}
			}, [3]string{"unboost BoostExpired ", "nothing  ModeOff", "nothing  ModeOff"},
			"would be resized in place now: the time of the start-up boost is over",
		},
	} {
		t.Run(why, func(t *testing.T) {
			step := poor()
			c.change(step)
			e := explainedBy(t, step, divergence.Default)
			var got [3]string
			for i, pod := range e.Output().Pods {
				got[i] = pod.Action + " " + pod.Reason + " " + pod.BlockedBy
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := textOf(t, e); !strings.Contains(text, c.words) {
				t.Errorf("it does not say %q:\n%s", c.words, text)
			}
			replays(t, step, e)
		})
	}
}

func textOf(t *testing.T, e *Explanation) string {
	t.Helper()
	var text bytes.Buffer
	if err := e.WriteText(&text, Style{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// replays checks that the saved step leads to the same explanation, including all digits.
func replays(t *testing.T, step *snapshotvertical.Step, e *Explanation) {
	t.Helper()
	var file, before, after bytes.Buffer
	if err := snapshotvertical.Encode(&file, step); err != nil {
		t.Fatal(err)
	}
	saved, err := snapshot.NewReaderOf[*snapshotvertical.Step](&file, snapshotvertical.Format()).Next()
	if err != nil {
		t.Fatal(err)
	}
	again := explainedBy(t, saved, divergence.Default)
	if err := e.WriteJSON(&before); err != nil {
		t.Fatal(err)
	}
	if err := again.WriteJSON(&after); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() {
		t.Errorf("saved and read again it is another (-before +after):\n%s", cmp.Diff(before.String(), after.String()))
	}
	if diff := cmp.Diff(textOf(t, e), textOf(t, again)); diff != "" {
		t.Errorf("saved and read again it is explained differently (-before +after):\n%s", diff)
	}
}

// TestLastPassIsExplained: the explanation has the result of the updater's last pass, and the time of the next one.
func TestLastPassIsExplained(t *testing.T) {
	step := poor()
	step.Snapshot.Updater = updater()
	step.Snapshot.Updater.Pods = []snapshotvertical.PodVerdict{
		{Name: "web-1", UID: "web-1", Action: "evict", Reason: "OutsideRange"},
		{Name: "web-2", UID: "web-2", Action: "nothing", Reason: "OutsideRange", BlockedBy: "PodDisruptionBudget"},
		{Name: "web-3", UID: "web-3", Action: "nothing", Reason: "OutsideRange", BlockedBy: "SomethingNew"},
	}
	e := explainedBy(t, step, divergence.Default)
	text := textOf(t, e)
	for _, want := range []string{
		"last pass, at 11:59:40: evicted",
		"last pass, at 11:59:40: not updated: a PodDisruptionBudget does not allow an eviction",
		"not updated: SomethingNew",
		"updater        state read from the controller; last pass at 11:59:40, next pass in about 40 s",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	out := e.Output()
	if !out.Updater.KnowsHistory || !out.Updater.NextPass.Equal(noon.Add(40*time.Second)) || out.Pods[1].LastPass == nil ||
		out.Pods[1].LastPass.BlockedBy != "PodDisruptionBudget" {
		t.Errorf("%+v", out)
	}
}

// TestSavedFile: the file of the snapshots' tests leads to the same explanation as when it was saved.
func TestSavedFile(t *testing.T) {
	const file, golden = "../../snapshot/vertical/testdata/web.yaml", "testdata/saved.txt"
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	saved, err := snapshot.NewReaderOf[*snapshotvertical.Step](in, snapshotvertical.Format()).Next()
	if err != nil {
		t.Fatal(err)
	}
	e := explainedBy(t, saved, divergence.Default)
	got := textOf(t, e)
	if *writes {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := json.Marshal(e.Output()); err != nil {
		t.Error(err)
	}
}
