// Package scale measures autoscalers with thousands of HPAs: Kubernetes' own with its defaults, the same with its
// limits opened, and Plimsoll. They run one after the other on the same control plane with the same idle workloads.
//
// A decision of upstream shows as a request for the HPA's metrics, which the metrics API's server records. Plimsoll
// reads the kubelets for all HPAs at once; its decisions show in its log, one line each: a few microseconds that
// its measured CPU includes. With Plimsoll on the metrics API, both can be compared. The age of a decision's
// samples is that of the newest sample answered before. CPU, memory and the number of decisions come from metrics
// of the same names that each process exposes. Requests are those that the API server counted, less what it counts
// while no autoscaler runs.
//
// The control plane is real (etcd, kube-apiserver, kube-controller-manager for service accounts). Nodes, pods and
// their metrics are simulated, see [population] and [telemetry].
package scale
