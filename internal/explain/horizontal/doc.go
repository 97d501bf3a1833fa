// Package horizontal explains a HorizontalPodAutoscaler: why it has its replica count,
// and what comes next, whichever controller decides on it.
package horizontal
