package upkeep

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

func registration(client *fake.Clientset) *Registration {
	return &Registration{
		Client:    client.AdmissionregistrationV1().MutatingWebhookConfigurations(),
		Namespace: "plimsoll-system", Service: "vpa-webhook", TimeoutSeconds: 5, Ignored: []string{"kube-system"},
		Labels: map[string]string{"team": "platform"},
	}
}

// writes counts the writes of the configuration.
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
		Webhooks:   []admissionregistrationv1.MutatingWebhook{{Name: WebhookName}, {Name: "another.webhook"}},
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
		t.Fatalf("%+v, want the other webhook left alone and the label set", got)
	}
	checkWebhook(t, &got.Webhooks[0])
	for _, authorities := range []string{"first", "second"} {
		for range 3 {
			if err := r.Ensure(t.Context(), []byte(authorities), "/secret"); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The fake API server has no resource versions; that nothing is written without a change is tested on a real one.
	if counts := writes(client); counts["delete"] > 0 || counts["create"] > 0 || counts["update"] > 0 ||
		counts["patch"] == 0 {
		t.Errorf("the configuration was written with %v, want patches alone", counts)
	}
}

func checkWebhook(t *testing.T, w *admissionregistrationv1.MutatingWebhook) {
	t.Helper()
	want := []metav1.LabelSelectorRequirement{{Key: namespaceLabel, Operator: metav1.LabelSelectorOpNotIn,
		Values: []string{"kube-system", "plimsoll-system"}}}
	if diff := cmp.Diff(want, w.NamespaceSelector.MatchExpressions); diff != "" {
		t.Errorf("namespaces: (-want +got)\n%s", diff)
	}
	if *w.FailurePolicy != admissionregistrationv1.Ignore || *w.TimeoutSeconds != 5 ||
		*w.SideEffects != admissionregistrationv1.SideEffectClassNone ||
		string(w.ClientConfig.CABundle) != "first" || w.ClientConfig.Service.Name != "vpa-webhook" ||
		*w.ClientConfig.Service.Path != "/secret" || len(w.Rules) != 2 {
		t.Errorf("%+v", w)
	}
}

// TestRegistrationWithUpstreamsRights: they are to create, and not to patch.
func TestRegistrationWithUpstreamsRights(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("patch", "mutatingwebhookconfigurations",
		func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(admissionregistrationv1.Resource("mutatingwebhookconfigurations"),
				ConfigurationName, errors.New("no"))
		})
	for range 2 {
		// The second is the process after a restart.
		if err := registration(client).Ensure(t.Context(), []byte("ca"), "/secret"); err != nil {
			t.Fatal(err)
		}
	}
	if err := registration(client).Ensure(t.Context(), []byte("another"), "/secret"); !apierrors.IsForbidden(err) {
		t.Errorf("%v, want an error that the configuration leads elsewhere", err)
	}
	if counts := writes(client); counts["create"] != 1 || counts["delete"] > 0 {
		t.Errorf("written with %v", counts)
	}
}

func TestRegistrationByURL(t *testing.T) {
	r := Registration{URL: "https://10.0.0.1:8000", Fails: true, Only: "shop"}
	c := r.configuration([]byte("ca"), "/secret")
	w := c.Webhooks[0]
	if *w.ClientConfig.URL != r.URL+"/secret" || w.ClientConfig.Service != nil ||
		*w.FailurePolicy != admissionregistrationv1.Fail {
		t.Errorf("%+v", w)
	}
	if e := w.NamespaceSelector.MatchExpressions; len(e) != 1 || *e[0].Operator != metav1.LabelSelectorOpIn ||
		e[0].Values[0] != "shop" {
		t.Errorf("%+v, want one namespace alone", e)
	}
}

// shipped is a webhook configuration as config/ ships it.
func shipped() *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ConfigurationName},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: WebhookName,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: "plimsoll-system", Name: "vpa-webhook"},
			}}},
	}
}

// refuseCreation responds as the API server does to clients that may only patch.
func refuseCreation(client *fake.Clientset) {
	forbidden := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(admissionregistrationv1.Resource("mutatingwebhookconfigurations"),
			ConfigurationName, errors.New("no"))
	}
	client.PrependReactor("create", "mutatingwebhookconfigurations", forbidden)
	client.PrependReactor("patch", "mutatingwebhookconfigurations",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			if _, err := client.Tracker().Get(action.GetResource(), "", ConfigurationName); err != nil {
				return forbidden(action)
			}
			return false, nil, nil
		})
}

