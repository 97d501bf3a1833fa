// Package horizontaltest has a cluster with the horizontal controller in virtual time, for the tests of the controller
// and of its parts: an API server, metrics APIs, kubelets, and the sources of metrics that Plimsoll reads itself.
package horizontaltest
