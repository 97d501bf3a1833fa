package secrets

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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const password = "correct-horse"

// object is team-a/prometheus with a key password; without an annotation if hosts is empty.
func object(hosts string) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "prometheus"},
		Data:       map[string][]byte{"password": []byte(password)},
	}
	if hosts != "" {
		s.Annotations = map[string]string{HostsAnnotation: hosts}
	}
	return s
}

func reader(t *testing.T, isAllowed bool, objects ...runtime.Object) (*Reader, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset(objects...)
	r, err := New(client.CoreV1(), isAllowed)
	if err != nil {
		t.Fatal(err)
	}
	return r, client
}

var (
	selector = Selector{"prometheus", "password"}
	verified = Peer{"prometheus.monitoring.svc:9090", true}
)

func TestValue(t *testing.T) {
	for name, c := range map[string]struct {
		hosts       string
		to          Peer
		isPermitted bool
	}{
		"no annotation":             {"", verified, false},
		"an empty one":              {" , ", verified, false},
		"named":                     {"prometheus.monitoring.svc:9090", verified, true},
		"named in upper case":       {"Prometheus.monitoring.svc:9090", verified, true},
		"named among others":        {"a:1, prometheus.monitoring.svc:9090,b:2", verified, true},
		"another host":              {"mimir.example.com:443", verified, false},
		"another port":              {"prometheus.monitoring.svc:9091", verified, false},
		"without the port":          {"prometheus.monitoring.svc", verified, false},
		"the beginning of a host":   {"prometheus.monitoring.svc:90", verified, false},
		"a longer host":             {"prometheus.monitoring.svc:90900", verified, false},
		"a pattern":                 {"*", verified, false},
		"a pattern of hosts":        {"*.monitoring.svc:9090", verified, false},
		"https before it":           {"https://prometheus.monitoring.svc:9090", verified, false},
		"unverified":                {"prometheus.monitoring.svc:9090", Peer{verified.Host, false}, false},
		"unverified, permitted":     {"http://prometheus.monitoring.svc:9090", Peer{verified.Host, false}, true},
		"verified, http permitted":  {"http://prometheus.monitoring.svc:9090", verified, true},
		"unverified, other http":    {"http://a:1,prometheus.monitoring.svc:9090", Peer{verified.Host, false}, false},
		"pods":                      {"pods", Peer{Pods, true}, true},
		"pods, unverified":          {"pods", Peer{Pods, false}, false},
		"pods, http":                {"http://pods", Peer{Pods, false}, true},
		"pods for a server":         {"pods", verified, false},
		"a server for pods":         {"prometheus.monitoring.svc:9090", Peer{Pods, true}, false},
		"no host":                   {"prometheus.monitoring.svc:9090", Peer{"", true}, false},
		"no host, http":             {"http://", Peer{"", false}, false},
		"a host that is an entry":   {"http://a:1", Peer{"http://a:1", true}, false},
		"a host that is two":        {"a:1,b:2", Peer{"a:1,b:2", true}, false},
		"a host with another space": {"a:1", Peer{"a:1 ", true}, false},
	} {
		r, _ := reader(t, true, object(c.hosts))
		value, err := r.Value(t.Context(), "team-a", selector, c.to)
		switch {
		case c.isPermitted && (err != nil || string(value) != password):
			t.Errorf("%s: %q, %v", name, value, err)
		case !c.isPermitted && (value != nil || !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), password)):
			t.Errorf("%s: %q, %v", name, value, err)
		}
	}
}

// TestRefusedNames: there is no read of another namespace, of a name that is a path, or while reading is off.
func TestRefusedNames(t *testing.T) {
	hosts := verified.Host
	for name, c := range map[string]struct {
		isAllowed bool
		namespace string
		selector  Selector
	}{
		"off":              {false, "team-a", selector},
		"no name":          {true, "team-a", Selector{"", "password"}},
		"a path":           {true, "team-a", Selector{"../../team-b/secrets/prometheus", "password"}},
		"no namespace":     {true, "", selector},
		"a path before it": {true, "../team-a", selector},
	} {
		r, client := reader(t, c.isAllowed, object(hosts))
		if value, err := r.Value(t.Context(), c.namespace, c.selector, verified); value != nil || !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %q, %v", name, value, err)
		}
		if n := len(client.Actions()); n > 0 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
	r, client := reader(t, true, object(hosts))
	if value, err := r.Value(t.Context(), "team-b", selector, verified); !apierrors.IsNotFound(err) {
		t.Errorf("of another namespace: %q, %v", value, err)
	}
	if value, err := r.Value(t.Context(), "team-a", Selector{"prometheus", "token"}, verified); err == nil {
		t.Errorf("of another key: %q", value)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() != "get" {
			t.Error(action.GetVerb())
		}
	}
}

// TestChanges: a Secret is read again every 40 s, and after ten seconds if it needs a repair. A revoked permission ends
// then.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, client := reader(t, true, object(""))
		ask := func(isPermitted bool) {
			t.Helper()
			if value, err := r.Value(t.Context(), "team-a", selector, verified); (err == nil) != isPermitted {
				t.Errorf("%q, %v", value, err)
			}
		}
		change := func(s *corev1.Secret) {
			t.Helper()
			if _, err := client.CoreV1().Secrets("team-a").Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		ask(false)
		change(object(verified.Host))
		ask(false)
		<-time.After(failureAge)
		ask(true)
		change(object(""))
		<-time.After(age)
		ask(true)
		synctest.Wait()
		ask(false)
		change(object(verified.Host))
		<-time.After(failureAge)
		ask(true)
		if err := client.CoreV1().Secrets("team-a").Delete(t.Context(), "prometheus", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		ask(false)
	})
}

// TestUnavailable: a Secret stays in use while the API server does not answer.
func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, client := reader(t, true, object(verified.Host))
		for i := range 300 {
			if value, err := r.Value(t.Context(), "team-a", selector, verified); string(value) != password || err != nil {
				t.Fatalf("after %d s: %q, %v", i, value, err)
			}
			if i == 0 {
				client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewServiceUnavailable("away")
				})
			}
			<-time.After(time.Second)
		}
	})
}

// TestCopies: a change of a value affects only the caller's copy.
func TestCopies(t *testing.T) {
	r, _ := reader(t, true, object(verified.Host))
	for range 2 {
		value, err := r.Value(t.Context(), "team-a", selector, verified)
		if err != nil || string(value) != password {
			t.Fatal(err)
		}
		clear(value)
	}
}

func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, client := reader(t, true)
		client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			<-time.After(5 * time.Second)
			return true, nil, context.DeadlineExceeded
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Value(ctx, "team-a", selector, verified); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		<-time.After(5 * time.Second)
	})
}

func TestForbidden(t *testing.T) {
	r, client := reader(t, true, object(verified.Host))
	client.PrependReactor("get", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "prometheus", nil)
	})
	_, err := r.Value(t.Context(), "team-a", selector, verified)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "config/sources/secrets") {
		t.Error(err)
	}
}
