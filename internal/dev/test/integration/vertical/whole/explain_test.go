package whole

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	explainvertical "github.com/plimsoll-dev/plimsoll/internal/explain/vertical"
)

// explained is a case of an object whose pods the updater changes, or does not.
type explained struct {
	name, mode string
	replicas   int32
	// least is a PodDisruptionBudget's minAvailable, if it is not 0.
	least int32
	// policy is more of the object's updatePolicy, as JSON.
	policy string
	// actions and against are how many pods are explained so.
	actions, against map[string]int
	// changed is the number of pods that the updater then changes.
	changed int
}

// fought is a workload with an HPA, foughtByWLA one with a WorkloadAutoscaler.
const fought, foughtByWLA = "fought", "fought-by-wla"

var explanations = []explained{
	{name: "evicted", mode: "Recreate", replicas: 2, actions: map[string]int{"evict": 1},
		against: map[string]int{"DisruptionBudget": 1}, changed: 2},
	{name: "guarded", mode: "Recreate", replicas: 2, least: 2, against: map[string]int{"PodDisruptionBudget": 2}},
	{name: "few", mode: "Recreate", replicas: 1, against: map[string]int{"MinReplicas": 1}},
	{
		name: "required", mode: "Recreate", replicas: 2,
		policy:  `{"evictionRequirements":[{"resources":["cpu","memory"],"changeRequirement":"TargetLowerThanRequests"}]}`,
		against: map[string]int{"EvictionRequirements": 2},
	},
	// All that could be recommended is left alone.
	{name: fought, mode: "Recreate", replicas: 2, against: map[string]int{"NoRecommendation": 2}},
	{name: foughtByWLA, mode: "Recreate", replicas: 2, against: map[string]int{"NoRecommendation": 2}},
	{name: "resized", mode: "InPlaceOrRecreate", replicas: 2, actions: map[string]int{"resize": 1},
		against: map[string]int{"DisruptionBudget": 1}, changed: 2},
	{name: "kept", mode: "Off", replicas: 1, against: map[string]int{"ModeOff": 1}},
}

// TestExplainsWhatComes: before the updater's first pass explain predicts it, pod by pod: the pods that it changes, and
// the reasons for the others. Then the pass does that, explain reports the same of the last pass, and the saved
// snapshot is decided alike.
func TestExplainsWhatComes(t *testing.T) {
	w := &world{Namespace: namespace(t), t: t, before: map[string]map[types.UID]bool{}}
	showAdmission(w)
	for i := range explanations {
		w.arrange(&explanations[i])
	}
	w.start("--updater-interval=1h")
	for i := range explanations {
		if name := explanations[i].name; name != fought && name != foughtByWLA {
			w.awaitRecommendation(explanations[i].name)
		}
	}
	before := map[string]explainvertical.Output{}
	for i := range explanations {
		before[explanations[i].name] = w.checkTold(&explanations[i])
	}
	// Time enough to read all of the first pass before the second one.
	w.restart("--updater-interval=30s")
	w.awaitEviction("evicted")
	for i := range explanations {
		w.checkPass(&explanations[i], before[explanations[i].name])
	}
	w.restart()
	for i := range explanations {
		w.awaitChanged(&explanations[i])
	}
	w.checkSaved("guarded")
	w.checkConflict()
}

// restart runs Plimsoll with other flags beside those of all tests.
func (w *world) restart(more ...string) {
	w.t.Helper()
	installation.plimsoll.Stop(w.t.Context())
	w.run(more...)
}

