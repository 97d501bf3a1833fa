package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/nodeagent"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/process/kubelets"
	process "github.com/plimsoll-dev/plimsoll/internal/process/nodeagent"
)

const agentsDir = configDir + "/node-agent"

// ofAgents are the objects of a type that kubectl apply -k config/node-agent would make.
func ofAgents[T any](t *testing.T) []T {
	t.Helper()
	var found []T
	for _, object := range rendered(t, agentsDir) {
		if o, ok := object.(T); ok {
			found = append(found, o)
		}
	}
	return found
}

// TestNodeAgentPod: the agents' pods read cgroups, and can do nothing else.
func TestNodeAgentPod(t *testing.T) {
	daemonSet := ofAgents[*appsv1.DaemonSet](t)[0]
	pod := daemonSet.Spec.Template.Spec
	container := pod.Containers[0]
	if address := agentFlags(t, &container).Address; address != ":8443" || container.Ports[0].ContainerPort != 8443 {
		t.Errorf("it listens at %s", address)
	}
	security := container.SecurityContext
	for name, isTrue := range map[string]bool{
		"runs as no root":           *pod.SecurityContext.RunAsNonRoot && *pod.SecurityContext.RunAsUser != 0,
		"has a seccomp profile":     pod.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"cannot gain privileges":    !*security.AllowPrivilegeEscalation && security.Privileged == nil,
		"cannot write its files":    *security.ReadOnlyRootFilesystem,
		"has no capabilities":       fmt.Sprint(*security.Capabilities) == "{[] [ALL]}",
		"has no API access":         !*pod.AutomountServiceAccountToken,
		"has namespaces of its own": !pod.HostNetwork && !pod.HostPID && !pod.HostIPC,
		"is one container":          len(pod.Containers)+len(pod.InitContainers) == 1,
		"runs on every node":        pod.Tolerations[0].Operator == corev1.TolerationOpExists,
	} {
		if !isTrue {
			t.Errorf("not so: %s", name)
		}
	}
	wantVolumes(t, &pod)
	for _, role := range ofAgents[*rbacv1.RoleBinding](t) {
		if role.Subjects[0].Name == pod.ServiceAccountName {
			t.Errorf("%s has rights", pod.ServiceAccountName)
		}
	}
}

// agentFlags are what the container's arguments mean.
func agentFlags(t *testing.T, container *corev1.Container) *process.Config {
	t.Helper()
	flags := &nodeagent.Flags{}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Add(fs)
	if err := fs.Parse(container.Args[1:]); err != nil || container.Args[0] != nodeagent.Command().Name() {
		t.Fatalf("%q: %v", container.Args, err)
	}
	if err := flags.Complete(); err != nil {
		t.Fatal(err)
	}
	return flags.Config()
}

// wantVolumes wants the node's cgroups and a token for the controller, none of them to write.
func wantVolumes(t *testing.T, pod *corev1.PodSpec) {
	t.Helper()
	for _, mount := range pod.Containers[0].VolumeMounts {
		if !mount.ReadOnly {
			t.Errorf("it may write %s", mount.MountPath)
		}
	}
	hosts := 0
	for i := range pod.Volumes {
		switch volume := &pod.Volumes[i]; {
		case volume.HostPath != nil:
			hosts++
			if volume.HostPath.Path != "/sys/fs/cgroup" {
				t.Errorf("it mounts %s", volume.HostPath.Path)
			}
		case volume.Projected != nil:
			token := volume.Projected.Sources[0].ServiceAccountToken
			if len(volume.Projected.Sources) != 1 || token == nil || token.Audience != selection.Audience {
				t.Errorf("it shows %+v", volume.Projected)
			}
		}
	}
	if hosts != 1 {
		t.Errorf("%d paths of the node are mounted", hosts)
	}
}

