// Package recorded has runs on a real node, and decides again from them: what a kubelet answered is played through the
// same steps as in a simulation, and must lead to the decisions that Plimsoll made in that run.
//
// testdata/samples.csv has the samples in the order of their arrival, snapshots.yaml.gz a snapshot of each decision,
// which `plimsoll evaluate` reads when it is unpacked, and decisions.csv the replica counts. make record-node records
// all of them anew.
package recorded