// awaitEviction waits until a pass has evicted a pod.
func (w *world) awaitEviction(name string) {
	w.t.Helper()
	w.Eventually("an eviction of "+name, func(context.Context) error {
		lines, err := w.LogLines("vpa=" + w.Name + "/" + name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(lines, func(l map[string]string) bool { return l["msg"] == "pod changed" }) {
			return fmt.Errorf("lines %v", lines)
		}
		return nil
	})
}

// workloadAutoscaler divides by both requests of foughtByWLA.
const workloadAutoscaler = `{"apiVersion": "plimsoll.dev/v1alpha1", "kind": "WorkloadAutoscaler",
	"metadata": {"name": "fought-by-wla"}, "spec": {
		"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "fought-by-wla"}, "maxReplicas": 10,
		"metrics": [
			{"name": "cpu", "type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
			{"name": "memory", "type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 90}}}
		]}}`

// checkConflict checks that both objects of foughtByWLA name the conflict.
func (w *world) checkConflict() {
	w.t.Helper()
	for kind, other := range map[string]string{
		"wla": "VerticalPodAutoscaler fought-by-wla", "vpa": "WorkloadAutoscaler fought-by-wla",
	} {
		w.Eventually("a condition of the "+kind, func(context.Context) error {
			message := w.Kubectl("get", kind, foughtByWLA, "-o",
				`jsonpath={.status.conditions[?(@.type=="`+conflict.Condition+`")].message}`)
			if !strings.Contains(message, other) {
				return fmt.Errorf("it says %q", message)
			}
			return nil
		})
	}
}

func (w *world) arrange(x *explained) {
	w.t.Helper()
	w.Create(harness.Workload{Name: x.name, Replicas: &x.replicas}.Deployment())
	if x.least > 0 {
		w.protect(x.name, x.least)
	}
	switch x.name {
	case fought:
		w.Create(harness.Autoscaler(x.name, harness.Resource(corev1.ResourceCPU, harness.Utilization(50)),
			harness.Resource(corev1.ResourceMemory, harness.Utilization(90))))
	case foughtByWLA:
		w.KubectlInput(workloadAutoscaler, "apply", "-f", "-")
	}
	w.autoscaler(x.name, x.mode)
	if x.policy != "" {
		w.Kubectl("patch", "vpa", x.name, "--type=merge", "-p", `{"spec":{"updatePolicy":`+x.policy+`}}`)
	}
	w.Eventually(x.name+"'s pods", func(ctx context.Context) error {
		pods := w.pods(ctx, x.name)
		w.before[x.name] = map[types.UID]bool{}
		for i := range pods {
			w.before[x.name][pods[i].UID] = true
			if !isReady(&pods[i]) {
				return errors.New(pods[i].Name)
			}
		}
		if len(pods) != int(x.replicas) {
			return fmt.Errorf("%d pods", len(pods))
		}
		return nil
	})
}

func (w *world) awaitRecommendation(name string) {
	w.t.Helper()
	w.Eventually("a recommendation for "+name, func(ctx context.Context) error {
		object, err := installation.client.Get(ctx, w.Name, name)
		if err == nil && object.Status.Recommendation == nil {
			err = errors.New("none")
		}
		return err
	})
}

// explain runs the program as the cluster's administrator, who may read the controller's history.
func (w *world) explain(name string, more ...string) (out explainvertical.Output, text string) {
	w.t.Helper()
	args := append([]string{
		"explain", "vpa/" + name, "-n", w.Name, "--kubeconfig=" + w.Cluster.KubeconfigPath(), "-o", "json",
		"--controller-address=" + installation.plimsoll.Inspection(),
	}, more...)
	stdout, stderr, code := installation.plimsoll.Run(w.t, args...)
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 {
		w.t.Fatalf("%s: exit status %d, %v: %s%s", name, code, err, stdout, stderr)
	}
	return out, stdout
}

// checkTold checks the explanation before the pass that it is about.
func (w *world) checkTold(x *explained) explainvertical.Output {
	w.t.Helper()
	out, text := w.explain(x.name)
	actions, against := map[string]int{}, map[string]int{}
	for _, pod := range out.Pods {
		if pod.Action != "nothing" {
			actions[pod.Action]++
		} else {
			against[pod.BlockedBy]++
		}
	}
	if fmt.Sprint(actions) != fmt.Sprint(x.actions) && len(actions)+len(x.actions) > 0 ||
		fmt.Sprint(against) != fmt.Sprint(x.against) {
		w.t.Errorf("%s: actions %v, against %v; want %v and %v: %s", x.name, actions, against, x.actions, x.against, text)
	}
	return out
}

// checkPass waits until the pass has ended, and its result is what was predicted.
func (w *world) checkPass(x *explained, told explainvertical.Output) {
	w.t.Helper()
	if x.mode == "Off" {
		return // no pass includes it
	}
	w.Eventually("the predicted pass over "+x.name, func(context.Context) error {
		out, text := w.explain(x.name)
		if !out.Updater.KnowsHistory || out.Updater.LastPass.Before(told.Time) {
			return errors.New(text)
		}
		for i := range told.Pods {
			if err := agrees(&told.Pods[i], out.Pods); err != nil {
				return fmt.Errorf("%w: %s", err, text)
			}
		}
		return nil
	})
}

func (w *world) awaitChanged(x *explained) {
	w.t.Helper()
	w.Eventually(fmt.Sprint(x.changed, " changed pods of ", x.name), func(ctx context.Context) error {
		n := 0
		for _, pod := range w.pods(ctx, x.name) {
			if hasWanted(&pod) {
				n++
			}
		}
		if n != x.changed {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
}

// agrees compares what was predicted for a pod with the result of the pass. A pod that was evicted is gone.
func agrees(told *explainvertical.Pod, after []explainvertical.Pod) error {
	at := slices.IndexFunc(after, func(p explainvertical.Pod) bool { return p.Name == told.Name })
	switch {
	case told.Action == "evict" && at >= 0:
		return fmt.Errorf("pod %s is still there", told.Name)
	case told.Action == "evict":
		return nil
	case at < 0:
		return fmt.Errorf("pod %s is gone", told.Name)
	case told.Reason == "":
		if after[at].LastPass != nil {
			return fmt.Errorf("pod %s should not be changed, and %+v", told.Name, after[at].LastPass)
		}
		return nil
	case after[at].LastPass == nil:
		return fmt.Errorf("the explanation lacks pod %s", told.Name)
	}
	if was := after[at].LastPass; was.Action != told.Action || was.BlockedBy != told.BlockedBy ||
		was.Reason != told.Reason {
		return fmt.Errorf("for pod %s %s, %s and %s were predicted, and the result is %+v", told.Name, told.Action,
			told.Reason,
			told.BlockedBy, was)
	}
	return nil
}

// checkSaved: evaluate makes of the file what explain made of the cluster, without it.
func (w *world) checkSaved(name string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "saved.yaml")
	_, told := w.explain(name, "--save", file)
	again, stderr, code := installation.plimsoll.Run(w.t, "evaluate", "-f", file, "-o", "json")
	if code != 0 || again != told {
		w.t.Errorf("exit status %d: %s%swant %s", code, again, stderr, told)
	}
}

// TestExplainsRateLimit: pods that a pass does not reach are explained so, before it and after it.
func TestExplainsRateLimit(t *testing.T) {
	w := &world{Namespace: namespace(t), t: t, before: map[string]map[types.UID]bool{}}
	x := explained{name: "slow", mode: "Recreate", replicas: 2, against: map[string]int{"RateLimit": 2}}
	w.arrange(&x)
	// A process that starts has nothing left of the burst.
	w.start("--updater-eviction-rate-limit=0.001", "--updater-eviction-rate-burst=1")
	w.awaitRecommendation(x.name)
	w.awaitReason(x.name, "RateLimit")
	out := w.checkTold(&x)
	for _, pod := range out.Pods {
		if pod.LastPass == nil || pod.LastPass.BlockedBy != "RateLimit" {
			t.Errorf("of pod %s the last pass says %+v", pod.Name, pod.LastPass)
		}
	}
	w.checkSaved(x.name)
}

// checkCircuit: the explanation of the other pods of a workload has what stops their updates, and the troubled ones are
// named.
func (w *world) checkCircuit(name string) {
	w.t.Helper()
	out, text := w.explain(name)
	held := 0
	for _, pod := range out.Pods {
		if pod.BlockedBy == "CircuitOpen" {
			held++
		}
	}
	if !out.Updater.CircuitOpen || len(out.Updater.Troubled) == 0 || held == 0 {
		w.t.Errorf("the circuit of %s is not explained: %s", name, text)
	}
}

// TestExplainsStaleLease: while the Lease is not renewed, no pass is made, and the explanation has that reason for each
// pod.
func TestExplainsStaleLease(t *testing.T) {
	w := &world{Namespace: namespace(t), t: t, before: map[string]map[types.UID]bool{}}
	x := explained{name: "alone", mode: "Recreate", replicas: 2, against: map[string]int{"LeaseStale": 2}}
	w.arrange(&x)
	w.start("--updater-admission-controller-status-lease-name=nobodys")
	w.awaitRecommendation(x.name)
	w.awaitReason(x.name, "LeaseStale")
	w.checkTold(&x)
}