// TestNodeAgentRights: the controller gets what the code uses, of the objects that are there, and no more.
func TestNodeAgentRights(t *testing.T) {
	granted := map[string][]string{}
	for _, role := range ofAgents[*rbacv1.Role](t) {
		granted[role.Namespace] = grants(role.Rules)
		if len(role.Rules) != 1 || !slices.Equal(role.Rules[0].ResourceNames, []string{"plimsoll-node-agent-authority"}) {
			t.Errorf("%+v", role.Rules)
		}
	}
	for _, role := range ofAgents[*rbacv1.ClusterRole](t) {
		granted[""] = append(granted[""], grants(role.Rules)...)
	}
	for namespace, want := range map[string]string{
		"plimsoll-system": " secrets get update", "plimsoll-node-agent": " configmaps get update",
		"": "authentication.k8s.io tokenreviews create",
	} {
		if got := granted[namespace]; !slices.Equal(got, []string{want}) {
			t.Errorf("in %q granted %q, used %q", namespace, got, want)
		}
	}
	secret, published := ofAgents[*corev1.Secret](t)[0], ofAgents[*corev1.ConfigMap](t)[0]
	if secret.Namespace+"/"+secret.Name != kubelets.DefaultAuthority || published.Name != "plimsoll-node-agent-authority" ||
		len(secret.Data)+len(secret.StringData)+len(published.Data) > 0 {
		t.Errorf("%s/%s and %s", secret.Namespace, secret.Name, published.Name)
	}
	for _, binding := range ofAgents[*rbacv1.RoleBinding](t) {
		if s := binding.Subjects[0]; s.Namespace+"/"+s.Name != "plimsoll-system/plimsoll-controller" {
			t.Errorf("bound to %+v", s)
		}
	}
}

// TestNodeAgentRecommender: with config/node-agent/recommender the recommender's account gets what the controller has of
// agents, and its pods may connect to them as the controller's may.
func TestNodeAgentRecommender(t *testing.T) {
	bindings := func(objects []runtime.Object) (found []string) {
		for _, object := range objects {
			switch b := object.(type) {
			case *rbacv1.RoleBinding:
				found = append(found, fmt.Sprint(b.Namespace, b.RoleRef, b.Subjects))
			case *rbacv1.ClusterRoleBinding:
				found = append(found, fmt.Sprint(b.RoleRef, b.Subjects))
			}
		}
		slices.Sort(found)
		return found
	}
	policies := func(objects []runtime.Object) (found []networkingv1.NetworkPolicyIngressRule) {
		for _, object := range objects {
			if policy, ok := object.(*networkingv1.NetworkPolicy); ok {
				found = append(found, policy.Spec.Ingress...)
			}
		}
		return found
	}
	ours, theirs := rendered(t, agentsDir), rendered(t, agentsDir+"/recommender")
	want := bindings(ours)
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "plimsoll-controller", "plimsoll-recommender")
	}
	if got := bindings(theirs); !slices.Equal(got, want) || len(got) != 3 || len(theirs) != 4 {
		t.Errorf("%d objects grant %q, want %q", len(theirs), got, want)
	}
	admitted := policies(ours)
	admitted[0].From[0].PodSelector.MatchLabels["app.kubernetes.io/name"] = "plimsoll-recommender"
	if diff := cmp.Diff(admitted, policies(theirs)); diff != "" {
		t.Errorf("who may connect: (-want +got)\n%s", diff)
	}
}

// TestNodeAgentNamespace: the agents' own namespace is the only one that allows more than others, and nothing goes in or
// out but the controller's requests.
func TestNodeAgentNamespace(t *testing.T) {
	for _, namespace := range ofAgents[*corev1.Namespace](t) {
		if namespace.Name != "plimsoll-node-agent" {
			t.Errorf("namespace %s", namespace.Name)
		}
	}
	policy := ofAgents[*networkingv1.NetworkPolicy](t)[0]
	if len(policy.Spec.PolicyTypes) != 2 || len(policy.Spec.Egress) != 0 || len(policy.Spec.Ingress) != 1 ||
		len(policy.Spec.Ingress[0].From) != 1 || strings.Join(openTo(policy), " ") == "" {
		t.Errorf("%+v", policy.Spec)
	}
	for _, object := range installed(t) {
		if _, isDaemonSet := object.(*appsv1.DaemonSet); isDaemonSet {
			t.Error("agents are installed with all else")
		}
	}
}
