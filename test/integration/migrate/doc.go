// Package migrate tests plimsoll migrate on a cluster where kube-controller-manager's own HPA loop is on: the program
// as a process, as users run it, beside Plimsoll's controller.
package migrate
