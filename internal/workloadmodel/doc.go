// Package workloadmodel is a model of workloads under load: what pods use, serve, queue and drop when requests arrive.
//
// It knows neither Kubernetes nor a clock. The caller moves its virtual time with [Model.Advance], so that the
// same model runs live (the simulated kubelets of the development cluster) and offline (a day in a moment). It is
// deterministic: the same seed, names and calls give the same numbers, whatever order pods were added in.
//
// # The model
//
// It is a fluid model: requests are real numbers that flow, not events. That makes a step cost a few dozen
// operations per pod and no allocation, and the books balance exactly:
//
//	offered = served + queued + dropped
//
// for each workload, at any time and for any step length. In a step of dt seconds:
//
//	offered    = Shape.Requests(t+dt) - Shape.Requests(t)             [requests], so that the step length does not matter
//	arrived_i  = offered * weight_i / sum of weights over ready pods  weight_i = 1 + Imbalance * u_i, u_i in [-1, 1)
//	cost_i     = CPUPerRequest * (1 + Noise * v_i)  [milli-core-seconds], v_i in [-1, 1), drawn every second
//	wanted_i   = idle*dt + start-up + (queue_i + arrived_i) * cost_i, at most limit_i * dt
//	granted_i  = wanted_i, or its part of the node when the node's pods want more than the node has
//	served_i   = what of queue_i + arrived_i fits into granted_i after idle and start-up work
//	queue_i    = the rest, at most QueueLimit; what is above is dropped
//
// While no pod is ready, requests wait in the workload's backlog (as in a message queue, or an activator that
// holds them for a workload at zero), at most BacklogLimit; the rest is dropped.
//
// A contended node gives each pod what it wants up to its request first, then shares what is left in proportion
// to what is still wanted: the work-conserving behaviour of cgroup cpu weights, without their iteration.
//
// Start-up work is StartupCPU * Startup milli-core-seconds, done at no more than the StartupCPU rate; a pod whose
// limit is lower takes longer to start, as with a just-in-time compiler under CFS quota. It goes before requests.
//
// Latency is an estimate:
//
//	latency = IOLatency + s / (1 - rho) + queue / mu
//
// with s the CPU time of one request at the speed that it can have (one core at most: a request is one thread), mu
// the requests per second that the pod can do, and rho = served/(mu*dt), at most 0.95. The middle term is the
// sojourn time of an M/M/1 queue, s/(1-rho) (Kleinrock, Queueing Systems I, 3.2), and stands for the randomness that
// a fluid does not have; the last one is the time that the present queue takes to drain (Little's law).
//
// Memory = MemoryBase + MemoryPerRequest * (queue + served rate * MemoryHold), at most the memory limit: a request
// holds memory while it waits and for MemoryHold after that, until a garbage collector returns it. With the default of
// one second the second part is bytes per (request per second). Nothing is killed for memory.
//
// # Units
//
// CPU rates are milli-cores, CPU work is milli-core-seconds (one request of 10 keeps one core busy for 10 ms), memory
// is bytes, load is requests per second. All are float64: counters stay exact to a millionth for years.
package workloadmodel
