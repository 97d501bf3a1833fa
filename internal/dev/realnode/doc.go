// Package realnode adds a real node to a control plane of internal/dev/devcluster: containerd, runc and a kubelet on
// this machine, with a network of its own, so that containers really run, use CPU and memory, and are really killed. It
// needs root and some of Debian's packages; Check names what is missing. Everything that it makes lies in one folder,
// one bridge and one cgroup, or is written down in that folder, so that Stop, and the next Start after a run that was
// killed, leave nothing behind. There is one such node on a machine at a time.
//
// It is never part of what is shipped, nor of the demo and of make test: building the kubelet takes minutes.
package realnode
