// Package simulate plays a load against manifests under virtual time: with
// upstream's controller, with Plimsoll's, or with both, and with one setting or
// several. What is decided is the decision core's, on policies that internal/observe
// makes of the manifests; this package makes the world around it.
//
// Below it: load (what arrives), world (pods and nodes), meter and loop (who looks at
// what, and when), score (how well it went) and plot.
package simulate
