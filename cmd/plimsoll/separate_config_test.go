package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/controller"
)

// TestSeparateAccounts: with config/separate each process has the rights of what it runs. The updater alone may change
// pods, the recommender alone may write checkpoints and read kubelets for VPAs, and the controller has no right of the
// vertical side.
func TestSeparateAccounts(t *testing.T) {
	objects := rendered(t, filepath.Join(configDir, "separate"))
	rights := granted(t, objects)
	whole := granted(t, installed(t))
	if slices.ContainsFunc(rights["plimsoll-controller"], isVertical) {
		t.Errorf("the controller may %q", rights["plimsoll-controller"])
	}
	const kubeletToken = "plimsoll-system: serviceaccounts/token create"
	for account, want := range map[string]struct{ has, hasNot []string }{
		"plimsoll-recommender": {
			[]string{"autoscaling.k8s.io verticalpodautoscalercheckpoints list create patch delete", kubeletToken},
			[]string{" pods patch", " pods/eviction create", " pods/resize patch"},
		},
		"plimsoll-updater": {
			[]string{" pods patch", " pods/eviction create", " pods/resize patch",
				"plimsoll-system:coordination.k8s.io leases get"},
			[]string{"autoscaling.k8s.io verticalpodautoscalercheckpoints list create patch delete", kubeletToken,
				"custom.metrics.k8s.io * get list"},
		},
	} {
		has := rights[account]
		for _, right := range want.has {
			if !slices.Contains(has, right) {
				t.Errorf("%s may not %q", account, right)
			}
		}
		for _, right := range has {
			isOwn := strings.Contains(right, " leases ") // of a name of its own
			if slices.Contains(want.hasNot, right) || !isOwn && !slices.Contains(whole["plimsoll-controller"], right) {
				t.Errorf("%s may %q", account, right)
			}
		}
	}
}

// TestSeparateProcesses: each runs one component, as an account of its own, and may have the Lease that it asks for.
func TestSeparateProcesses(t *testing.T) {
	objects := rendered(t, filepath.Join(configDir, "separate"))
	leases := map[string][]string{}
	for _, object := range objects {
		if role, ok := object.(*rbacv1.Role); ok {
			for _, rule := range role.Rules {
				if slices.Contains(rule.Resources, "leases") && slices.Contains(rule.Verbs, "update") {
					leases[strings.TrimSuffix(role.Name, "-process")] = rule.ResourceNames
				}
			}
		}
	}
	got := map[string][]string{}
	for _, object := range objects {
		deployment, ok := object.(*appsv1.Deployment)
		if !ok || deployment.Name == "plimsoll-admission-controller" {
			continue
		}
		pod := deployment.Spec.Template.Spec
		flags, fs := &controller.Flags{}, pflag.NewFlagSet("controller", pflag.ContinueOnError)
		flags.Add(fs)
		if err := fs.Parse(pod.Containers[0].Args[1:]); err != nil {
			t.Fatal(err)
		}
		if err := flags.Validate(); err != nil {
			t.Error(err)
		}
		cfg := flags.Config()
		got[deployment.Name] = cfg.Components
		if lease := cfg.LeaderElection.ResourceName; pod.ServiceAccountName != deployment.Name ||
			!slices.Contains(leases[pod.ServiceAccountName], lease) {
			t.Errorf("%s runs as %s with the Lease %s", deployment.Name, pod.ServiceAccountName, lease)
		}
	}
	for name, component := range map[string]string{
		"plimsoll-controller": "horizontal", "plimsoll-recommender": "recommender", "plimsoll-updater": "updater",
	} {
		if !slices.Equal(got[name], []string{component}) {
			t.Errorf("%s runs %q", name, got[name])
		}
	}
}
