// Package cgroup reads the usage of single containers of pods from a node's tree of cgroups, of version 1 or 2: CPU
// time, working set, CFS periods and CPU pressure, and nothing else.
//
// A [Tree] finds a container by the UID of its pod and its own ID. It builds the few names that the kubelet and the
// container runtime give to a cgroup from these two, and lists no directory: no name of the tree is ever read, so that
// none can mislead it. UIDs and IDs have only letters, digits and hyphens, and the tree is an [os.Root], which no link
// leads out of. Sandbox containers have an ID of their own, which no pod's status names: a request for the containers
// of a status never returns them.
//
// The names are those of the kubelet's cgroup drivers systemd and cgroupfs (k8s.io/kubernetes v1.37.1,
// pkg/kubelet/cm/cgroup_manager_linux.go), with the scopes of containerd, CRI-O and Docker. The values are those that
// the kubelet reports:
//
//	CPU          v1 cpuacct.usage (nanoseconds); v2 usage_usec of cpu.stat
//	working set  v1 memory.usage_in_bytes - total_inactive_file of memory.stat
//	             v2 memory.current - inactive_file of memory.stat; not below 0
//	periods      nr_periods, nr_throttled, throttled_time or throttled_usec of cpu.stat
//	pressure     v2 total of the line some of cpu.pressure
//
// The formula of the working set is cAdvisor's (github.com/google/cadvisor/lib v0.60.5,
// container/libcontainer/handler.go, setMemoryStats).
package cgroup
