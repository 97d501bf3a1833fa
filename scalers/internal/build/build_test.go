package build

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

func credentials(name string, spec kedav1alpha1.TriggerAuthenticationSpec) client.Object {
	return &kedav1alpha1.TriggerAuthentication{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: spec}
}

func builder(t *testing.T) *Builder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kedav1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	workload := "workload"
	vault := kedav1alpha1.TriggerAuthenticationSpec{
		SecretTargetRef: []kedav1alpha1.AuthSecretTargetRef{{Parameter: "password", Name: "redis", Key: "password"}},
		HashiCorpVault: &kedav1alpha1.HashiCorpVault{
			Address: "http://127.0.0.1:1", Authentication: kedav1alpha1.VaultAuthenticationKubernetes,
			Secrets: []kedav1alpha1.VaultSecret{{Parameter: "a", Path: "b", Key: "c"}}},
	}
	return &Builder{Log: logr.Discard(), Clientset: kubefake.NewClientset(),
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "redis"},
				Data: map[string][]byte{"password": []byte("hunter22")}},
			credentials("of-environment", kedav1alpha1.TriggerAuthenticationSpec{
				Env: []kedav1alpha1.AuthEnvironment{{Parameter: "password", Name: "PASSWORD"}}}),
			credentials("of-workload", kedav1alpha1.TriggerAuthenticationSpec{PodIdentity: &kedav1alpha1.AuthPodIdentity{
				Provider: kedav1alpha1.PodIdentityProviderAws, IdentityOwner: &workload}}),
			credentials("of-secret", kedav1alpha1.TriggerAuthenticationSpec{SecretTargetRef: vault.SecretTargetRef}),
			credentials("of-vault", vault),
		).Build()}
}

// What cannot be read is the error, not what the scaler lacks because of that.
func TestErrors(t *testing.T) {
	b := builder(t)
	for name, c := range map[string]struct {
		ref  *job.AuthenticationRef
		want string
	}{
		"none": {nil, ""},
		"missing": {&job.AuthenticationRef{Name: "missing"},
			`authenticationRef: triggerauthentications.keda.sh "missing"`},
		"missing in cluster": {&job.AuthenticationRef{Name: "a", Kind: "ClusterTriggerAuthentication"},
			"authenticationRef: clustertriggerauthentications.keda.sh"},
		"another kind": {&job.AuthenticationRef{Name: "a", Kind: "Secret"}, `authenticationRef: kind: "Secret"`},
		"missing environment": {&job.AuthenticationRef{Name: "of-environment"},
			"authenticationRef: env: the target cannot be read"},
		"missing workload": {&job.AuthenticationRef{Name: "of-workload"},
			"authenticationRef: podIdentity: the target cannot be read"},
		"a Secret alone": {&job.AuthenticationRef{Name: "of-secret"}, ""},
	} {
		j := &job.Job{Namespace: "shop", Object: "jobs", Metric: "queue", Target: job.Target{
			APIVersion: "apps/v1", Kind: "Deployment", Name: "missing",
		}, Scaler: job.Scaler{Type: "cron", AuthenticationRef: c.ref, Metadata: map[string]string{
			"timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "3",
		}}}
		built, err := b.Build(t.Context(), j)
		switch {
		case c.want == "" && (err != nil || built.Scaler == nil):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// The error of one source of credentials may show those of another.
func TestSecretsBesideAnError(t *testing.T) {
	built, err := builder(t).Build(t.Context(), &job.Job{Namespace: "shop", Object: "jobs", Scaler: job.Scaler{
		Type: "redis", AuthenticationRef: &job.AuthenticationRef{Name: "of-vault"},
	}})
	if err == nil || !strings.Contains(strings.Join(built.Secrets, " "), "hunter22") {
		t.Errorf("got %q, %v", built.Secrets, err)
	}
}
