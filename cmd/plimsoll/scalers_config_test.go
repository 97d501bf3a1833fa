package main

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// ofScalers finds an object of config/scalers.
func ofScalers[T any](t *testing.T, isIt func(T) bool) (found T) {
	t.Helper()
	for _, object := range rendered(t, configDir+"/scalers") {
		if one, ok := object.(T); ok && isIt(one) {
			return one
		}
	}
	t.Fatalf("config/scalers has no such %T", found)
	return found
}

// The libraries of scalers find no token where they look for one. The server of plimsoll-scalers has it elsewhere.
func TestTokenOfScalers(t *testing.T) {
	const usual = "/var/run/secrets/kubernetes.io"
	pod := ofScalers(t, func(*appsv1.Deployment) bool { return true }).Spec.Template.Spec
	account := ofScalers(t, func(*corev1.ServiceAccount) bool { return true })
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken ||
		account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
		t.Error("a token is mounted at the usual path")
	}
	for _, mount := range pod.Containers[0].VolumeMounts {
		if strings.HasPrefix(mount.MountPath, usual) {
			t.Errorf("%s is mounted at %s", mount.Name, mount.MountPath)
		}
	}
	// Without the usual directory KEDA does not know the namespace.
	if !slices.ContainsFunc(pod.Containers[0].Env, func(v corev1.EnvVar) bool {
		return v.Name == "KEDA_CLUSTER_OBJECT_NAMESPACE" && v.ValueFrom.FieldRef.FieldPath == "metadata.namespace"
	}) {
		t.Errorf("environment %v", pod.Containers[0].Env)
	}
}

// The server gets the directory in which it finds a token for the API server.
func TestServerOfScalersHasTheToken(t *testing.T) {
	pod := ofScalers(t, func(*appsv1.Deployment) bool { return true }).Spec.Template.Spec
	container := pod.Containers[0]
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Projected != nil })
	if i < 0 {
		t.Fatal("no token is mounted")
	}
	var paths []string
	for _, source := range pod.Volumes[i].Projected.Sources {
		switch {
		case source.ServiceAccountToken != nil:
			paths = append(paths, source.ServiceAccountToken.Path)
			if source.ServiceAccountToken.Audience != "" {
				t.Error("the token is not for the API server")
			}
		case source.ConfigMap != nil:
			paths = append(paths, source.ConfigMap.Items[0].Path)
		}
	}
	if want := []string{"token", "ca.crt"}; !slices.Equal(paths, want) {
		t.Errorf("files %q, want %q", paths, want)
	}
	for _, mount := range container.VolumeMounts {
		if flag := "--service-account-directory=" + mount.MountPath; mount.Name == pod.Volumes[i].Name &&
			(!slices.Contains(container.Args, flag) || !mount.ReadOnly) {
			t.Errorf("no %s among %q, or not mounted read-only", flag, container.Args)
		}
	}
}

// TestScalersReadOnly: the server passes requests on that read, and its account may do nothing else.
func TestScalersReadOnly(t *testing.T) {
	role := ofScalers(t, func(*rbacv1.ClusterRole) bool { return true })
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("%s on %v", verb, rule.Resources)
			}
		}
	}
}

func TestScalersAreRestricted(t *testing.T) {
	pod := ofScalers(t, func(*appsv1.Deployment) bool { return true }).Spec.Template.Spec
	c := pod.Containers[0].SecurityContext
	switch {
	case !*pod.SecurityContext.RunAsNonRoot || !*c.RunAsNonRoot || *pod.SecurityContext.RunAsUser == 0:
		t.Error("runs as root")
	case *c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem || len(c.Capabilities.Add) > 0:
		t.Error("may escalate")
	case !slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}):
		t.Errorf("drops %v", c.Capabilities.Drop)
	case c.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
		t.Errorf("seccomp profile %s", c.SeccompProfile.Type)
	case pod.HostNetwork || pod.HostPID || pod.HostIPC:
		t.Error("shares what the node has")
	}
}

// Scalers reach no metadata service that the controller refuses to connect to (internal/collect/reach).
func TestScalersReachNoMetadata(t *testing.T) {
	policy := ofScalers(t, func(p *networkingv1.NetworkPolicy) bool {
		return slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	})
	selector := policy.Spec.PodSelector.MatchLabels["app.kubernetes.io/name"]
	if pods := ofScalers(t, func(*appsv1.Deployment) bool { return true }).Spec.Template.Labels; selector == "" ||
		pods["app.kubernetes.io/name"] != selector {
		t.Fatalf("selects %q, not %v", selector, pods)
	}
	for _, text := range []string{
		"169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "fd00:ec2::254",
		"fd00:ec2::23", "fd20:ce::254", "fe80::a9fe:a9fe", "64:ff9b::a9fe:a9fe",
	} {
		address := netip.MustParseAddr(text)
		for _, rule := range policy.Spec.Egress {
			for _, to := range rule.To {
				if to.IPBlock != nil && permits(t, to.IPBlock, address) {
					t.Errorf("%s is open", address)
				}
			}
		}
	}
}

func permits(t *testing.T, block *networkingv1.IPBlock, address netip.Addr) bool {
	t.Helper()
	contains := func(text string) bool {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		return prefix.Contains(address)
	}
	return contains(block.CIDR) && !slices.ContainsFunc(block.Except, contains)
}
