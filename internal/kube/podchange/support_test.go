package podchange

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestSupport: a result is cached for a while and then requested again; an API server that does not respond is assumed
// to resize pods.
func TestSupport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		s := NewSupport(client.Discovery())
		check := func(want bool, when string) {
			t.Helper()
			if got := s.Supported(); got != want {
				t.Errorf("%s: %t, want %t", when, got, want)
			}
		}
		fails := true
		client.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
			if fails {
				return true, nil, errors.New("not now")
			}
			return false, nil, nil
		})
		check(true, "without an answer")
		fails = false
		client.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods"}}}}
		check(false, "before an upgrade")
		client.Resources[0].APIResources = append(client.Resources[0].APIResources, metav1.APIResource{Name: "pods/resize"})
		check(false, "shortly after an upgrade")
		<-time.After(supportPeriod)
		check(true, "some time after an upgrade")
	})
}
