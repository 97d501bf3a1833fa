// Package handover tests Plimsoll beside kube-controller-manager's own HorizontalPodAutoscaler loop: taking over from
// it and giving back, refusing to fight with it, and watching it without writing anything.
package handover
