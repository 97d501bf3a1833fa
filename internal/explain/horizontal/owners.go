package horizontal

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// PodOfOther is a pod that counts for a metric although its controller is not the target's.
type PodOfOther struct {
	Name string `json:"name"`
	// Controller is its kind and name: "Job backup".
	Controller string `json:"controller"`
}

// controller is that of a pod. Pods are grouped by its name: that of a ReplicaSet or a ReplicationController without
// the suffix of its own owner, so that the revisions of a rollout are one group.
type controller struct{ kind, name, revision string }

func controllerOf(pod *corev1.Pod) (by controller, known bool) {
	c := metav1.GetControllerOfNoCopy(pod)
	if c == nil {
		return controller{}, false
	}
	by = controller{kind: c.Kind, name: c.Name}
	if by.kind == "ReplicaSet" || by.kind == "ReplicationController" {
		if at := strings.LastIndexByte(by.name, '-'); at > 0 {
			by.name, by.revision = by.name[:at], by.name[at:]
		}
	}
	return by, true
}

// all returns the controller without the revision.
func (c controller) all() controller { return controller{kind: c.kind, name: c.name} }

// podsOfOthers returns the pods that count for a metric and have another controller than most of the target's pods. If
// the pods' controllers are unknown, or none has most of them, it returns those of controllers that the target cannot
// have.
func (r *Result) podsOfOthers(result *metric.Result) []PodOfOther {
	controllers := map[string]controller{}
	for _, pod := range r.Step.Pods {
		if by, known := controllerOf(pod); known {
			controllers[pod.Name] = by
		}
	}
	own, found := r.ownController(controllers)
	var others []PodOfOther
	for i, group := range result.Groups {
		name := r.Observation.Pods[i].Name
		by, known := controllers[name]
		isOwn := by.all() == own
		if !found {
			isOwn = !known || r.mayControl(by.kind)
		}
		if group != metric.Counted || isOwn {
			continue
		}
		text := "no controller"
		if known {
			text = by.kind + " " + by.name + by.revision
		}
		others = append(others, PodOfOther{Name: name, Controller: text})
	}
	return others
}

// ownController returns the target itself or a ReplicaSet of it, or else the controller of more than half of the pods.
func (r *Result) ownController(of map[string]controller) (own controller, found bool) {
	ref := r.Step.Autoscaler().Target()
	pods := map[controller]int{}
	for i := range r.Observation.Pods {
		by, known := of[r.Observation.Pods[i].Name]
		if !known || !r.mayControl(by.kind) {
			continue
		}
		all := by.all()
		if all.name == ref.Name && (strings.EqualFold(all.kind, ref.Kind) || by.revision != "") {
			return all, true
		}
		if pods[all]++; 2*pods[all] > len(r.Observation.Pods) {
			own, found = all, true
		}
	}
	return own, found
}

// controlling has the kinds of pods' controllers by the kinds of their targets, in lower case.
var controlling = map[string]string{
	"deployment": "ReplicaSet", "statefulset": "StatefulSet", "replicaset": "ReplicaSet",
	"replicationcontroller": "ReplicationController",
}

// mayControl reports whether the pods of the target may have a controller of this kind.
func (r *Result) mayControl(kind string) bool {
	want, known := controlling[strings.ToLower(r.Step.Autoscaler().Target().Kind)]
	return !known || kind == want
}
