package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

func registration(client *fake.Clientset) *Registration {
	return &Registration{
		Client:    client.AdmissionregistrationV1().MutatingWebhookConfigurations(),
		Namespace: "plimsoll-system", Service: "vpa-webhook", TimeoutSeconds: 5, Never: []string{"kube-system"},
		Labels: map[string]string{"team": "platform"},
	}
}

// writes counts what was done to the configuration.
func writes(client *fake.Clientset) map[string]int {
	counts := map[string]int{}
	for _, action := range client.Actions() {
		if action.GetResource().Resource == "mutatingwebhookconfigurations" && action.GetVerb() != "get" {
			counts[action.GetVerb()]++
		}
	}
	return counts
}

// TestRegistration: an old configuration of upstream is changed where it stands.
func TestRegistration(t *testing.T) {
	client := fake.NewClientset(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ConfigurationName},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{{Name: WebhookName}, {Name: "somebody.else"}},
	})
	r := registration(client)
	if err := r.Ensure(t.Context(), []byte("first"), "/secret"); err != nil {
		t.Fatal(err)
	}
	got, err := r.Client.Get(t.Context(), ConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Webhooks) != 2 || got.Labels["team"] != "platform" {
		t.Fatalf("%+v, want the webhook of somebody else left alone and the label set", got)
	}
	checkWebhook(t, &got.Webhooks[0])
	for _, authorities := range []string{"first", "second"} {
		for range 3 {
			if err := r.Ensure(t.Context(), []byte(authorities), "/secret"); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The fake API server has no resource versions; that nothing is written without a
	// change is tested on a real one.
	if counts := writes(client); counts["delete"] > 0 || counts["create"] > 0 || counts["update"] > 0 || counts["patch"] == 0 {
		t.Errorf("the configuration was written with %v, want patches alone", counts)
	}
}

func checkWebhook(t *testing.T, w *admissionregistrationv1.MutatingWebhook) {
	t.Helper()
	want := []metav1.LabelSelectorRequirement{{Key: namespaceLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"kube-system", "plimsoll-system"}}}
	if diff := cmp.Diff(want, w.NamespaceSelector.MatchExpressions); diff != "" {
		t.Errorf("namespaces: (-want +got)\n%s", diff)
	}
	if *w.FailurePolicy != admissionregistrationv1.Ignore || *w.TimeoutSeconds != 5 || *w.SideEffects != admissionregistrationv1.SideEffectClassNone ||
		string(w.ClientConfig.CABundle) != "first" || w.ClientConfig.Service.Name != "vpa-webhook" || *w.ClientConfig.Service.Path != "/secret" || len(w.Rules) != 2 {
		t.Errorf("%+v", w)
	}
}

// TestRegistrationWithUpstreamsRights: they are to create, and not to patch.
func TestRegistrationWithUpstreamsRights(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("patch", "mutatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(admissionregistrationv1.Resource("mutatingwebhookconfigurations"), ConfigurationName, errors.New("no"))
	})
	for range 2 {
		// The second is the process after a restart.
		if err := registration(client).Ensure(t.Context(), []byte("ca"), "/secret"); err != nil {
			t.Fatal(err)
		}
	}
	if err := registration(client).Ensure(t.Context(), []byte("another"), "/secret"); !apierrors.IsForbidden(err) {
		t.Errorf("%v, want it said that the configuration leads elsewhere", err)
	}
	if counts := writes(client); counts["create"] != 1 || counts["delete"] > 0 {
		t.Errorf("written with %v", counts)
	}
}

func TestRegistrationByURL(t *testing.T) {
	r := Registration{URL: "https://10.0.0.1:8000", Fails: true, Only: "shop"}
	c := r.configuration([]byte("ca"), "/secret")
	w := c.Webhooks[0]
	if *w.ClientConfig.URL != r.URL+"/secret" || w.ClientConfig.Service != nil || *w.FailurePolicy != admissionregistrationv1.Fail {
		t.Errorf("%+v", w)
	}
	if e := w.NamespaceSelector.MatchExpressions; len(e) != 1 || *e[0].Operator != metav1.LabelSelectorOpIn || e[0].Values[0] != "shop" {
		t.Errorf("%+v, want one namespace alone", e)
	}
}

// TestUpkeep: the Lease is renewed each ten seconds from when the server is
// registered, whatever fails afterwards.
func TestUpkeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var fails atomic.Bool
		fails.Store(true)
		client.PrependReactor("patch", "mutatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
			if fails.Load() {
				return true, nil, errors.New("not now")
			}
			return false, nil, nil
		})
		leases := client.CoordinationV1().Leases("plimsoll-system")
		u := Upkeep{
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

// TestLeaseOfWhomNobodyAsks: while the configuration is gone and cannot be made, pods come up as they are, and the Lease
// must not say that the updater may evict them. It is renewed again soon after the configuration is back.
func TestLeaseOfWhomNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(shipped())
		refuseCreation(client)
		leases := client.CoordinationV1().Leases("plimsoll-system")
		u := Upkeep{
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
			t.Errorf("renewed %s ago, although nobody asks the server", since)
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

// The updater reads on the Lease what is never looked at here, and evicts nothing there.
func TestLeaseSaysWhatIsIgnored(t *testing.T) {
	leases := fake.NewClientset().CoordinationV1().Leases("plimsoll-system")
	l := &Lease{Client: leases, Name: "lease", Holder: "a", Duration: 10 * time.Second, Ignored: []string{"kube-system", "plimsoll-system"}, Only: "shop"}
	for range 2 {
		if err := l.Renew(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := leases.Get(t.Context(), "lease", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Annotations[observevertical.AnnotationIgnoredNamespaces] != "kube-system,plimsoll-system" || got.Annotations[observevertical.AnnotationOnlyNamespace] != "shop" {
		t.Errorf("%v", got.Annotations)
	}
}
