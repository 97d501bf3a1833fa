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
// Missing is never zero. A ready pod on a node that cannot be read has no samples in
// the view, and counts as one whose metrics are missing. [Source.Look] refuses to answer
// for a target if more than a tenth of its ready pods are such; the caller then asks
// somebody else, and, if that fails too, may use the view where [View.IsUsable] says
// so. Look refuses, too, if a ready pod is on a node that was read too little
// since its scraping began. A pod that has no
// samples on a node that is read is another matter: its kubelet does not know it
// either. So is one that has just started on a node that was not read before: as
// yet nobody else knows it.
//
// Where direct access may not be granted, Config.Access says whether it is, at
// the start and now and then; without it nothing is scraped.
package podusage