// TestRegistrationWithoutTheRightToCreate: the shipped configuration is changed; if it is missing, the error names the
// manifest to apply.
func TestRegistrationWithoutTheRightToCreate(t *testing.T) {
	client := fake.NewClientset(shipped())
	refuseCreation(client)
	r := registration(client)
	if err := r.Ensure(t.Context(), []byte("ca"), "/secret"); err != nil {
		t.Fatal(err)
	}
	authorities, path, err := r.Current(t.Context())
	if err != nil || string(authorities) != "ca" || path != "/secret" {
		t.Errorf("%q, %q, %v", authorities, path, err)
	}
	client = fake.NewClientset()
	refuseCreation(client)
	r = registration(client)
	if err := r.Ensure(t.Context(), []byte("ca"), "/secret"); !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "config/vertical/webhook.yaml") {
		t.Errorf("%v", err)
	}
	if authorities, path, err := r.Current(t.Context()); len(authorities) != 0 || path != "" || err != nil {
		t.Errorf("%q, %q, %v", authorities, path, err)
	}
}

// TestPathThatCannotBeWrittenIsNotRequired: with upstream's permissions an existing configuration stays, and points
// here without a path.
func TestPathThatCannotBeWrittenIsNotRequired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := shipped()
		there.Webhooks[0].ClientConfig.CABundle = []byte("ca")
		client := fake.NewClientset(there)
		client.PrependReactor("patch", "mutatingwebhookconfigurations",
			func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(admissionregistrationv1.Resource("mutatingwebhookconfigurations"),
					ConfigurationName, errors.New("no"))
			})
		r := registration(client)
		for range 10 {
			if err := r.Ensure(t.Context(), []byte("ca"), "/secret"); err != nil {
				t.Fatal(err)
			}
			if r.HasPath(3 * time.Minute) {
				t.Error("a path is required that the API server does not know")
			}
			<-time.After(time.Minute)
		}
	})
}

// TestPathIsRequiredOnceTheAPIServerHasIt: no admission is lost in a rollout. While a replica of an older version
// removes the path every minute, any path is accepted; after three intervals without it, only the path; and a replica
// that starts then requires it at once.
func TestPathIsRequiredOnceTheAPIServerHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(shipped())
		old, current := registration(client), registration(client)
		path := ""
		u := Runner{
			Certificates: &given{authorities: "ca", path: "/secret"}, Registration: current,
			RequirePath: func(required string) { path = required },
			Lease: &Lease{
				Client: client.CoordinationV1().Leases("plimsoll-system"), Name: "vpa-admission-controller", Holder: "a",
				Duration: 10 * time.Second,
			},
			Interval: time.Minute, LeaseInterval: 10 * time.Second, Log: funcr.New(func(string, string) {}, funcr.Options{}),
		}
		requires := func(want string, when string) {
			t.Helper()
			if path != want {
				t.Errorf("%s: path %q, want %q", when, path, want)
			}
		}
		for range 5 {
			// The fake API server has no resource versions; a real one would change it.
			current.applied.resourceVersion = "changed"
			u.check(t.Context())
			requires("", "beside an older version")
			<-time.After(time.Minute)
			old.applied.resourceVersion = "changed"
			if err := old.Ensure(t.Context(), []byte("ca"), ""); err != nil {
				t.Fatal(err)
			}
		}
		current.applied.resourceVersion = "changed"
		for range 3 {
			u.check(t.Context())
			requires("", "shortly after")
			<-time.After(time.Minute)
		}
		u.check(t.Context())
		requires("/secret", "three intervals later")

		there, err := current.Client.Get(t.Context(), ConfigurationName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		there.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: fieldManager, Operation: "Apply",
			Time: ptr.To(metav1.NewTime(time.Now().Add(-time.Hour)))}}
		later := registration(fake.NewClientset(shipped()))
		later.notePath(there, "/secret")
		later.applied.path = "/secret"
		if !later.HasPath(3 * time.Minute) {
			t.Error("a replica that begins does not require the path")
		}
		later.notePath(shipped(), "/secret")
		if later.HasPath(3 * time.Minute) {
			t.Error("a removed path is still required")
		}
	})
}
