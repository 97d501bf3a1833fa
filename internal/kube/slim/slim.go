// Package slim leaves out of cached objects what no decision looks at. A cluster
// has many more pods than Plimsoll has questions about them.
package slim

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transform is an informer's transform. Other types than pods, nodes and the
// apps/v1 targets stay whole.
func Transform(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		return pod(o), nil
	case *corev1.Node:
		return &corev1.Node{
			ObjectMeta: objectMeta(&o.ObjectMeta),
			Status:     corev1.NodeStatus{Addresses: o.Status.Addresses, DaemonEndpoints: o.Status.DaemonEndpoints},
		}, nil
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
			Status:     appsv1.ReplicaSetStatus{Replicas: o.Status.Replicas},
		}, nil
	}
	return object, nil
}

func objectMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              m.Name,
		Namespace:         m.Namespace,
		UID:               m.UID,
		ResourceVersion:   m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp,
		DeletionTimestamp: m.DeletionTimestamp,
	}
}

func pod(p *corev1.Pod) *corev1.Pod {
	slim := &corev1.Pod{
		ObjectMeta: objectMeta(&p.ObjectMeta),
		Spec: corev1.PodSpec{
			Containers:     containers(p.Spec.Containers),
			InitContainers: containers(p.Spec.InitContainers),
			Resources:      p.Spec.Resources,
			NodeName:       p.Spec.NodeName,
		},
		Status: corev1.PodStatus{Phase: p.Status.Phase, StartTime: p.Status.StartTime},
	}
	slim.Labels = p.Labels
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodReady {
			slim.Status.Conditions = []corev1.PodCondition{p.Status.Conditions[i]}
		}
	}
	return slim
}

func containers(all []corev1.Container) []corev1.Container {
	slim := make([]corev1.Container, len(all))
	for i := range all {
		c := &all[i]
		slim[i] = corev1.Container{
			Name:          c.Name,
			RestartPolicy: c.RestartPolicy,
			Resources:     corev1.ResourceRequirements{Requests: c.Resources.Requests, Limits: c.Resources.Limits},
		}
	}
	return slim
}
