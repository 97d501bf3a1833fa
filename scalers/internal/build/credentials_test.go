package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

func fromSecret(name, key string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: new(true),
	}}
}

// target is a Deployment whose container has these variables.
func target() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "workers"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Env: []corev1.EnvVar{
				{Name: "PASSWORD", ValueFrom: fromSecret("redis", "password")},
				{Name: "REGION", Value: "redis"},
				{Name: "OTHER", ValueFrom: fromSecret("redis", "other")},
				{Name: "MISSING", ValueFrom: fromSecret("missing", "password")},
				{Name: "EMPTY"},
				{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
			}}},
		}}}}
}

// builderOf makes a Builder whose TriggerAuthentication a has this spec.
func builderOf(t *testing.T, spec kedav1alpha1.TriggerAuthenticationSpec) *Builder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kedav1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return &Builder{Log: logr.Discard(), Clientset: kubefake.NewClientset(),
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(target(), credentials("a", spec),
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "redis"},
				Data: map[string][]byte{"password": []byte("hunter22"), "empty": []byte(" \n")}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "redis"},
				Data: map[string]string{"address": "redis:6379"}},
		).Build()}
}

func jobOf(metadata map[string]string, ref *job.AuthenticationRef) *job.Job {
	all := map[string]string{
		"timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "3",
	}
	for key, value := range metadata {
		all[key] = value
	}
	return &job.Job{Namespace: "shop", Object: "jobs", Metric: "queue", Target: job.Target{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "workers",
	}, Scaler: job.Scaler{Type: "cron", AuthenticationRef: ref, Metadata: all}}
}

