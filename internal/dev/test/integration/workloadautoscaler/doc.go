// Package workloadautoscaler tests which WorkloadAutoscalers the API server accepts, what
// it makes of them, and what it refuses. No controller runs.
package workloadautoscaler
