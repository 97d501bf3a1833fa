// Package manifest reads what a simulation is about: HorizontalPodAutoscalers of
// autoscaling/v2 and v1, and the workloads that they scale, from YAML or JSON as kubectl
// takes it. Single fields can be set from outside. Unknown fields are errors, as what
// is misspelt would silently be simulated without.
package manifest
