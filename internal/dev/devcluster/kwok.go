package devcluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations on pods that steer their simulated life. Durations are written as Go's, "3s".
const (
	// AnnotationStartupDelay is the time from a pod's start (containers run, not ready) to its readiness.
	AnnotationStartupDelay = "sim.plimsoll.dev/startup-delay"
	// AnnotationReady set to "false" keeps a pod from getting ready, or makes a ready one unready, until it is removed.
	AnnotationReady = "sim.plimsoll.dev/ready"
	// AnnotationCompleteAfter ends a ready pod well after that time: phase Succeeded, as a Job's pods do.
	AnnotationCompleteAfter = "sim.plimsoll.dev/complete-after"
	// AnnotationFailAfter ends a running pod badly after that time: phase Failed.
	AnnotationFailAfter = "sim.plimsoll.dev/fail-after"
	// AnnotationResize sets the outcome of a change of a running pod's resources: "Deferred" or "Infeasible". Without it
	// the pod has them at once, or after AnnotationResizeDelay.
	AnnotationResize = "sim.plimsoll.dev/resize"
	// AnnotationResizeDelay is the time a change of a running pod's resources takes.
	AnnotationResizeDelay = "sim.plimsoll.dev/resize-delay"
	// AnnotationTerminationDelay is the time a deleted pod takes to go.
	AnnotationTerminationDelay = "sim.plimsoll.dev/termination-delay"
)

// nodeLease is the duration of KWOK's leases for nodes; it renews them well before.
const nodeLease = 40 * time.Second

//go:embed stages.yaml
var stages string

// startKWOK runs KWOK over all nodes with the pod stages of stages.yaml.
func (c *components) startKWOK(ctx context.Context) error {
	kubeconfig, err := c.pki.WriteKubeconfig(c.server, "kwok", "system:masters")
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(stages, "$STARTUP_DELAY_MILLISECONDS", fmt.Sprint(c.config.StartupDelay.Milliseconds()))
	path := filepath.Join(c.Dir(), "stages.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("pod stages: %w", err)
	}
	p, err := c.run(partKWOK, "--kubeconfig="+kubeconfig, "--config="+path, "--manage-all-nodes=true",
		"--cidr=10.127.0.0/24", fmt.Sprintf("--node-lease-duration-seconds=%d", int(nodeLease.Seconds())))
	if err != nil {
		return err
	}
	// KWOK plays no pods on a node before it holds the node's lease.
	return p.await(ctx, func(ctx context.Context) error {
		for _, name := range c.nodeNames {
			_, err := c.client.CoordinationV1().Leases("kube-node-lease").Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("lease of node %s: %w", name, err)
			}
		}
		return nil
	})
}
