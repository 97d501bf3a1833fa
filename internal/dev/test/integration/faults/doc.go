// Package faults tests what Plimsoll does on a real API server when what it is given is bad: targets that are not
// there, metrics APIs that are down, slow or lying, writes that are refused, processes that die. Each time the object
// says what is wrong, nothing is scaled, and the next good value heals it.
package faults
