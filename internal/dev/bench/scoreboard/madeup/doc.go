// Package madeup makes loads of three weeks, a value each minute, from a seed: those in which nothing recurs, so that a
// forecast can only waste, and those in which something recurs and then changes.
package madeup
