package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/controller"
)

const configDir = "../../config"

// installed are the objects that kubectl apply -k config/ would make, without those of kinds of others.
func installed(t *testing.T) []runtime.Object { t.Helper(); return rendered(t, configDir) }

// rendered are the objects that kubectl apply -k of the directory would make.
func rendered(t *testing.T, dir string) []runtime.Object {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var objects []runtime.Object
	for _, resource := range resources.Resources() {
		content, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(content, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			continue // a CustomResourceDefinition
		}
		if err != nil {
			t.Fatalf("%s: %v", resource.CurId(), err)
		}
		objects = append(objects, object)
	}
	return objects
}

// The permissions are those that the code uses, one for one: what is missing
// fails at run time, what is too much is a gift to whoever takes the program
// over.
func TestClusterRoleIsWhatTheCodeUses(t *testing.T) {
	used := []string{
		"autoscaling horizontalpodautoscalers get list watch",
		"autoscaling horizontalpodautoscalers/status update",
		"plimsoll.dev workloadautoscalers get list watch", "plimsoll.dev workloadautoscalers/status update",
		"plimsoll.dev autoscalercheckpoints get list create update delete",
		"* */scale get update",
		" pods list watch",
		"apps deployments list watch", "apps replicasets list watch", "apps statefulsets list watch",
		"metrics.k8s.io pods list",
		" nodes list watch",
		"custom.metrics.k8s.io * get list", "external.metrics.k8s.io * get list",
		" events create patch",
	}
	granted := grants(configured[*rbacv1.ClusterRole](t, "plimsoll-controller").Rules)
	slices.Sort(used)
	if !slices.Equal(granted, used) {
		t.Errorf("granted\n%s\nused\n%s", strings.Join(granted, "\n"), strings.Join(used, "\n"))
	}
	beside := []string{" serviceaccounts/token create", "coordination.k8s.io leases create",
		"coordination.k8s.io leases get update"}
	if granted := grants(configured[*rbacv1.Role](t, "plimsoll-controller").Rules); !slices.Equal(granted, beside) {
		t.Errorf("in its own namespace granted %q, used %q", granted, beside)
	}
}

// The recommender's rights are those that it uses, in a role of their own.
func TestRecommenderRoleIsWhatTheCodeUses(t *testing.T) {
	used := []string{
		"autoscaling.k8s.io verticalpodautoscalers get list watch", "autoscaling.k8s.io verticalpodautoscalers/status patch",
		"autoscaling.k8s.io verticalpodautoscalercheckpoints list create patch delete",
		"autoscaling horizontalpodautoscalers list watch", "plimsoll.dev workloadautoscalers list watch",
		"* */scale get",
		"apps deployments list watch", "apps replicasets list watch", "apps statefulsets list watch",
		"apps daemonsets list watch",
		"batch jobs list watch", "batch cronjobs list watch", " replicationcontrollers list watch",
		" pods list watch", " nodes list watch", "metrics.k8s.io pods list", " events list watch create patch",
	}
	slices.Sort(used)
	for _, object := range installed(t) {
		if role, ok := object.(*rbacv1.ClusterRole); ok && role.Name == "plimsoll-recommender" {
			if granted := grants(role.Rules); !slices.Equal(granted, used) {
				t.Errorf("granted\n%s\nused\n%s", strings.Join(granted, "\n"), strings.Join(used, "\n"))
			}
			return
		}
	}
	t.Error("config has no role for the recommender")
}

// Whoever runs explain needs what it reads, and nothing that writes but the way to the leader's pod.
func TestExplainRolesAreWhatTheCodeUses(t *testing.T) {
	used := map[string][]string{
		"ClusterRole": {
			"autoscaling horizontalpodautoscalers get list", "autoscaling.k8s.io verticalpodautoscalers get list",
			"autoscaling.k8s.io verticalpodautoscalercheckpoints list", "* */scale get", "apps daemonsets get", "batch jobs get",
			"apps replicasets list",
			" pods list", " events list", " limitranges list", " resourcequotas list", "policy poddisruptionbudgets list",
			"metrics.k8s.io pods list",
			"custom.metrics.k8s.io * get list", "external.metrics.k8s.io * get list",
			"plimsoll.dev workloadautoscalers get list", "plimsoll.dev autoscalercheckpoints get",
			"apps deployments get", "apps statefulsets get", "apps replicasets get",
		},
		"Role": {"coordination.k8s.io leases get", " pods/portforward create"},
	}
	granted := map[string][]string{}
	for _, object := range installed(t) {
		switch role := object.(type) {
		case *rbacv1.ClusterRole:
			if role.Name == "plimsoll-explain" {
				granted["ClusterRole"] = grants(role.Rules)
			}
		case *rbacv1.Role:
			if role.Name == "plimsoll-explain" {
				granted["Role"] = grants(role.Rules)
			}
		case *rbacv1.ClusterRoleBinding:
			if role.RoleRef.Name == "plimsoll-explain" {
				t.Error("a subject is bound to it in all namespaces")
			}
		}
	}
	for kind, want := range used {
		slices.Sort(want)
		if !slices.Equal(granted[kind], want) {
			t.Errorf("%s: granted\n%s\nused\n%s", kind, strings.Join(granted[kind], "\n"), strings.Join(want, "\n"))
		}
	}
}

