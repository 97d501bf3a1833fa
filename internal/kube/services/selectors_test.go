package services

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// follow runs Selectors in a bubble until the test ends.
func follow(t *testing.T, objects ...runtime.Object) (*Selectors, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset(objects...)
	s := NewSelectors(client)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return s, client
}

// selects returns the error, or which of the pods shop and other the Service selects.
func (s *Selectors) selects(name string) string {
	of, err := s.Of("team-a", name)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, app := range []string{"shop", "other"} {
		if of.Matches(labels.Set{"app": app}) {
			all = append(all, app)
		}
	}
	return strings.Join(all, " ")
}

func TestSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := follow(t, service(nil),
			service(func(s *corev1.Service) { s.Name, s.Spec.Selector = "manual", nil }),
			service(func(s *corev1.Service) { s.Name, s.Spec.Type = "external", corev1.ServiceTypeExternalName }),
			service(func(s *corev1.Service) {
				s.Name = "large"
				s.Spec.Selector = map[string]string{"a": strings.Repeat("x", 1<<15)}
			}),
			service(func(s *corev1.Service) { s.Namespace, s.Name = "team-b", "elsewhere" }))
		synctest.Wait()
		if n := len(client.Actions()); n > 0 {
			t.Errorf("%d requests before a selector is wanted", n)
		}
		if _, err := s.Of("team-a", "shop"); !errors.Is(err, ErrAwaited) {
			t.Errorf("before the list: %v", err)
		}
		want := func(name, want string) {
			t.Helper()
			<-time.After(time.Second)
			synctest.Wait()
			if got := s.selects(name); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		want("shop", "shop")
		want("manual", "service: Service team-a/manual: it has no selector")
		want("external", "service: Service team-a/external: it is of type ExternalName")
		want("large", "service: Service team-a/large: its selector has more than")
		want("elsewhere", "service: Service team-a/elsewhere does not exist")
		services := client.CoreV1().Services("team-a")
		other := service(func(s *corev1.Service) { s.Spec.Selector["app"] = "other" })
		if _, err := services.Update(t.Context(), other, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		want("shop", "other")
		if err := services.Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		want("shop", "service: Service team-a/shop does not exist")
	})
}

// TestSelectorsForbidden: without the permission the error says how to give it.
func TestSelectorsForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := follow(t)
		client.PrependReactor("list", "services", func(a clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", nil)
		})
		if got := s.selects("shop"); got != ErrAwaited.Error() {
			t.Errorf("at once: %s", got)
		}
		<-time.After(listedWithin)
		if got := s.selects("shop"); !strings.Contains(got, "kubectl apply -k config/sources") {
			t.Errorf("after %s: %s", listedWithin, got)
		}
	})
}
