// Package migrate tests plimsoll migrate on a cluster where kube-controller-manager's own HPA loop is on: the program
// as a process, as users run it, beside Plimsoll's controller.
//
// The tests check the sequence of a workload's counts and their writers, and no durations. They run beside each other
// on one cluster, and may take several times as long on a busy machine.
package migrate
