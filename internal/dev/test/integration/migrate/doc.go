// Package migrate tests plimsoll migrate on a cluster where kube-controller-manager's own HPA loop is on: the program
// as a process, as users run it, beside Plimsoll's controller.
//
// What counts is which counts a workload has had, in their order, and who set them: not how long that took. The tests
// run beside each other on one cluster, and may take several times as long on a busy machine.
package migrate