// No scaler gets an empty value in place of a credential: many servers let in a client without a password.
func TestEmptyCredentials(t *testing.T) {
	secret := func(name, key string) kedav1alpha1.ValueFromSecret {
		return kedav1alpha1.ValueFromSecret{SecretKeyRef: kedav1alpha1.SecretKeyRef{Name: name, Key: key}}
	}
	for name, c := range map[string]struct {
		spec kedav1alpha1.TriggerAuthenticationSpec
		want string
	}{
		"a Secret": {kedav1alpha1.TriggerAuthenticationSpec{SecretTargetRef: []kedav1alpha1.AuthSecretTargetRef{
			{Parameter: "password", Name: "redis", Key: "password"}}}, ""},
		"a missing Secret": {kedav1alpha1.TriggerAuthenticationSpec{SecretTargetRef: []kedav1alpha1.AuthSecretTargetRef{
			{Parameter: "password", Name: "missing", Key: "password"}}},
			`authenticationRef: secretTargetRef: password: secrets "missing" not found`},
		"a missing key": {kedav1alpha1.TriggerAuthenticationSpec{SecretTargetRef: []kedav1alpha1.AuthSecretTargetRef{
			{Parameter: "password", Name: "redis", Key: "Password"}}},
			`authenticationRef: secretTargetRef: password: Secret "redis" has no key "Password"`},
		"an empty key": {kedav1alpha1.TriggerAuthenticationSpec{SecretTargetRef: []kedav1alpha1.AuthSecretTargetRef{
			{Parameter: "password", Name: "redis", Key: "empty"}}},
			`authenticationRef: secretTargetRef: password: the key "empty" of Secret "redis" is empty`},
		"the later one counts": {kedav1alpha1.TriggerAuthenticationSpec{
			Env: []kedav1alpha1.AuthEnvironment{{Parameter: "password", Name: "PASSWORD"}},
			SecretTargetRef: []kedav1alpha1.AuthSecretTargetRef{
				{Parameter: "password", Name: "missing", Key: "password"}}},
			`authenticationRef: secretTargetRef: password: secrets "missing" not found`},
		"a ConfigMap": {kedav1alpha1.TriggerAuthenticationSpec{ConfigMapTargetRef: []kedav1alpha1.AuthConfigMapTargetRef{
			{Parameter: "address", Name: "redis", Key: "host"}}},
			`authenticationRef: configMapTargetRef: address: ConfigMap "redis" has no key "host"`},
		"the environment": {kedav1alpha1.TriggerAuthenticationSpec{
			Env: []kedav1alpha1.AuthEnvironment{{Parameter: "password", Name: "PASSWORD"}}}, ""},
		"a variable that is not set": {kedav1alpha1.TriggerAuthenticationSpec{
			Env: []kedav1alpha1.AuthEnvironment{{Parameter: "password", Name: "OTHER"}}},
			"authenticationRef: env: password: the environment variable OTHER is not set, or empty"},
		"another container": {kedav1alpha1.TriggerAuthenticationSpec{
			Env: []kedav1alpha1.AuthEnvironment{{Parameter: "password", Name: "PASSWORD", ContainerName: "side"}}},
			"authenticationRef: env: password: the environment variable PASSWORD is not set, or empty"},
		"OAuth": {kedav1alpha1.TriggerAuthenticationSpec{OAuth2: &kedav1alpha1.OAuth2{
			ClientID: "a", TokenURL: "https://b", ClientSecret: kedav1alpha1.OAuth2ClientSecret{ValueFrom: secret("redis", "c")}}},
			`authenticationRef: oauth2.clientSecret: clientSecret: Secret "redis" has no key "c"`},
		"a service principal": {kedav1alpha1.TriggerAuthenticationSpec{
			AzureServicePrincipal: &kedav1alpha1.AzureServicePrincipal{
				ClientSecret: &kedav1alpha1.AzureServicePrincipalCredential{ValueFrom: secret("missing", "c")}}},
			`authenticationRef: azureServicePrincipal.clientSecret: azureServicePrincipalClientSecret: secrets "missing"`},
		"a secret manager": {kedav1alpha1.TriggerAuthenticationSpec{GCPSecretManager: &kedav1alpha1.GCPSecretManager{
			Credentials: &kedav1alpha1.GCPCredentials{ClientSecret: kedav1alpha1.GCPSecretmanagerClientSecret{
				ValueFrom: secret("missing", "c")}},
			Secrets: []kedav1alpha1.GCPSecretManagerSecret{{Parameter: "password", ID: "redis"}}}},
			"authenticationRef: gcpSecretManager: password: the secret redis is empty, or cannot be read"},
	} {
		_, err := builderOf(t, c.spec).Build(t.Context(), jobOf(nil, &job.AuthenticationRef{Name: "a"}))
		if (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestEmptyVariables(t *testing.T) {
	for name, want := range map[string]string{
		"PASSWORD": "",
		"REGION":   "",
		"OTHER":    `metadata: passwordFromEnv: the environment variable OTHER is empty: Secret "redis", key "other"`,
		"MISSING":  `metadata: passwordFromEnv: the environment variable MISSING is empty: Secret "missing", key "password"`,
		"EMPTY":    "metadata: passwordFromEnv: the container main of the target has no environment variable EMPTY, or an empty",
		"UNKNOWN":  "metadata: passwordFromEnv: the container main of the target has no environment variable UNKNOWN",
		"NODE":     "metadata: passwordFromEnv: the environment variable NODE is neither a value nor of a Secret",
		"":         "metadata: passwordFromEnv: it names no environment variable",
	} {
		b := builderOf(t, kedav1alpha1.TriggerAuthenticationSpec{})
		_, err := b.Build(t.Context(), jobOf(map[string]string{"passwordFromEnv": name}, nil))
		if (err != nil) != (want != "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", name, err, want)
		}
	}
}

// Errors hide what the trigger reads. A word in another variable, as a region or a mode, is in many errors.
func TestSecretsAreThoseOfTheTrigger(t *testing.T) {
	spec := kedav1alpha1.TriggerAuthenticationSpec{SecretTargetRef: []kedav1alpha1.AuthSecretTargetRef{
		{Parameter: "password", Name: "redis", Key: "password"}}}
	for name, c := range map[string]struct {
		metadata map[string]string
		ref      *job.AuthenticationRef
		want     []string
	}{
		"none":                    {nil, nil, nil},
		"a variable":              {map[string]string{"passwordFromEnv": "PASSWORD"}, nil, []string{"hunter22"}},
		"another variable":        {map[string]string{"addressFromEnv": "REGION"}, nil, []string{"redis"}},
		"a TriggerAuthentication": {nil, &job.AuthenticationRef{Name: "a"}, []string{"hunter22"}},
	} {
		built, err := builderOf(t, spec).Build(t.Context(), jobOf(c.metadata, c.ref))
		if err != nil || !slices.Equal(built.Secrets, c.want) {
			t.Errorf("%s: got %q, %v, want %q", name, built.Secrets, err, c.want)
		}
	}
}
