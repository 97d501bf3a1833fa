// Package population creates idle autoscaled workloads: Deployments with their ReplicaSets, running pods and HPAs,
// as many as a benchmark needs, on a control plane without a scheduler, kubelets and workload controllers. Names
// follow from numbers, so that the metrics of a pod are found without a lookup.
package population

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The defaults of a Size.
const (
	DefaultObjectsPerNamespace = 20
	// DefaultPodsPerNode leaves some of the kubelet's 110 to the system.
	DefaultPodsPerNode = 100
)

// Size has the numbers of objects.
type Size struct {
	// Objects is the number of workloads, each with an autoscaler.
	Objects int
	// PodsPer is the number of pods of each.
	PodsPer int
	// ObjectsPerNamespace is the number of workloads in a namespace.
	ObjectsPerNamespace int
	// PodsPerNode is the number of pods on a node.
	PodsPerNode int
}

// Completed is the size with its defaults filled in, if it can be.
func (s Size) Completed() (Size, error) {
	if s.ObjectsPerNamespace == 0 {
		s.ObjectsPerNamespace = DefaultObjectsPerNamespace
	}
	if s.PodsPerNode == 0 {
		s.PodsPerNode = DefaultPodsPerNode
	}
	if s.Objects < 1 || s.PodsPer < 1 || s.ObjectsPerNamespace < 1 || s.PodsPerNode < 1 {
		return s,
			errors.New("there must be at least one object, one pod of each, one object in a namespace and one pod on a node")
	}
	return s, nil
}

// Pods returns the number of pods.
func (s Size) Pods() int { return s.Objects * s.PodsPer }

// Nodes returns the number of nodes.
func (s Size) Nodes() int { return ceil(s.Pods(), s.PodsPerNode) }

// Namespaces returns the number of namespaces.
func (s Size) Namespaces() int { return ceil(s.Objects, s.ObjectsPerNamespace) }

func ceil(a, b int) int { return (a + b - 1) / b }

const (
	namespacePrefix = "shop-"
	objectPrefix    = "web-"
	nodePrefix      = "node-"
	// AppLabel is the one label of a workload's selector.
	AppLabel = "app"
	// Container is the name of each pod's one container.
	Container = "app"
)

// NamespaceName is the name of a namespace by its number.
func NamespaceName(namespace int) string { return namespacePrefix + strconv.Itoa(namespace) }

// NodeName is the name of a node by its number.
func NodeName(node int) string { return nodePrefix + strconv.Itoa(node) }

// ObjectName is the name of a workload and of its autoscaler, and the value of its pods' label.
func ObjectName(object int) string { return objectPrefix + strconv.Itoa(object) }

// PodName is the name of one of a workload's pods.
func PodName(object, pod int) string {
	return ReplicaSetName(object) + "-" + fmt.Sprintf("%05d", pod)
}

// ReplicaSetName is the name of a workload's ReplicaSet.
func ReplicaSetName(object int) string { return ObjectName(object) + "-" + templateHash }

// templateHash stands for the hash of a pod template, of which each workload has had one.
const templateHash = "5d8f7c6b9"

// NamespaceOf is the namespace of an object.
func (s Size) NamespaceOf(object int) string { return NamespaceName(object / s.ObjectsPerNamespace) }

// NodeOf is the node of a pod. A workload's pods are on different nodes, as a scheduler spreads them.
func (s Size) NodeOf(object, pod int) int { return (object*s.PodsPer + pod) % s.Nodes() }

// Find is the object of a namespace with a name.
func (s Size) Find(namespace, name string) (object int, found bool) {
	digits, isObject := strings.CutPrefix(name, objectPrefix)
	if !isObject {
		return 0, false
	}
	object, err := strconv.Atoi(digits)
	if err != nil || object < 0 || object >= s.Objects || ObjectName(object) != name ||
		s.NamespaceOf(object) != namespace {
		return 0, false
	}
	return object, true
}

// Place is a pod by the number of its workload and its own.
type Place struct{ Object, Pod int }

// PodsOn are the pods of a node.
func (s Size) PodsOn(node int) []Place {
	var places []Place
	for n := node; n < s.Pods(); n += s.Nodes() {
		places = append(places, Place{Object: n / s.PodsPer, Pod: n % s.PodsPer})
	}
	return places
}
