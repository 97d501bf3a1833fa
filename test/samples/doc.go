// Package samples feeds the samples of one simulated run to the simulated controller and to what the real one reads
// kubelets and agents with, and compares what both observe.
package samples
