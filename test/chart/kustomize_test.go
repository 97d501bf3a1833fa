package chart

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/manifests"
)

// kustomized are the objects of `kubectl apply -k` of folders of config/, by their keys.
func kustomized(t *testing.T, folders ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, folder := range folders {
		objects, err := manifests.Kustomization(filepath.Join(configDir, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			found[key(object)] = object
		}
	}
	// helm install --create-namespace makes it, before there is a release; docs/install.md has its labels.
	delete(found, "Namespace "+namespace)
	return found
}

// leave removes what the chart leaves to the admission server, which writes it as config/ has it
// (TestShippedRegistrationIsTheServers in cmd/plimsoll).
func leave(t *testing.T, objects map[string]*unstructured.Unstructured) {
	t.Helper()
	configuration, found := objects["MutatingWebhookConfiguration vpa-webhook-config"]
	if !found {
		return
	}
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil || len(webhooks) != 1 {
		t.Fatalf("%v, %v", webhooks, err)
	}
	webhook := webhooks[0].(map[string]any)
	for _, field := range []string{"rules", "failurePolicy", "timeoutSeconds", "namespaceSelector"} {
		if webhook[field] == nil {
			t.Errorf("config/ has no %s", field)
		}
		delete(webhook, field)
	}
	if err := unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks"); err != nil {
		t.Fatal(err)
	}
}

// withArguments adds arguments to the controller's.
func withArguments(t *testing.T, objects map[string]*unstructured.Unstructured, arguments ...any) {
	t.Helper()
	path := []string{"spec", "template", "spec", "containers"}
	deployment := objects["Deployment "+namespace+"/plimsoll-controller"]
	containers, _, err := unstructured.NestedSlice(deployment.Object, path...)
	if err != nil {
		t.Fatal(err)
	}
	container := containers[0].(map[string]any)
	container["args"] = append(container["args"].([]any), arguments...)
	if err := unstructured.SetNestedSlice(deployment.Object, containers, path...); err != nil {
		t.Fatal(err)
	}
}

// charted are the objects of the chart by their keys, without what Helm adds.
func charted(t *testing.T, values string) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, object := range mustRender(t, namespace, values) {
		labels, annotations := object.GetLabels(), object.GetAnnotations()
		for _, label := range []string{
			"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "app.kubernetes.io/version",
		} {
			if labels[label] == "" {
				t.Errorf("%s has no label %s", key(object), label)
			}
			delete(labels, label)
		}
		if object.GetKind() == "CustomResourceDefinition" {
			if annotations["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%s would go with the release", key(object))
			}
			delete(annotations, "helm.sh/resource-policy")
		}
		// It is for the next upgrade.
		if delete(annotations, "plimsoll.dev/vpa-definitions"); len(annotations) == 0 {
			annotations = nil
		}
		object.SetLabels(labels)
		object.SetAnnotations(annotations)
		if found[key(object)] != nil {
			t.Errorf("%s is there twice", key(object))
		}
		found[key(object)] = object
	}
	return found
}

// TestSameAsKustomize compares what the chart installs with what config/ does, object by object.
func TestSameAsKustomize(t *testing.T) {
	for name, c := range map[string]struct {
		values    string
		folders   []string
		arguments []any
	}{
		"default":  {"", []string{"horizontal"}, nil},
		"vertical": {"vertical: {enabled: true}", []string{""}, nil},
		"node agent": {"{vertical: {enabled: true}, nodeAgent: {enabled: true}}", []string{"", "node-agent"}, []any{
			"--node-agent-namespace=plimsoll-node-agent",                            // as docs/metrics-sources.md says
			"--node-agent-authority=$(POD_NAMESPACE)/plimsoll-node-agent-authority", // its default
		}},
		"sources": {"sources: {services: true, secrets: true}", []string{"horizontal", "sources", "sources/secrets"}, []any{
			"--metric-secrets", // as config/sources/secrets/kustomization.yaml says
		}},
		"scalers": {"scalers: {enabled: true}", []string{"horizontal", "scalers"}, []any{
			"--scalers-address=plimsoll-scalers.plimsoll-system.svc:9090", // as config/scalers/kustomization.yaml says
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want := kustomized(t, c.folders...)
			leave(t, want)
			withArguments(t, want, c.arguments...)
			if diff := cmp.Diff(contents(want), contents(charted(t, c.values))); diff != "" {
				t.Errorf("(-kustomize +chart):\n%s", diff)
			}
		})
	}
}

func contents(objects map[string]*unstructured.Unstructured) map[string]map[string]any {
	found := map[string]map[string]any{}
	for key, object := range objects {
		found[key] = object.Object
	}
	return found
}

// TestRightsAreThoseOfTheIntegrationTests: the tests on a real API server run as the accounts of config/, with its
// rights (InstallPlimsoll in internal/dev/devcluster). The chart grants these and no others, in each of its forms.
func TestRightsAreThoseOfTheIntegrationTests(t *testing.T) {
	for values, folders := range map[string][]string{
		"":                           {"horizontal"},
		"vertical: {enabled: true}":  {""},
		"nodeAgent: {enabled: true}": {"horizontal", "node-agent"},
		"scalers: {enabled: true}":   {"horizontal", "scalers"},
	} {
		granted := func(objects map[string]*unstructured.Unstructured) map[string]any {
			found := map[string]any{}
			for key, object := range objects {
				if isRight[object.GetKind()] {
					found[key] = []any{object.Object["rules"], object.Object["roleRef"], object.Object["subjects"]}
				}
			}
			return found
		}
		want, got := granted(kustomized(t, folders...)), granted(charted(t, values))
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 10 {
			t.Errorf("values %q: %d roles and bindings (-config +chart):\n%s", values, len(want), diff)
		}
	}
}

// TestEveryPodIsRestricted: no value takes from the security of containers, and all images are the one.
func TestEveryPodIsRestricted(t *testing.T) {
	var names []string
	for _, object := range mustRender(t, namespace, read(t, "testdata/everything.yaml")) {
		if object.GetKind() != "Deployment" && object.GetKind() != "DaemonSet" {
			continue
		}
		names = append(names, object.GetName())
		containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		if err != nil || len(containers) != 1 {
			t.Fatalf("%s: %v, %v", key(object), containers, err)
		}
		want := map[string]any{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "runAsNonRoot": true,
			"capabilities":   map[string]any{"drop": []any{"ALL"}},
			"seccompProfile": map[string]any{"type": "RuntimeDefault"},
		}
		if diff := cmp.Diff(want, containers[0].(map[string]any)["securityContext"]); diff != "" {
			t.Errorf("%s: %s", key(object), diff)
		}
	}
	slices.Sort(names)
	want := []string{"plimsoll-admission-controller", "plimsoll-controller", "plimsoll-node-agent", "plimsoll-scalers"}
	if !slices.Equal(names, want) {
		t.Errorf("pods of %q", names)
	}
}
