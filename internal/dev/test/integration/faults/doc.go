// Package faults tests Plimsoll's reaction to bad input on a real API server: missing targets, metrics APIs that are
// down, slow or wrong, writes that are refused, processes that die. Each time the object has a condition with the
// reason, nothing is scaled, and the next good value heals it.
package faults
