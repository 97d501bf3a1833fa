// Package campaign judges decisions: it plays several hundred generated loads with upstream's controller and with
// Plimsoll's, in virtual time and from seeds, and sums up how well the replica count followed each of them. It lists
// the cases in which Plimsoll is worse, and the contribution of each divergence.
//
// A case is data: a load of each second, an autoscaler, and the behaviour of its pods and nodes. Only scene.go turns a
// case into a simulation.
package campaign
