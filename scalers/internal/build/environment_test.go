package build

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scaling/resolver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

// doubling are variables of which each refers twice to the one before, from a text of 1 KiB on.
func doubling(times int) []corev1.EnvVar {
	all := []corev1.EnvVar{{Name: "A0", Value: strings.Repeat("a", 1024)}}
	for i := range times {
		all = append(all, corev1.EnvVar{Name: fmt.Sprintf("A%d", i+1), Value: fmt.Sprintf("$(A%d)$(A%d)", i, i)})
	}
	return all
}

// setContainers gives the target other containers.
func setContainers(t *testing.T, b *Builder, containers ...corev1.Container) {
	t.Helper()
	deployment := target()
	if err := b.Client.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment); err != nil {
		t.Fatal(err)
	}
	deployment.Spec.Template.Spec.Containers = containers
	if err := b.Client.Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
}

// Variables that refer to each other must not use up the memory of the process, which reads others' metrics too.
func TestLargeEnvironment(t *testing.T) {
	const tooLarge = "the target: the environment variable "
	of := func(name, container string) kedav1alpha1.TriggerAuthenticationSpec {
		return kedav1alpha1.TriggerAuthenticationSpec{
			Env: []kedav1alpha1.AuthEnvironment{{Parameter: "password", Name: name, ContainerName: container}}}
	}
	fromLarge := corev1.EnvFromSource{Prefix: "B_", ConfigMapRef: &corev1.ConfigMapEnvSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "large"}}}
	large := corev1.EnvVar{Name: "LARGE", ValueFrom: fromSecret("large", "a")}
	for name, c := range map[string]struct {
		containers []corev1.Container
		spec       kedav1alpha1.TriggerAuthenticationSpec
		metadata   map[string]string
		want       string
	}{
		"in the metadata": {[]corev1.Container{{Name: "main", Env: doubling(15)}}, of("A0", ""),
			map[string]string{"passwordFromEnv": "A0"}, tooLarge + "A9 of the container main is too large"},
		"in the TriggerAuthentication": {[]corev1.Container{{Name: "main", Env: doubling(15)}}, of("A0", ""), nil,
			tooLarge + "A9 of the container main is too large"},
		"in another container": {[]corev1.Container{{Name: "main"}, {Name: "side", Env: doubling(15)}}, of("A0", "side"),
			nil, tooLarge + "A9 of the container side is too large"},
		"nobody reads them": {[]corev1.Container{{Name: "main", Env: doubling(15)}},
			kedav1alpha1.TriggerAuthenticationSpec{}, nil, ""},
		"less than 1 MiB": {[]corev1.Container{{Name: "main", Env: doubling(8)}}, of("A8", ""),
			map[string]string{"passwordFromEnv": "A8"}, ""},
		"a ConfigMap twice": {[]corev1.Container{{Name: "main", Env: doubling(0),
			EnvFrom: []corev1.EnvFromSource{fromLarge, fromLarge}}}, of("A0", ""), nil, tooLarge + "B_a of"},
		"a Secret twice": {[]corev1.Container{{Name: "main", Env: []corev1.EnvVar{large, large}}}, of("LARGE", ""), nil,
			tooLarge + "LARGE of"},
		"references without an end": {[]corev1.Container{{Name: "main", Env: []corev1.EnvVar{
			{Name: "A", Value: strings.Repeat("$(", 500<<10)}}}}, of("A", ""), nil,
			tooLarge + "A of the container main: it has more than 1000 references"},
		"a Secret in a value": {[]corev1.Container{{Name: "main", Env: []corev1.EnvVar{
			large, {Name: "A", Value: "$(LARGE)"}}}}, of("LARGE", ""), nil, tooLarge + "A of"},
	} {
		b := builderOf(t, c.spec)
		setContainers(t, b, c.containers...)
		text := strings.Repeat("a", 600<<10)
		for _, object := range []client.Object{
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "large"},
				Data: map[string][]byte{"a": []byte(text)}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "large"},
				Data: map[string]string{"a": text}},
		} {
			if err := b.Client.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
		_, err := b.Build(t.Context(), jobOf(c.metadata, &job.AuthenticationRef{Name: "a"}))
		if (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// KEDA's resolver makes no longer values than are expected of it.
func FuzzExpandedLength(f *testing.F) {
	for _, value := range []string{"$(A)$(A)", "$$(A)", "$(B$(A)", "$$$(A", "$(", "$(A)) $", "$(C)$(A", "$x$(A)", "$(A$)"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		const long = 100
		if value == "" || len(value) > 1000 {
			return
		}
		spec := &corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{
			{Name: "A", Value: strings.Repeat("a", long)}, {Name: "V", Value: value},
		}}}}
		env, err := resolver.ResolveContainerEnv(t.Context(), nil, logr.Discard(), spec, "", "shop", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := expandedLength(value, map[string]int{"A": long})
		if err != nil || got < len(env["V"]) {
			t.Errorf("%q: got %d, %v, KEDA's resolver makes %d", value, got, err, len(env["V"]))
		}
	})
}

// Each value may have the size of a Secret.
func TestManyValues(t *testing.T) {
	for n, want := range map[int]string{maxValues: "", maxValues + 1: "authenticationRef: it names 101 values"} {
		spec := kedav1alpha1.TriggerAuthenticationSpec{}
		for i := range n {
			spec.SecretTargetRef = append(spec.SecretTargetRef, kedav1alpha1.AuthSecretTargetRef{
				Parameter: fmt.Sprint("password", i), Name: "redis", Key: "password",
			})
		}
		_, err := builderOf(t, spec).Build(t.Context(), jobOf(nil, &job.AuthenticationRef{Name: "a"}))
		if (err != nil) != (want != "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d: got %v, want %q", n, err, want)
		}
	}
}

// The client of Vault connects to sockets too, at which the processes read the API server.
func TestVaultAddress(t *testing.T) {
	for address, isRefused := range map[string]bool{
		"https://vault:8200": false, "HTTP://127.0.0.1:1": false,
		"unix:///tmp/api-server.sock": true, "UNIX:///a": true, " " + "http://a": true, "vault:8200": true, "": true,
	} {
		if err := checkVault(address); (err != nil) != isRefused {
			t.Errorf("%q: %v", address, err)
		}
	}
	_, err := builderOf(t, kedav1alpha1.TriggerAuthenticationSpec{HashiCorpVault: &kedav1alpha1.HashiCorpVault{
		Address: "unix:///a"}}).Build(t.Context(), jobOf(nil, &job.AuthenticationRef{Name: "a"}))
	if err == nil || !strings.HasPrefix(err.Error(), `authenticationRef: hashiCorpVault.address: "unix:///a": must be`) {
		t.Errorf("got %v", err)
	}
}
