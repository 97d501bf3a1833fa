// Package quick plays a fixed part of the campaign and compares its sums with recorded ones, so that a change that
// makes decisions worse fails a test. It takes half a minute on two cores, without the race detector.
package quick
