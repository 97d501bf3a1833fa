// Package scale measures autoscalers with thousands of objects: Kubernetes' own with its defaults, the same with its
// limits opened, and Plimsoll, one after the other on the same control plane with the same crowd of workloads at rest.
//
// Upstream decides an object when it asks for its metrics, and the server of the metrics API notes that. Plimsoll asks
// the kubelets, of all objects at once; it decides an object when its log says so, for which it writes a line about
// each decision: a few microseconds that its CPU includes. Where it is told to use the metrics API, both can be
// compared. How old the numbers are that a decision stands on is how old the newest sample is that was answered before.
// CPU, memory and the count of decisions are what each process says of itself, in series of the same names; requests
// are what the API server counted, less what it counts while no autoscaler runs.
//
// The control plane is real (etcd, kube-apiserver, kube-controller-manager for service accounts); nodes, pods and their
// metrics are made up, see [population] and [telemetry].
package scale
