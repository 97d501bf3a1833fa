//go:build node

package node

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// role is the name of both roles of config/explain.yaml.
const role = "plimsoll-explain"

// TestExplain: the controller's history comes from a real pod, through the API server and the kubelet, to a user who
// has what config/explain.yaml grants and nothing else.
func TestExplain(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.scaled()
	s.recommend("web", `,"updatePolicy":{"updateMode":"Off"}`)
	lease := rbacv1.PolicyRule{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"},
	}
	forward := rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"create"},
	}

	for name, c := range map[string]struct {
		subject string
		there   []rbacv1.PolicyRule // instead of the role's
		want    string
	}{
		"WithTheRights": {"hpa/web", nil, "history        read from the controller"},
		"WithoutPortForward": {"hpa/web", []rbacv1.PolicyRule{lease},
			"history        unknown: you may not create pods/portforward in namespace " + own},
		"WithoutLease": {"hpa/web", []rbacv1.PolicyRule{forward}, "you may not get leases.coordination.k8s.io in namespace " +
			own},
		"Vertical": {"vpa/web", nil, "requests app"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			kubeconfig := s.person(strings.ToLower(name), c.there)
			s.eventually(patience, c.want, func(ctx context.Context) error {
				out, err := s.explain(ctx, kubeconfig, c.subject)
				if !strings.Contains(out, c.want) {
					return fmt.Errorf("%w: %s", err, out)
				}
				t.Logf("%v\n%s", err, out)
				return nil
			})
		})
	}
}

// TestLeaderEnds: the other replica takes over, decides, and serves the history. It runs before all tests that run in
// parallel.
func TestLeaderEnds(t *testing.T) {
	s := newSpace(t)
	s.scaled()
	kubeconfig := s.person("anyone", nil)
	leader := func(ctx context.Context) (string, error) {
		found, err := stage.cluster.Client().CoordinationV1().Leases(own).Get(ctx, controller, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		name, _, _ := strings.Cut(ptr.Deref(found.Spec.HolderIdentity, ""), "_")
		return name, nil
	}
	was, err := leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.kubectl("delete", "pod", was, "-n", own, "--wait=false")
	s.eventually(patience, "the history of another leader", func(ctx context.Context) error {
		is, err := leader(ctx)
		if err != nil || is == was || is == "" {
			return fmt.Errorf("%q leads, as before: %w", is, err)
		}
		out, err := s.explain(ctx, kubeconfig, "hpa/web")
		if !strings.Contains(out, "history        read from the controller") {
			return fmt.Errorf("%w: %s", err, out)
		}
		t.Logf("%s after %s got SIGTERM, %s explains", time.Since(began).Round(100*time.Millisecond), was, is)
		return nil
	})
	s.kubectl("rollout", "status", "deployment/"+controller, "-n", own, "--timeout=3m")
}

// scaled makes a workload that wants more than the three pods to which it is scaled.
func (s *space) scaled() {
	s.t.Helper()
	s.deploy(workload{
		name: "web", replicas: 1, args: []string{"-cpu-milli=150"},
		requests: map[corev1.ResourceName]string{"cpu": "100m", "memory": "32Mi"},
	})
	s.kubectl("autoscale", "deployment/web", "--cpu=50%", "--min=1", "--max=3")
	s.eventually(patience, "a decision", func(ctx context.Context) error {
		hpa, err := stage.cluster.Client().AutoscalingV2().HorizontalPodAutoscalers(s.namespace).Get(ctx, "web",
			metav1.GetOptions{})
		if err == nil && hpa.Status.DesiredReplicas != 3 {
			err = fmt.Errorf("%+v", hpa.Status)
		}
		return err
	})
}

// person is a kubeconfig of a user with the permissions of config/explain.yaml, or with others in Plimsoll's namespace.
func (s *space) person(name string, there []rbacv1.PolicyRule) (kubeconfig string) {
	s.t.Helper()
	user, rbac := s.namespace+"-"+name, stage.cluster.Client().RbacV1()
	bind := func(namespace, kind, role string) {
		_, err := rbac.RoleBindings(namespace).Create(s.t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}, metav1.CreateOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	bind(s.namespace, "ClusterRole", role)
	if there == nil {
		bind(own, "Role", role)
	} else {
		_, err := rbac.Roles(own).Create(s.t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: there},
			metav1.CreateOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		bind(own, "Role", user)
	}
	kubeconfig, err := stage.cluster.KubeconfigFor(user)
	if err != nil {
		s.t.Fatal(err)
	}
	return kubeconfig
}

// explain returns what the program prints, complaints included.
func (s *space) explain(ctx context.Context, kubeconfig, subject string, more ...string) (string, error) {
	var out bytes.Buffer
	args := append([]string{"explain", subject, "-n", s.namespace, "--kubeconfig=" + kubeconfig, "--verbose"}, more...)
	cmd := exec.CommandContext(ctx, stage.plimsoll, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
