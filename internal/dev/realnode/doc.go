// Package realnode adds a real node to a control plane of internal/dev/devcluster: containerd, runc and a kubelet
// on this machine, with a network of its own. Containers really run there, use CPU and memory, and are really
// killed. It needs root and some Debian packages; Check names what is missing. Everything that it creates is in one
// folder, one bridge and one cgroup, or is recorded in that folder. So Stop, and the next Start after a run that
// was killed, leave nothing behind. A machine can have one such node at a time.
//
// It is not part of what is shipped, nor of the demo and of make test: building the kubelet takes minutes.
package realnode
