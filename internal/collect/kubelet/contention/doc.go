// Package contention computes the CPU throttling and pressure of containers, from the agents of nodes or the kubelets'
// /metrics/cadvisor: usage alone cannot show the CPU that a limit cuts off.
//
// Throttled is the share of CFS periods in which a container's limit stopped it, Pressure the share of time in which
// some of its tasks waited for a CPU (PSI, "some"), both since the last read:
//
//	throttled = Δ container_cpu_cfs_throttled_periods_total / Δ container_cpu_cfs_periods_total
//	pressure  = Δ container_pressure_cpu_waiting_seconds_total / Δ time
//
// Pressure needs cgroup v2 and a kubelet of 1.34 or later. On cgroup v1 the counter exists and stays 0; one that has
// never been above 0 is taken for missing, as missing is never zero.
package contention
