// Package podendpoint reads metrics from the pods' own HTTP endpoints: it scrapes them all the
// time, and answers decisions from what it read.
//
// [Source.Set] says which metrics of an object are read, [Source.Follow] of which pods. Pods
// are scraped at their own addresses alone, all of an object's up to a budget, beyond it a
// sample of them (package sample). The metrics of one object that are on the same page are read
// with one request.
//
// Missing is never zero. A pod whose page cannot be read, or lacks the metric, has no sample, and
// counts as one whose metrics are missing. A pod that is not in the sample has an empty sample
// that is marked as such. Latest reports an error if no pod that is ready can be read.
package podendpoint
