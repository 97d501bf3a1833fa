// Package vertical runs upstream's vertical-pod-autoscaler and Plimsoll's
// vertical core on the same random inputs and compares what they decide. It is
// in the oracle's module, so that only it requires k8s.io/autoscaler.
package vertical
