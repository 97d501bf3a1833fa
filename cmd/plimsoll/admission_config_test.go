package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/admission"
)

// configured finds an object of config/ by its type and name.
func configured[T runtime.Object](t *testing.T, name string) T {
	t.Helper()
	for _, object := range installed(t) {
		found, ok := object.(T)
		if !ok {
			continue
		}
		if accessor, err := meta.Accessor(object); err == nil && accessor.GetName() == name {
			return found
		}
	}
	var none T
	t.Fatalf("config has no %T %s", none, name)
	return none
}

// The admission server's rights are those that it uses.
func TestAdmissionRolesAreWhatTheCodeUses(t *testing.T) {
	const name = "plimsoll-admission-controller"
	used := []string{
		"autoscaling.k8s.io verticalpodautoscalers get list watch", " limitranges list watch",
		"autoscaling horizontalpodautoscalers list watch", "plimsoll.dev workloadautoscalers list watch",
		"* */scale get",
		"apps deployments list watch", "apps replicasets list watch", "apps statefulsets list watch",
		"apps daemonsets list watch",
		"batch jobs list watch", "batch cronjobs list watch", " replicationcontrollers list watch",
		"admissionregistration.k8s.io mutatingwebhookconfigurations get patch",
	}
	slices.Sort(used)
	if granted := grants(configured[*rbacv1.ClusterRole](t, name).Rules); !slices.Equal(granted, used) {
		t.Errorf("granted\n%s\nused\n%s", strings.Join(granted, "\n"), strings.Join(used, "\n"))
	}
	beside := []string{" secrets create", " secrets get update", "coordination.k8s.io leases create",
		"coordination.k8s.io leases get update"}
	slices.Sort(beside)
	role := configured[*rbacv1.Role](t, name)
	if granted := grants(role.Rules); !slices.Equal(granted, beside) {
		t.Errorf("in its own namespace granted %q, used %q", granted, beside)
	}
	for _, rule := range role.Rules {
		if !slices.Contains(rule.Verbs, "create") && len(rule.ResourceNames) != 1 {
			t.Errorf("%v of any name", rule.Resources)
		}
	}
}

// What config/ runs is what the program takes, in two replicas of which one stays.
func TestAdmissionDeployment(t *testing.T) {
	const name = "plimsoll-admission-controller"
	deployment := configured[*appsv1.Deployment](t, name)
	container := deployment.Spec.Template.Spec.Containers[0]
	flags := &admission.Flags{}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Add(fs)
	if err := fs.Parse(container.Args[1:]); err != nil || container.Args[0] != admission.Command().Name() {
		t.Fatalf("%q: %v", container.Args, err)
	}
	t.Setenv("NAMESPACE", deployment.Namespace)
	if err := flags.Complete(); err != nil {
		t.Fatal(err)
	}
	cfg := flags.Config()
	registration := &cfg.Registration
	service := configured[*corev1.Service](t, registration.Service)
	if registration.TimeoutSeconds != 5 || registration.Fails || service.Namespace != cfg.Namespace {
		t.Errorf("%+v", cfg)
	}
	role := configured[*rbacv1.Role](t, name)
	if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Equal(r.ResourceNames, []string{cfg.Certificates.Secret})
	}) {
		t.Errorf("no right to Secret %s", cfg.Certificates.Secret)
	}
	budget := configured[*policyv1.PodDisruptionBudget](t, name)
	if *deployment.Spec.Replicas != 2 || budget.Spec.MinAvailable.IntValue() != 1 {
		t.Errorf("%d replicas, %s of them stay", *deployment.Spec.Replicas, budget.Spec.MinAvailable)
	}
	for key, value := range service.Spec.Selector {
		if deployment.Spec.Template.Labels[key] != value || budget.Spec.Selector.MatchLabels[key] != value {
			t.Errorf("the Service selects %s=%s", key, value)
		}
	}
}
