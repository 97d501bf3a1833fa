// Package devcluster runs a real Kubernetes control plane on this machine: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, KWOK for nodes and pod lifecycles, metrics-server that scrapes simulated
// kubelets, and the adapters for custom and external metrics. Package build builds the programs from the modules that
// tools/controlplane pins. Start runs them in a temporary folder on free ports, so that several clusters can run at
// once. A watcher process ends every child and removes the folder when this process ends, however it ends.
package devcluster
