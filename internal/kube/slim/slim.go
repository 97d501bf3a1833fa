// Package slim removes unused fields from cached objects. Most of the fields of a cluster's many pods are never read.
package slim

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// Transform is an informer's transform. Its result has the type of its argument, so that listers work. Types other than
// pods, nodes, HorizontalPodAutoscalers and the well-known workloads stay whole. Quantities that are ruinous to compute
// with are bounded: the API server stores them unchanged.
func Transform(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		return Pod(quantity.Pod(o)), nil
	case *corev1.Node:
		return Node(o), nil
	case *autoscalingv2.HorizontalPodAutoscaler:
		return autoscaler(o), nil
	case *appsv1.Deployment:
		return &appsv1.Deployment{
			ObjectMeta: objectMeta(&o.ObjectMeta),
			Spec:       appsv1.DeploymentSpec{Replicas: o.Spec.Replicas, Selector: o.Spec.Selector},
			Status:     appsv1.DeploymentStatus{Replicas: o.Status.Replicas},
		}, nil
	case *appsv1.StatefulSet:
		return &appsv1.StatefulSet{
			ObjectMeta: objectMeta(&o.ObjectMeta),
			Spec:       appsv1.StatefulSetSpec{Replicas: o.Spec.Replicas, Selector: o.Spec.Selector},
			Status:     appsv1.StatefulSetStatus{Replicas: o.Status.Replicas},
		}, nil
	case *appsv1.ReplicaSet:
		return &appsv1.ReplicaSet{
			ObjectMeta: objectMeta(&o.ObjectMeta),
			Spec:       appsv1.ReplicaSetSpec{Replicas: o.Spec.Replicas, Selector: o.Spec.Selector},
			Status:     appsv1.ReplicaSetStatus{Replicas: o.Status.Replicas, Conditions: failures(o.Status.Conditions)},
		}, nil
	}
	return workloadForVertical(object), nil
}

// Node returns the node with the fields that decisions and scrapes read.
func Node(node *corev1.Node) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: objectMeta(&node.ObjectMeta),
		Status: corev1.NodeStatus{
			Addresses: node.Status.Addresses, DaemonEndpoints: node.Status.DaemonEndpoints,
			Allocatable: room(node.Status.Allocatable),
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: node.Status.NodeInfo.KubeletVersion, OperatingSystem: node.Status.NodeInfo.OperatingSystem,
			},
			Conditions: ready(node.Status.Conditions),
		},
	}
}

// autoscaler removes the names of the fields in managedFields. The entries keep the writers of status, and the times.
// API servers take the rest from live objects where status is written.
func autoscaler(hpa *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	slim := *quantity.Horizontal(hpa)
	slim.ManagedFields = slices.Clone(hpa.ManagedFields)
	for i := range slim.ManagedFields {
		slim.ManagedFields[i].FieldsV1 = nil
	}
	return &slim
}

// workloadForVertical slims the workloads that only the vertical side reads.
func workloadForVertical(object any) any {
	switch o := object.(type) {
	case *appsv1.DaemonSet:
		return &appsv1.DaemonSet{
			ObjectMeta: objectMeta(&o.ObjectMeta),
			Spec:       appsv1.DaemonSetSpec{Selector: o.Spec.Selector, UpdateStrategy: o.Spec.UpdateStrategy},
			Status:     appsv1.DaemonSetStatus{DesiredNumberScheduled: o.Status.DesiredNumberScheduled},
		}
	case *batchv1.Job:
		return &batchv1.Job{ObjectMeta: objectMeta(&o.ObjectMeta), Spec: batchv1.JobSpec{Selector: o.Spec.Selector}}
	case *batchv1.CronJob:
		slim := &batchv1.CronJob{ObjectMeta: objectMeta(&o.ObjectMeta)}
		slim.Spec.JobTemplate.Spec.Template.Labels = o.Spec.JobTemplate.Spec.Template.Labels
		return slim
	case *corev1.ReplicationController:
		return &corev1.ReplicationController{
			ObjectMeta: objectMeta(&o.ObjectMeta),
			Spec:       corev1.ReplicationControllerSpec{Replicas: o.Spec.Replicas, Selector: o.Spec.Selector},
			Status:     corev1.ReplicationControllerStatus{Replicas: o.Status.Replicas},
		}
	}
	return object
}

// failures returns the condition that a ReplicaSet's pods cannot be created.
func failures(all []appsv1.ReplicaSetCondition) []appsv1.ReplicaSetCondition {
	for i := range all {
		if c := &all[i]; c.Type == appsv1.ReplicaSetReplicaFailure {
			return []appsv1.ReplicaSetCondition{{Type: c.Type, Status: c.Status, Reason: c.Reason}}
		}
	}
	return nil
}

func ready(all []corev1.NodeCondition) []corev1.NodeCondition {
	for i := range all {
		if c := &all[i]; c.Type == corev1.NodeReady {
			return []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return nil
}

func objectMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              m.Name,
		Namespace:         m.Namespace,
		UID:               m.UID,
		ResourceVersion:   m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp,
		DeletionTimestamp: m.DeletionTimestamp,
		OwnerReferences:   controller(m.OwnerReferences),
	}
}

func controller(references []metav1.OwnerReference) []metav1.OwnerReference {
	for i := range references {
		if r := &references[i]; r.Controller != nil && *r.Controller {
			return []metav1.OwnerReference{{APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: r.UID,
				Controller: r.Controller}}
		}
	}
	return nil
}

// Pod returns the pod with the fields that the vertical side reads. Its quantities stay unchanged.
func Pod(p *corev1.Pod) *corev1.Pod {
	slim := &corev1.Pod{
		ObjectMeta: objectMeta(&p.ObjectMeta),
		Spec: corev1.PodSpec{
			Containers:     containers(p.Spec.Containers),
			InitContainers: containers(p.Spec.InitContainers),
			Resources:      p.Spec.Resources,
			Overhead:       p.Spec.Overhead,
			NodeName:       p.Spec.NodeName,
			Priority:       critical(p.Spec.Priority),
		},
		Status: corev1.PodStatus{Phase: p.Status.Phase, StartTime: p.Status.StartTime, QOSClass: p.Status.QOSClass},
	}
	slim.Labels, slim.Generation = p.Labels, p.Generation
	slim.Annotations = annotations(p.Annotations)
	slim.Status.ContainerStatuses = statuses(p)
	slim.Status.Conditions = conditions(p.Status.Conditions)
	if p.Status.Phase == corev1.PodFailed && p.Status.Reason == Evicted {
		slim.Status.Reason, slim.Status.Message = p.Status.Reason, p.Status.Message // of few pods
	}
	return slim
}

// Evicted is the reason of a failed pod that its kubelet evicted for lack of a resource.
const Evicted = "Evicted"

func containers(all []corev1.Container) []corev1.Container {
	slim := make([]corev1.Container, len(all))
	for i := range all {
		c := &all[i]
		slim[i] = corev1.Container{
			Name:          c.Name,
			RestartPolicy: c.RestartPolicy,
			Resources:     corev1.ResourceRequirements{Requests: c.Resources.Requests, Limits: c.Resources.Limits},
			ResizePolicy:  restarts(c.ResizePolicy),
			Env:           heap(c),
		}
	}
	return slim
}
