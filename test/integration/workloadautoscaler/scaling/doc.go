// Package scaling tests what WorkloadAutoscalers do on a cluster where
// kube-controller-manager's own HPA loop is on and HPAs are left to it.
package scaling