func grants(rules []rbacv1.PolicyRule) []string {
	var granted []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				granted = append(granted, group+" "+resource+" "+strings.Join(rule.Verbs, " "))
			}
		}
	}
	slices.Sort(granted)
	return granted
}

func TestDeploymentIsRestricted(t *testing.T) {
	if got := configured[*corev1.Namespace](t,
		"plimsoll-system").Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
		t.Errorf("the namespace enforces %q", got)
	}
	pod := configured[*appsv1.Deployment](t, "plimsoll-controller").Spec.Template.Spec
	container := pod.Containers[0]
	security := container.SecurityContext
	checks := map[string]bool{
		"runs as no root":        *pod.SecurityContext.RunAsNonRoot && *pod.SecurityContext.RunAsUser != 0,
		"has a seccomp profile":  pod.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"cannot gain privileges": !*security.AllowPrivilegeEscalation,
		"cannot write its files": *security.ReadOnlyRootFilesystem,
		"has no capability":      slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}),
		"has requests": !container.Resources.Requests.Cpu().IsZero() &&
			!container.Resources.Requests.Memory().IsZero(),
		"has a memory limit":      !container.Resources.Limits.Memory().IsZero(),
		"is probed":               container.LivenessProbe != nil && container.ReadinessProbe != nil,
		"has the image":           container.Image == "ghcr.io/plimsoll-dev/plimsoll:dev",
		"has its service account": pod.ServiceAccountName == "plimsoll-controller",
	}
	for what, holds := range checks {
		if !holds {
			t.Errorf("it does not hold that the pod %s", what)
		}
	}
}

// The Deployment's arguments are flags that the program takes.
func TestDeploymentArgumentsParse(t *testing.T) {
	args := configured[*appsv1.Deployment](t, "plimsoll-controller").Spec.Template.Spec.Containers[0].Args
	flags := &controller.Flags{}
	set := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	flags.Add(set)
	if args[0] != "controller" {
		t.Fatalf("arguments %q", args)
	}
	if err := set.Parse(args[1:]); err != nil {
		t.Fatal(err)
	}
	if err := flags.Validate(); err != nil {
		t.Error(err)
	}
}

// Names and defaults as in kube-controller-manager v1.37.
func TestFlagsAreUpstreams(t *testing.T) {
	flags := &controller.Flags{}
	set := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	flags.Add(set)
	for name, value := range map[string]string{
		"concurrent-horizontal-pod-autoscaler-syncs":          "5",
		"horizontal-pod-autoscaler-sync-period":               "15s",
		"horizontal-pod-autoscaler-downscale-stabilization":   "5m0s",
		"horizontal-pod-autoscaler-tolerance":                 "0.1",
		"horizontal-pod-autoscaler-cpu-initialization-period": "5m0s",
		"horizontal-pod-autoscaler-initial-readiness-delay":   "30s",
		"leader-elect":                "true",
		"leader-elect-lease-duration": "15s",
		"leader-elect-renew-deadline": "10s",
		"leader-elect-retry-period":   "2s",
		"leader-elect-resource-lock":  "leases",
	} {
		if flag := set.Lookup(name); flag == nil || flag.DefValue != value {
			t.Errorf("--%s: %v, want the default %s", name, flag, value)
		}
	}
}

func TestBadFlagsAreNamed(t *testing.T) {
	for _, arg := range []string{
		"--concurrent-horizontal-pod-autoscaler-syncs=0", "--horizontal-pod-autoscaler-sync-period=0s",
		"--horizontal-pod-autoscaler-tolerance=-1", "--horizontal-pod-autoscaler-tolerance=NaN",
		"--divergences=nonsense", "--logging-format=xml", "--concurrent-metrics-api-requests=0", "--kube-api-qps=-1",
		"--leader-elect-resource-lock=endpoints",
		"--leader-elect-lease-duration=5s", "--horizontal-pod-autoscaler-downscale-stabilization=-1s", "--v=-1",
		"--horizontal-pod-autoscaler-takeover-delay=0s", "--pprof-bind-address=:6060", "--pprof-bind-address=0.0.0.0:6060",
	} {
		flags := &controller.Flags{}
		set := pflag.NewFlagSet("controller", pflag.ContinueOnError)
		flags.Add(set)
		if err := set.Parse([]string{arg}); err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(arg, "=")
		if err := flags.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
