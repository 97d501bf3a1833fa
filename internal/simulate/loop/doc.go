// Package loop plays the two controllers in virtual time: upstream's, which decides
// every 15 s on what metrics-server has, and Plimsoll's, which scrapes the kubelets
// every second and decides on each round of scrapes. Decisions are the core's; a
// loop chooses when to decide, and on which samples.
//
// [Upstream] is kube-controller-manager with its documented defaults: a sync
// period, metrics-server's resolution, and the delay until a sample is available.
// Its policy has no divergence and no surge window.
//
// [Plimsoll] does what internal/controller/horizontal does: rounds of scrapes over
// the nodes, one decision per round, and decisions when pods come or become ready.
// For both, internal/decide/horizontal/trigger and Decision.Next say when that is
// and which nodes are scraped early.
//
// The seed determines where both begin within their periods, and how far upstream's syncs drift.
package loop
