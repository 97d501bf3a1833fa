// Package podendpoint reads metrics from the pods' own HTTP endpoints: it scrapes them continuously, and serves
// decisions from the samples.
//
// [Source.Set] sets the metrics of an object to read, [Source.Follow] the pods: the target's, or others of its
// namespace, whose values [Source.Total] makes one. Pods are scraped only at their own addresses: all of an object's up
// to a budget, beyond it a sample of them (package sample). The metrics of an object that are on the same page are read
// with one request.
//
// Missing is never zero. A pod whose page cannot be read, or lacks the metric, has no sample, and counts as one whose
// metrics are missing. A pod outside the sample has an empty sample that is marked as such. Latest returns an error if
// no ready pod can be read.
package podendpoint
