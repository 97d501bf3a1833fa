package demo

import (
	"cmp"
	"fmt"
	"net"
)

// Explain is the command that explains the replica count of an autoscaler of the demo, to be run beside the demo.
type Explain struct {
	// Program is Plimsoll's, Kubeconfig an administrator's.
	Program, Kubeconfig string
	// Namespace and Workload are those of the demo's first workload if they are empty.
	Namespace, Workload string
	Kind                Kind
	// Inspection is the address where the controller serves its history. Only its port is passed: the
	// controller runs beside the cluster, so the Lease names this machine.
	Inspection string
}

// Line is the command as a line for a shell.
func (e Explain) Line() (string, error) {
	_, port, err := net.SplitHostPort(e.Inspection)
	if err != nil {
		return "", fmt.Errorf("the controller's inspection address: %w", err)
	}
	return fmt.Sprintf("KUBECONFIG=%s %s explain %s/%s -n %s --controller-port=%s",
		e.Kubeconfig, e.Program, e.Kind, cmp.Or(e.Workload, demoWorkload), cmp.Or(e.Namespace, demoNamespace), port), nil
}
