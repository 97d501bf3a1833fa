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

	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/ui/cluster"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
	"github.com/plimsoll-dev/plimsoll/test/integration/harness"
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

// TestPage: the page has the counts of a status, what explain says, and what was recorded.
func TestPage(t *testing.T) {
	t.Parallel()
	s := waiting(t)
	reader := page(t, s, s.Cluster.RESTConfig())
	awaitRow(s, reader, view.IDOf(view.HPA, s.Name, "web"), func(r *view.Row) bool {
		return r.Desired != nil && *r.Desired == 2 && r.Load != nil && r.Health == view.OK
	})
	known := reader.Overview(0)
	if len(known.Notes) > 0 {
		t.Errorf("notes %+v", known.Notes)
	}
	checkObject(t, reader, s.Name)
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

// checkObject: the object waits at 2 for its third pod.
func checkObject(t *testing.T, reader *cluster.Reader, namespace string) {
	t.Helper()
	object, err := reader.Object(t.Context(), view.HPA, namespace, "web", 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	next := slices.IndexFunc(object.Lines, func(l view.Line) bool { return l.Label == "  next" })
	if next < 0 || !strings.Contains(object.Lines[next].Text, "3 in about") {
		t.Errorf("%q: %+v", object.Unexplained, object.Lines)
	}
	if object.History == nil || len(object.History.Changes) != 1 || object.History.Changes[0].To != 2 {
		t.Errorf("%q: %+v", object.Unrecorded, object.History)
	}
	if !strings.Contains(object.Manifest, "name: web") || strings.Contains(object.Manifest, "managedFields") {
		t.Errorf("the manifest is\n%s", object.Manifest)
	}
}

// TestPageWithFewRights: who may list nothing but HPAs sees those, and why there is nothing else.
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
