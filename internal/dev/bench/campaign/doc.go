// Package campaign judges decisions: it plays several hundred generated loads with upstream's controller and with
// Plimsoll's, in virtual time and from seeds, and sums up how well the replica count followed each of them. It lists
// the cases in which Plimsoll is worse, and says what each divergence contributes.
//
// A case is data: a load of each second, an autoscaler, and what its pods and nodes do. scene.go alone turns a case
// into what is simulated.
package campaign
