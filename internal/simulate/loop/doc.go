// Package loop plays the two controllers under virtual time: upstream's, which looks
// every 15 s at what metrics-server last knew, and Plimsoll's, which reads kubelets
// each second and decides on each round of readings. What is decided is the core's
// alone: a loop says when, and on what.
//
// [Upstream] is kube-controller-manager's with its defaults as documented: a sync
// period, metrics-server's resolution and how long an answer takes to be there; no
// divergence and no surge window is on in the policy that it is given.
//
// [Plimsoll] is what internal/controller/horizontal does: rounds of scrapes over the
// nodes, a decision once in each round, and decisions because of pods that came or became
// ready. When that is, and what is scraped early, is internal/decide/horizontal/trigger's
// and Decision.Next's to say, for both.
//
// Where both begin within their periods is chance, made from the seed.
package loop
