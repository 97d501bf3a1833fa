package upkeep

import (
	"context"
	"crypto/tls"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/certificate"
)

// given are Certificates: these, or some with these authorities.
type given struct {
	authorities, path string
	shown             *certificate.Shown
}

func (*given) Refresh(context.Context, time.Time) error { return nil }

func (g *given) Shown() *certificate.Shown {
	if g.shown != nil {
		return g.shown
	}
	return &certificate.Shown{Certificate: &tls.Certificate{}, Authorities: []byte(g.authorities), Path: g.path}
}

// TestUpkeep: the Lease is renewed each ten seconds from the registration on, whatever fails afterwards.
func TestUpkeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var fails atomic.Bool
		fails.Store(true)
		client.PrependReactor("patch", "mutatingwebhookconfigurations",
			func(clienttesting.Action) (bool, runtime.Object, error) {
				if fails.Load() {
					return true, nil, errors.New("not now")
				}
				return false, nil, nil
			})
		leases := client.CoordinationV1().Leases("plimsoll-system")
		u := Runner{
			Certificates: &given{authorities: "ca"}, Registration: registration(client),
			Lease:    &Lease{Client: leases, Name: "vpa-admission-controller", Holder: "a", Duration: 10 * time.Second},
			Interval: time.Minute, LeaseInterval: 10 * time.Second, Log: testr.New(t),
		}
		ctx, cancel := context.WithCancel(t.Context())
		go u.Run(ctx)
		lease := func() *coordinationv1.Lease {
			l, err := leases.Get(t.Context(), "vpa-admission-controller", metav1.GetOptions{})
			if err != nil {
				return nil
			}
			return l
		}
		<-time.After(9 * time.Second)
		if lease() != nil {
			t.Error("there is a Lease although the API server does not know where the server is")
		}
		fails.Store(false)
		<-time.After(10 * time.Second)
		first := lease()
		if first == nil {
			t.Fatal("there is no Lease")
		}
		fails.Store(true)
		<-time.After(5 * time.Minute)
		if renewed := lease().Spec.RenewTime; time.Since(renewed.Time) > 10*time.Second {
			t.Errorf("last renewed %s ago", time.Since(renewed.Time))
		}
		cancel()
		synctest.Wait()
	})
}

// TestLeaseWithoutRegistration: while the configuration is gone and cannot be created, pods start unchanged, and the
// Lease must not permit the updater to evict them. It is renewed again soon after the configuration is back.
func TestLeaseWithoutRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(shipped())
		refuseCreation(client)
		leases := client.CoordinationV1().Leases("plimsoll-system")
		u := Runner{
			Certificates: &given{authorities: "ca"}, Registration: registration(client),
			Lease:    &Lease{Client: leases, Name: "vpa-admission-controller", Holder: "a", Duration: 10 * time.Second},
			Interval: time.Minute, LeaseInterval: 10 * time.Second, Log: testr.New(t),
		}
		ctx, cancel := context.WithCancel(t.Context())
		go u.Run(ctx)
		age := func() time.Duration {
			lease, err := leases.Get(t.Context(), "vpa-admission-controller", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return time.Since(lease.Spec.RenewTime.Time)
		}
		<-time.After(5 * time.Minute)
		if since := age(); since > 10*time.Second {
			t.Errorf("last renewed %s ago", since)
		}
		if err := u.Registration.Client.Delete(t.Context(), ConfigurationName, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Minute)
		if since := age(); since < 9*time.Minute-10*time.Second {
			t.Errorf("renewed %s ago, although the API server does not call it", since)
		}
		if err := client.Tracker().Add(shipped()); err != nil {
			t.Fatal(err)
		}
		<-time.After(15 * time.Second)
		if since := age(); since > 10*time.Second {
			t.Errorf("last renewed %s ago, although the configuration is back", since)
		}
		cancel()
		synctest.Wait()
	})
}

// The updater reads the ignored namespaces from the Lease, and evicts nothing there.
func TestLeaseNamesIgnoredNamespaces(t *testing.T) {
	leases := fake.NewClientset().CoordinationV1().Leases("plimsoll-system")
	l := &Lease{
		Client: leases, Name: "lease", Holder: "a", Duration: 10 * time.Second,
		Ignored: []string{"kube-system", "plimsoll-system"}, Only: "shop",
	}
	for range 2 {
		if err := l.Renew(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := leases.Get(t.Context(), "lease", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Annotations[observevertical.AnnotationIgnoredNamespaces] != "kube-system,plimsoll-system" ||
		got.Annotations[observevertical.AnnotationOnlyNamespace] != "shop" {
		t.Errorf("%v", got.Annotations)
	}
}
