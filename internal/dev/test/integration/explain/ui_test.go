package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/ui/cluster"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// page reads for the page of plimsoll ui until the test ends.
func page(t *testing.T, s *harness.Namespace, config *rest.Config) *cluster.Reader {
	t.Helper()
	reader, err := cluster.New(cluster.Config{
		REST: config, Namespace: s.Name, Finder: leader.Finder{Address: shared.Plimsoll(t).Inspection()},
		Explain: explainer.Options{Controller: explainer.Auto, Period: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { reader.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return reader
}

// awaitRow waits for an autoscaler's row that is as wanted.
func awaitRow(s *harness.Namespace, reader *cluster.Reader, id string, want func(*view.Row) bool) {
	s.Eventually("a row of "+id, func(context.Context) error {
		o := reader.Overview(0)
		at := slices.IndexFunc(o.Rows, func(r view.Row) bool { return r.ID == id })
		if at < 0 || !want(&o.Rows[at]) {
			return fmt.Errorf("rows %+v, notes %+v", o.Rows, o.Notes)
		}
		return nil
	})
}

// TestPage: the page has the counts of a status, the explanation, and the recorded load.
func TestPage(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	reader := page(t, s, s.Cluster.RESTConfig())
	awaitRow(s, reader, view.IDOf(view.HPA, s.Name, "web"), func(r *view.Row) bool {
		return r.Desired != nil && *r.Desired == 2 && r.Load != nil && r.Health == view.OK
	})
	s.Eventually("all kinds", func(context.Context) error {
		if notes := reader.Overview(0).Notes; len(notes) > 0 {
			return fmt.Errorf("notes %+v", notes)
		}
		return nil
	})
	known := reader.Overview(0)
	s.Eventually("all about the object", func(ctx context.Context) error { return checkObject(ctx, reader, s.Name) })
	if _, err := reader.Object(t.Context(), "Secret", s.Name, "web", time.Hour); err == nil {
		t.Error("a kind that is no autoscaler is shown")
	}
	err := s.Client.AutoscalingV2().HorizontalPodAutoscalers(s.Name).Delete(t.Context(), "web", metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Eventually("the row's end", func(context.Context) error {
		if o := reader.Overview(known.Revision); len(o.Removed) != 1 {
			return errors.New("it is not told")
		}
		return nil
	})
}

// checkObject: the object waits at 2 for its third pod. What is recorded of it comes within seconds.
func checkObject(ctx context.Context, reader *cluster.Reader, namespace string) error {
	object, err := reader.Object(ctx, view.HPA, namespace, "web", 5*time.Minute)
	if err != nil {
		return err
	}
	next := slices.IndexFunc(object.Lines, func(l output.Line) bool { return l.Label == "next" })
	if next < 0 || !strings.Contains(object.Lines[next].Text, "3 in about") {
		return fmt.Errorf("%q: lines %+v", object.Unexplained, object.Lines)
	}
	if h := object.History; h == nil || len(h.Points) == 0 || ptr.Deref(h.Points[len(h.Points)-1].Wanted, 0) != 2 {
		return fmt.Errorf("%q: history %+v", object.Unrecorded, h)
	}
	if !strings.Contains(object.Manifest, "name: web") || strings.Contains(object.Manifest, "managedFields") {
		return fmt.Errorf("the manifest is\n%s", object.Manifest)
	}
	return nil
}

// TestPageWithFewRights: a user who may only list HPAs gets those, and the reason why the rest is missing.
func TestPageWithFewRights(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	meta := metav1.ObjectMeta{Name: "looker", Namespace: s.Name}
	s.Create(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"autoscaling"}, Resources: []string{"horizontalpodautoscalers"}, Verbs: []string{"get", "list", "watch"},
	}}}, &rbacv1.RoleBinding{ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "looker"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "looker"}},
	})
	config := rest.CopyConfig(s.Cluster.RESTConfig())
	config.Impersonate = rest.ImpersonationConfig{UserName: "looker", Groups: []string{"system:authenticated"}}
	reader := page(t, s, config)
	id := view.IDOf(view.HPA, s.Name, "web")
	awaitRow(s, reader, id, func(r *view.Row) bool { return r.Desired != nil })
	s.Eventually("what is missing", func(context.Context) error {
		notes := reader.Overview(0).Notes
		for _, kind := range []string{view.WLA, view.VPA} {
			if !slices.ContainsFunc(notes, func(n view.Note) bool {
				return n.What == kind+"s" && strings.Contains(n.Why, "you may not list")
			}) {
				return fmt.Errorf("%s: notes %+v", kind, notes)
			}
		}
		return nil
	})
	object, err := reader.Object(t.Context(), view.HPA, s.Name, "web", 5*time.Minute)
	if err != nil || object.Row.ID != id || len(object.Lines) == 0 && object.Unexplained == "" {
		t.Errorf("%v: %+v", err, object)
	}
}
