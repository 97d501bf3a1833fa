// Package e2e runs Kubernetes' own end-to-end tests of horizontal pod autoscaling, unmodified, on a real node, with
// Plimsoll or with upstream's loop deciding. It starts what those tests expect of a cluster beside a control plane and
// a node: kube-proxy, a name server for Services, and the images that the tests' pods run, built from Kubernetes'
// sources. It needs root; the processes have a network and mounts of their own, so that nothing is left behind.
package e2e
