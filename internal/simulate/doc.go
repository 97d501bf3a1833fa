// Package simulate plays a load against manifests in virtual time: with upstream's
// controller, with Plimsoll's, or with both, and with one setting or several.
// Decisions come from the decision core, on policies that internal/observe makes
// from the manifests. This package models the world around it.
//
// Below it: load (what arrives), world (pods and nodes), meter and loop (which
// samples a loop has, and when it decides), score (how well the replica count
// followed) and plot.
package simulate
