// Package e2e runs upstream's own end-to-end tests, unmodified, on a real node, with Plimsoll or upstream's programs
// deciding: Kubernetes' tests of horizontal pod autoscaling, or those of the vertical autoscaler. Beside a control
// plane and a node it starts the rest of a cluster that those tests need: kube-proxy, a name server for Services, and
// the images that the tests' pods run, built from Kubernetes' sources. It needs root; the processes have a network and
// mounts of their own, so that nothing is left behind.
package e2e
