package cluster

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// The kinds that are watched. For targets of other kinds the number of ready pods is unknown.
const (
	deploymentKind  = "Deployment"
	statefulSetKind = "StatefulSet"
)

// setReady sets the number of ready pods of a target; nil if it is gone.
type setReady func(namespace, name string, ready *int32)

// readyInformer watches a kind in a namespace, or in all. It keeps only an object's name and that count.
func readyInformer(
	kind string, config *rest.Config, namespace string, set setReady,
) (cache.SharedIndexInformer, error) {
	own := rest.CopyConfig(config)
	// There may be as many targets as autoscalers, each with a pod template.
	own.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	own.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	apps := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace)).Apps().V1()
	informer := apps.Deployments().Informer()
	if kind == statefulSetKind {
		informer = apps.StatefulSets().Informer()
	}
	if err := informer.SetTransform(onlyReady); err != nil {
		return nil, fmt.Errorf("informer: %w", err)
	}
	if _, err := informer.AddEventHandler(readyHandler(set)); err != nil {
		return nil, fmt.Errorf("informer: %w", err)
	}
	return informer, nil
}

// onlyReady removes the fields of a target that are not shown.
func onlyReady(object any) (any, error) {
	named := func(m *metav1.ObjectMeta) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		status := appsv1.DeploymentStatus{ReadyReplicas: o.Status.ReadyReplicas}
		return &appsv1.Deployment{ObjectMeta: named(&o.ObjectMeta), Status: status}, nil
	case *appsv1.StatefulSet:
		status := appsv1.StatefulSetStatus{ReadyReplicas: o.Status.ReadyReplicas}
		return &appsv1.StatefulSet{ObjectMeta: named(&o.ObjectMeta), Status: status}, nil
	}
	return object, nil
}

func readyHandler(set setReady) cache.ResourceEventHandler {
	add := func(object any) {
		switch o := object.(type) {
		case *appsv1.Deployment:
			set(o.Namespace, o.Name, &o.Status.ReadyReplicas)
		case *appsv1.StatefulSet:
			set(o.Namespace, o.Name, &o.Status.ReadyReplicas)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: func(object any) {
			if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
				set(key.Namespace, key.Name, nil)
			}
		},
	}
}
