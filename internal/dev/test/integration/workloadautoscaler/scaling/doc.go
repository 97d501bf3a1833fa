// Package scaling tests what WorkloadAutoscalers do on a cluster where
// kube-controller-manager's own HPA loop is on, to which Plimsoll leaves the HPAs by itself.
package scaling
