package migrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// permission is one that plimsoll migrate needs.
type permission struct{ verb, resource string }

func (p permission) String() string { return p.verb + " " + p.resource }

const (
	hpas                = "horizontalpodautoscalers.autoscaling"
	workloadAutoscalers = "workloadautoscalers.plimsoll.dev"
)

// The permissions that docs/from-hpa.md names for --all.
var (
	there = []permission{
		{"get", hpas}, {"list", hpas}, {"delete", hpas}, {"get", workloadAutoscalers}, {"list", workloadAutoscalers},
		{"create", workloadAutoscalers}, {"patch", workloadAutoscalers}, {"delete", workloadAutoscalers},
	}
	backAgain = []permission{
		{"get", hpas}, {"create", hpas}, {"get", workloadAutoscalers}, {"list", workloadAutoscalers},
		{"patch", workloadAutoscalers}, {"delete", workloadAutoscalers},
	}
)

// grant grants these permissions to a user of the namespace, and no others.
func (w *workload) grant(user string, permissions []permission) {
	w.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}}
	for _, p := range permissions {
		resource, group, _ := strings.Cut(p.resource, ".")
		role.Rules = append(role.Rules, rbacv1.PolicyRule{
			Verbs: []string{p.verb}, APIGroups: []string{group}, Resources: []string{resource}})
	}
	w.Create(role, &rbacv1.RoleBinding{ObjectMeta: role.ObjectMeta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}})
}

// For a user without a permission the error names it before anything is written. The documented permissions are
// sufficient.
func TestPermissions(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, 35)
	changes := w.WatchChanges("web")
	refused := func(way string, all []permission, args ...string) {
		t.Helper()
		for i, p := range all {
			user := strings.ReplaceAll(fmt.Sprintf("%s-lacks-%s-%s", way, p.verb, p.resource), ".", "-")
			w.grant(user, slices.Delete(slices.Clone(all), i, i+1))
			_, stderr, err := w.run(append(args, "--as="+user)...)
			message := strings.Join(strings.Fields(strings.NewReplacer(`"`, " ", ",", " ", "in API group autoscaling", "",
				"cannot", "may not").Replace(stderr)), " ")
			resource, _, _ := strings.Cut(p.resource, ".")
			if err == nil || !strings.Contains(message, "may not "+p.verb) || !strings.Contains(message, resource) {
				t.Errorf("without %s: %v: %s", p, err, stderr)
			}
		}
	}
	refused("there", there, "--all", "--apply", "--yes", observe)
	if hpa, o := w.objects("web"); hpa == nil || o != nil {
		t.Fatalf("written: %+v, %+v", hpa, o)
	}
	before := w.HPA("web")
	w.grant("there", there)
	w.must("--all", "--apply", "--yes", observe, "--as=there")
	w.isMigrated("web")
	refused("back", backAgain, "--all", "--apply", "--yes", "--back")
	w.isMigrated("web")
	w.grant("back", backAgain)
	w.must("--all", "--apply", "--yes", "--back", "--as=back")
	w.isBack(before)
	w.HoldsReplicas(patience/2, harness.Deployment, "web", 4)
	w.wantChanges(changes)
}
