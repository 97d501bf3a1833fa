package workloadautoscaler

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// kubectl get shows the columns, by the short name and among all.
func TestColumns(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	objects := clientOf(t, s)
	object, err := objects.Create(t.Context(), web(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object.Status = fullStatus(metav1.Now())
	if _, err := objects.UpdateStatus(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(s.Kubectl("get", "wla")), "\n")
	if len(lines) != 2 {
		t.Fatalf("kubectl get wla:\n%s", strings.Join(lines, "\n"))
	}
	for i, want := range []string{
		"NAME METRICS MIN MAX REPLICAS WANTED WHY AGE", "web cpu: 45%/80% 1 5 2 4 minReplicas of schedule day ",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
		if width := len(lines[i]); width > 120 {
			t.Errorf("line %d is %d columns wide", i, width)
		}
	}
	if wide := strings.Join(strings.Fields(s.Kubectl("get", "wla", "-o", "wide")), " "); !strings.Contains(wide,
		"KIND TARGET MODE READY web ") || !strings.HasSuffix(wide, " Deployment web Active True") {
		t.Errorf("-o wide:\n%s", wide)
	}
	if all := s.Kubectl("get", "all"); !strings.Contains(all, "workloadautoscaler.plimsoll.dev/web") {
		t.Errorf("get all:\n%s", all)
	}
}

// kubectl explain has a text for each field.
func TestExplain(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	for field, words := range map[string]string{
		"":                         "each metric has a name in addition",
		"spec.schedules":           "cron syntax of a CronJob",
		"spec.metrics.fallback":    "CurrentReplicasIfHigher",
		"spec.behavior.scaleDown":  "--horizontal-pod-autoscaler-downscale-stabilization",
		"status.metrics":           "SampleTime",
		"status.lastScaleDecision": "KEP-6107",
	} {
		out := s.Kubectl("explain", strings.TrimSuffix("wla."+field, "."))
		text := strings.Join(strings.Fields(out), " ")
		if !strings.Contains(strings.ToLower(text), strings.ToLower(words)) || strings.Contains(text, "<empty>") {
			t.Errorf("explain wla.%s lacks %q:\n%s", field, words, out)
		}
	}
}

// A start is in cron syntax where a CronJob's schedule is, apart from @every, a time zone in it, and a day that no month
// has. A time zone is one where a CronJob's is.
func TestStartsAndTimeZonesAreACronJobs(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	both := func(start, timeZone string) {
		t.Helper()
		_, refusal := objects.dryRun(t, cronJob, decoded([]byte(fmt.Sprintf(`{"schedule":%q,"timeZone":%q,"jobTemplate":{"spec":{
			"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"b"}]}}}}}`, start, timeZone))))
		_, err := objects.dryRun(t, workloadAutoscaler, with(t, fmt.Sprintf(
			`{"schedules":[{"name":"a","start":%q,"timeZone":%q,"durationSeconds":60,"minReplicas":2}]}`, start, timeZone)))
		if (refusal == nil) != (err == nil) {
			t.Errorf("%q in %q: CronJob: %v\nWorkloadAutoscaler: %v", start, timeZone, refusal, err)
		}
	}
	for _, start := range []string{
		"* * * * *", "0 8 * * *", "00 08 01 01 00", "59 23 31 12 6", "*/5 * * * *", "0-30/10 * * * *", "5/15 * * * *",
		"0,15,30-45 * * * *", "? ? ? ? ?", "0 8 * jan-MAR Mon,wEd-fri", "0 8 ? 2,4/2 *", "0  8\t* * 1-5",
		"0 8 29 2 *", "@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually",
		"60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *", "* * * 13 *", "* * * * 7", "* * * * * *",
		"* * * *", "", "a * * * *", "-1 * * * *", "*/0 * * * *", "30-10 * * * *", "0 20-8 * * *", "* * * dec-jan *",
		"* * * * sat-sun", "1- * * * *", "*/ * * * *", "1-2-3 * * * *", "@Daily", "@reboot", "mon * * * *",
		"* * * mon *", "* * * * jan", "1.5 * * * *", "* * * * mon#1", "* * L * *", "0 8 * * monday",
	} {
		both(start, "UTC")
	}
	for _, zone := range []string{
		"UTC", "Etc/UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "America/Port-au-Prince", "Etc/GMT+8", "EST",
		"GMT-0", "Local", "local", "LOCAL", "", "Mars/Olympus", "Europe", "../UTC", "Europe/../UTC", "/UTC", "UTC/",
		"Europe//Berlin", "+02:00", "Z", " UTC", "-UTC",
	} {
		both("0 8 * * *", zone)
	}
}

// Users who may view or edit a namespace may do the same with these objects.
func TestRightsOfUsers(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	s.Kubectl("apply", "-f", filepath.Join(root, "config", "base", "workloadautoscaler-roles.yaml"))
	for _, role := range []string{"view", "edit", "admin"} {
		_, err := s.Client.RbacV1().RoleBindings(s.Name).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "the-" + role}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	may := func(role, verb, subresource string, want bool) func(context.Context) error {
		return func(ctx context.Context) error {
			review, err := s.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: "the-" + role,
					ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.Name, Verb: verb,
						Group: workloadAutoscaler.resource.Group, Resource: workloadAutoscaler.resource.Resource, Subresource: subresource}},
			}, metav1.CreateOptions{})
			if err == nil && review.Status.Allowed != want {
				err = fmt.Errorf("%s may %s %s: %v", role, verb, subresource, review.Status.Allowed)
			}
			return err
		}
	}
	// Kubernetes collects the rules of the roles in the background.
	for _, role := range []string{"view", "edit", "admin"} {
		for _, verb := range []string{"get", "list", "watch"} {
			s.Eventually(role+" reads", may(role, verb, "", true))
		}
		s.Eventually(role+" reads the status", may(role, "get", "status", true))
	}
	for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
		s.Eventually("edit writes", may("edit", verb, "", true))
		s.Eventually("admin writes", may("admin", verb, "", true))
		if err := may("view", verb, "", false)(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, role := range []string{"view", "edit", "admin"} {
		if err := may(role, "update", "status", false)(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
