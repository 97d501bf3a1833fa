// Package podusage knows what the pods of autoscaled targets use without being
// asked for it: it scrapes the kubelets of their nodes all the time, and answers
// from what they told.
//
// A [Source] scrapes only nodes that it is told of, with the addresses that the
// API server has for them. What it answers is comparable with metrics-server's
// answers: an average over about the last 15 s with the end and the length of what
// was really measured, the newest memory, and nothing of a pod of which a
// container is not known yet. Of a pod that has just become ready the average
// begins with that, as soon as it spans 5 s: a sample that reaches back to before
// is not counted by the decision at all.
//
// What it makes of the samples, and when [Source.Look] fails, is decided by package podload
// (internal/decide/horizontal/podload).
//
// Where direct access may not be granted, Config.Access says whether it is, at
// the start and now and then; without it nothing is scraped.
package podusage
