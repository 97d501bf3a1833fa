// Package manifest reads the input of a simulation: HorizontalPodAutoscalers of
// autoscaling/v2 and v1, WorkloadAutoscalers, and the workloads that they scale, from YAML or JSON as
// kubectl accepts it. Single fields can be overridden. Unknown fields are errors,
// because a misspelt field would silently be ignored.
package manifest
