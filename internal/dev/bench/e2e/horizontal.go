package e2e

import (
	"context"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/deployed"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

// horizontal is Plimsoll's loop for HPAs or kube-controller-manager's.
type horizontal struct{}

// heavy are parts of the names of tests whose pods use more CPU than those of others, and how many tests they count
// for: the 10 to 12 pods of this one use up to 1.4 cores, all the time.
var heavy = map[string]int{"with small scale-up, large scale-down tolerances": 3}

// labelled is the label of the tests of horizontal pod autoscaling.
const labelled = "[Feature:HPA]"

// elsewhere has the reason why each other test is not run.
var elsewhere = map[string]string{
	"[Feature:KubeDNSAutoscaler]": "about cluster-proportional-autoscaler, which counts nodes: no HPA",
}

func horizontalSpec(fullName string) Spec {
	spec := Spec{FullName: fullName, Name: withoutLabels(fullName)}
	spec.Name = strings.TrimPrefix(spec.Name, "Horizontal pod autoscaling ")
	for part, share := range heavy {
		if strings.Contains(spec.Name, part) {
			spec.share = share
		}
	}
	if strings.Contains(fullName, labelled) {
		return spec
	}
	spec.NotRun = "no test of HPAs"
	for label, why := range elsewhere {
		if strings.Contains(fullName, label) {
			spec.NotRun = why
		}
	}
	return spec
}

func (horizontal) prepare(context.Context, *stage) error { return nil }

// begin leaves all settings at their defaults. Upstream reads metrics-server, as its manifests run it; Plimsoll reads
// the kubelet.
func (horizontal) begin(ctx context.Context, s *stage, subject Subject, _ string) error {
	if subject == Plimsoll {
		return deployed.Start(ctx, s.cluster, []string{deployed.Acts})
	}
	if err := s.startMetricsServer(ctx); err != nil {
		return err
	}
	return s.cluster.RestartControllerManager(ctx, "--controllers=*")
}

func (horizontal) end(ctx context.Context, s *stage, subject Subject) error {
	if subject == Plimsoll {
		return deployed.Stop(ctx, s.cluster.Client())
	}
	if err := s.cluster.StopMetricsServer(ctx); err != nil {
		return err
	}
	return s.cluster.RestartControllerManager(ctx)
}

// startMetricsServer runs metrics-server as its manifests do.
func (s *stage) startMetricsServer(ctx context.Context) error {
	return s.cluster.RestartMetricsServer(ctx, devcluster.MetricsServerConfig{
		Resolution: 15 * time.Second, RequestTimeout: 10 * time.Second,
	})
}
