// Package world joins the objects of a cluster to the workload model of internal/workloadmodel: load is offered to
// Services, the pods that a Service selects share it, and what they use can be read as kubelets report it.
//
// # Load
//
// An annotation on the Service sets the requests per second that it is offered:
//
//	sim.plimsoll.dev/requests-per-second: "50"  # or step:10@0s,100@30s, ramp:..., sine:..., see workloadmodel.ParseShape
//	sim.plimsoll.dev/backlog-limit: "1000"                          # requests that wait while no pod is ready
//
// A load begins when the annotation appears or changes. [World.SetLoad] does the same from a program. The last
// one wins: a change of the annotation replaces a SetLoad and the other way round. The ready pods are those that an
// EndpointSlice would list as ready: selected, Ready, not terminating. A pod serves one Service: the first by name
// of those that have a load and select it.
//
// # Pods
//
// Annotations on the pods, usually from the template, set how they behave. All are optional:
//
//	sim.plimsoll.dev/cpu-per-request     "10m"    CPU seconds of one request: 10m = 10 milli-core-seconds
//	sim.plimsoll.dev/idle-cpu            "1m"     used at all times
//	sim.plimsoll.dev/startup-cpu         "0"      used on top while the pod starts
//	sim.plimsoll.dev/startup-duration    "10s"    how long that is
//	sim.plimsoll.dev/memory-base         "32Mi"   working set without load
//	sim.plimsoll.dev/memory-per-request  "64Ki"   for each request that waits or was served within the last second
//	sim.plimsoll.dev/io-latency          "5ms"    part of a request's time that needs no CPU
//	sim.plimsoll.dev/queue-limit         "200"    requests that wait in a pod before further ones are dropped
//	sim.plimsoll.dev/imbalance           "0"      0 to below 1: how unevenly the load falls on pods
//	sim.plimsoll.dev/noise               "0"      0 to below 1: how much the cost of requests varies
//	sim.plimsoll.dev/container-shares    ""       "app=90,proxy=10": how the pod's use is split over its containers
//	sim.plimsoll.dev/metrics             "false"  "true": an address of its own, where it serves /metrics
//
// A bad value gives a Warning event on the object, which names the annotation, and the default is used.
//
// Without container-shares the containers share in proportion to their CPU requests, evenly if one of them has none.
// Shares are fixed when a pod starts, so that each container's counter only grows. A container's CPU limit applies to
// its share, so that the tightest of them bounds the pod.
//
// # Time
//
// The model moves in real time, in ticks; only the Run loop reads the clock. All that is read between two ticks is
// of the last one and carries its time.
package world
