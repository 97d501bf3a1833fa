//go:build helm

package chart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
)

const (
	workloadAutoscalers = "workloadautoscalers.plimsoll.dev"
	// users is a namespace with objects of the kinds that the chart defines.
	users = "shop"
	// vertical are the values of vertical autoscaling.
	vertical = "vertical: {enabled: true}"
)

// objects are one WorkloadAutoscaler and one VerticalPodAutoscaler.
const objects = `
apiVersion: plimsoll.dev/v1alpha1
kind: WorkloadAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 10
  metrics: [{name: cpu, type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
---
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
`

// TestRelease goes through the life of a release: the version before is installed and upgraded, the upgrade is upgraded
// in turn, rolled back and removed, and a new release takes over what stays.
func TestRelease(t *testing.T) {
	r := newRelease(t, namespace)
	installPrometheusDefinitions(t, r.cluster)
	t.Cleanup(r.deleteDefinitions)
	older, newer := packages(t, r.helm)
	everything := read(t, "testdata/everything.yaml")

	const values = "{horizontalPodAutoscalers: act, vertical: {enabled: true}}"
	r.apply("install", older, values)
	r.checkVersion(false, false)
	made := r.makeUsersObjects()
	processes := followPods(t, r.cluster, "plimsoll-admission-controller")
	written := r.awaitRegistration(admissionregistrationv1.Ignore)

	r.apply("upgrade", newer, everything)
	r.checkVersion(true, true)
	r.checkUsersObjects(made)
	r.checkDoctor()
	authority := r.fillAuthority()

	r.apply("upgrade", newer, strings.Replace(everything, "verbosity: 1", "verbosity: 2", 1))
	if diff := cmp.Diff(authority, r.authority()); diff != "" {
		t.Errorf("the upgrade changed the agents' authority: %s", diff)
	}
	// Its flags in everything.yaml say Fail.
	registration := r.awaitRegistration(admissionregistrationv1.Fail)
	if string(registration.ClientConfig.CABundle) != string(written.ClientConfig.CABundle) {
		t.Error("the upgrade took away the admission server's authority")
	}

	// To go back without going back in definitions.
	r.apply("upgrade", older, values, "--set=crds.install=false")
	r.checkVersion(true, false)
	r.checkUsersObjects(made)

	r.run("rollback", "plimsoll", "1", "--namespace="+namespace, "--wait", "--timeout=2m")
	first, now := r.manifest("1"), r.manifest("5")
	if first != now {
		t.Errorf("the rollback is not what was first installed:\n%s", unified(t, first, now))
	}
	r.checkVersion(false, false)
	r.checkUsersObjects(made)
	if diff := cmp.Diff(written, r.awaitRegistration(admissionregistrationv1.Ignore)); diff != "" {
		t.Errorf("the rollback changed the admission server's registration: %s", diff)
	}
	if len(processes.pods()) != 2 {
		t.Errorf("admission servers ran in the pods %q", processes.pods())
	}
	processes.end()

	r.remove()
	r.checkRemoved(everything)
	r.checkUsersObjects(made)

	r.apply("install", newer, vertical)
	r.checkVersion(true, true)
	r.checkUsersObjects(made)
	r.remove()
	r.checkUsersObjects(made)
}

// TestChangesOfValues upgrades a release from each set of values to the next, and removes it at the end.
func TestChangesOfValues(t *testing.T) {
	r := newRelease(t, namespace)
	installPrometheusDefinitions(t, r.cluster)
	t.Cleanup(r.deleteDefinitions)
	r.apply("install", chartDir, "")
	for _, set := range valueSets(t) {
		if set.namespace == namespace {
			r.run("upgrade", "plimsoll", chartDir, "--namespace="+namespace, "--values=testdata/"+set.name+".yaml")
			for _, object := range mustRender(t, namespace, set.values) {
				if _, err := r.live(t.Context(), object); err != nil {
					t.Errorf("with %s: %v", set.name, err)
				}
			}
		}
	}
	r.remove()
	r.checkRemoved(read(t, "testdata/everything.yaml"))
}

// TestTakesOverKustomize: a release takes over what kubectl apply -k has installed, without a new Deployment, and is upgraded as
// others are: kubectl stays the manager of the fields, with which Helm's own apply in the server conflicts.
func TestTakesOverKustomize(t *testing.T) {
	r := newRelease(t, namespace)
	t.Cleanup(r.deleteDefinitions)
	if _, err := r.cluster.Kubectl(t.Context(), "apply", "-k", configDir); err != nil {
		t.Fatal(err)
	}
	before := r.deployment("plimsoll-controller").UID
	flags := []string{"install", "plimsoll", chartDir, "--namespace=" + namespace}
	if out, err := r.try(flags...); err == nil || !strings.Contains(out, "cannot be imported into the current release") {
		t.Errorf("without --take-ownership: %v\n%s", err, out)
	}
	r.apply("install", chartDir, "{controller: {replicas: 3}, vertical: {enabled: true}}", "--take-ownership",
		"--server-side=false")
	after := r.deployment("plimsoll-controller")
	if after.UID != before || *after.Spec.Replicas != 3 {
		t.Errorf("the Deployment is another one, or has %d replicas", *after.Spec.Replicas)
	}
	r.apply("upgrade", chartDir, "{horizontalPodAutoscalers: shadow, image: {tag: later}, vertical: {enabled: true}}")
	container := r.deployment("plimsoll-controller").Spec.Template.Spec.Containers[0]
	if !strings.HasSuffix(container.Image, ":later") ||
		!slices.Contains(container.Args, "--horizontal-pod-autoscalers=shadow") {
		t.Errorf("not upgraded: image %s, arguments %q", container.Image, container.Args)
	}
	r.remove()
	r.checkRemoved(vertical)
}

// TestExistingDefinitions: upstream's definitions of VerticalPodAutoscalers stay as they are where vertical autoscaling is
// installed, upgraded and removed.
func TestExistingDefinitions(t *testing.T) {
	r := newRelease(t, namespace)
	t.Cleanup(r.deleteDefinitions)
	installUpstreamVPA(t, r.cluster)
	definitions := func() map[string]string {
		found := map[string]string{}
		for _, name := range upstreamDefinitions {
			live, err := r.definition(name)
			if err != nil {
				t.Fatal(err)
			}
			found[name] = fmt.Sprint(live.GetUID(), live.GetGeneration(), live.GetLabels())
		}
		return found
	}
	before := definitions()
	r.apply("install", chartDir, vertical)
	r.apply("upgrade", chartDir, "{vertical: {enabled: true}, horizontalPodAutoscalers: shadow}")
	r.remove()
	if diff := cmp.Diff(before, definitions()); diff != "" {
		t.Errorf("the definitions have changed (-before +now):\n%s", diff)
	}
}

// TestReplacedDefinitions: an upgrade deletes no definitions that the release has installed and something else has
// replaced, and no objects with them. It stops, and restores them with --force-conflicts.
func TestReplacedDefinitions(t *testing.T) {
	r := newRelease(t, namespace)
	t.Cleanup(r.deleteDefinitions)
	r.apply("install", chartDir, vertical)
	made := r.makeUsersObjects()
	file := filepath.Join(moduleDir(t, upstreamVPA), "deploy", "vpa-v1-crd-gen.yaml")
	if _, err := r.cluster.Kubectl(t.Context(), "replace", "--filename="+file); err != nil {
		t.Fatal(err)
	}
	for values, want := range map[string]string{
		"vertical.enabled=true": "conflict", "vertical.enabled=false": "helm.sh/resource-policy=keep",
	} {
		out, err := r.try("upgrade", "plimsoll", chartDir, "--namespace="+namespace, "--set="+values)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", values, err, out)
		}
		r.checkUsersObjects(made)
	}
	r.apply("upgrade", chartDir, vertical, "--force-conflicts")
	r.checkUsersObjects(made)
	restored, err := r.definition(upstreamDefinitions[0])
	if err != nil || restored.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
		t.Errorf("%v, %v", restored.GetAnnotations(), err)
	}
}

// definition is a CustomResourceDefinition.
func (r *release) definition(name string) (*unstructured.Unstructured, error) {
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
	})
	definition.SetName(name)
	return r.live(r.t.Context(), definition)
}

// live is what the API server has of an object.
func (r *release) live(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	api, err := client.New(r.cluster.RESTConfig(), client.Options{})
	if err != nil {
		return nil, err
	}
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(object.GroupVersionKind())
	err = api.Get(ctx, client.ObjectKeyFromObject(object), found)
	return found, err
}

// checkVersion: the definition has the later field, and the role the later rule, or neither.
func (r *release) checkVersion(isDefinitionNewer, isRoleNewer bool) {
	r.t.Helper()
	found, err := r.definition(workloadAutoscalers)
	if err != nil {
		r.t.Fatal(err)
	}
	if hasField := specProperties(r.t, found)[laterField] != nil; hasField != isDefinitionNewer {
		r.t.Errorf("that %s has %s should be %v", workloadAutoscalers, laterField, isDefinitionNewer)
	}
	role, err := r.cluster.Client().RbacV1().ClusterRoles().Get(r.t.Context(), "plimsoll-explain", metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	hasRule := slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Equal(rule.APIGroups, []string{"batch"})
	})
	if hasRule != isRoleNewer {
		r.t.Errorf("that %s may get Jobs should be %v", role.Name, isRoleNewer)
	}
}

// makeUsersObjects returns the UIDs of the objects.
func (r *release) makeUsersObjects() map[string]types.UID {
	r.t.Helper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: users}}
	if _, err := r.cluster.Client().CoreV1().Namespaces().Create(r.t.Context(), made, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { r.deleteNamespace(users) })
	eventually(r.t, "objects of the kinds", func(ctx context.Context) error {
		_, err := r.cluster.KubectlInput(ctx, objects, "apply", "--filename=-")
		return err
	})
	return r.usersObjects()
}

func (r *release) usersObjects() map[string]types.UID {
	r.t.Helper()
	uids := map[string]types.UID{}
	for _, object := range decode(r.t, "objects", objects) {
		found, err := r.live(r.t.Context(), object)
		if err != nil {
			r.t.Fatal(err)
		}
		uids[key(object)] = found.GetUID()
	}
	return uids
}

func (r *release) checkUsersObjects(made map[string]types.UID) {
	r.t.Helper()
	if diff := cmp.Diff(made, r.usersObjects()); diff != "" {
		r.t.Errorf("the users' objects are others (-before +now):\n%s", diff)
	}
}

// awaitRegistration waits until an admission server has written how the API server reaches it.
func (r *release) awaitRegistration(
	policy admissionregistrationv1.FailurePolicyType,
) admissionregistrationv1.MutatingWebhook {
	r.t.Helper()
	var written admissionregistrationv1.MutatingWebhook
	configurations := r.cluster.Client().AdmissionregistrationV1().MutatingWebhookConfigurations()
	eventually(r.t, "the admission server's registration", func(ctx context.Context) error {
		found, err := configurations.Get(ctx, "vpa-webhook-config", metav1.GetOptions{})
		if err != nil {
			return err
		}
		written = found.Webhooks[0]
		if len(written.ClientConfig.CABundle) == 0 || len(written.Rules) != 2 || *written.FailurePolicy != policy {
			return fmt.Errorf("it is %v", written)
		}
		return nil
	})
	return written
}

// checkDoctor has plimsoll doctor examine rights and definitions. Nothing leads here, as no controller runs.
func (r *release) checkDoctor() {
	r.t.Helper()
	binary, err := parts.Program(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.CommandContext(r.t.Context(), binary, "doctor", "--output=json", "--fail-on=never")
	cmd.Env = r.cluster.Env()
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatal(err)
	}
	var report struct {
		Findings []struct{ Level, Check, Message string }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	examined := map[string]bool{}
	for _, finding := range report.Findings {
		if finding.Check == "rights" || finding.Check == "definitions" {
			examined[finding.Check] = true
			if finding.Level != "ok" {
				r.t.Errorf("plimsoll doctor: %+v", finding)
			}
		}
	}
	if len(examined) != 2 {
		r.t.Errorf("plimsoll doctor examined %v:\n%s", examined, out)
	}
}

// fillAuthority writes what the controller would, as another field manager.
func (r *release) fillAuthority() map[string][]byte {
	r.t.Helper()
	secrets := r.cluster.Client().CoreV1().Secrets(namespace)
	_, err := secrets.Patch(r.t.Context(), "plimsoll-node-agent-authority", types.MergePatchType,
		[]byte(`{"data": {"ca.key": "a2V5"}}`), metav1.PatchOptions{FieldManager: "plimsoll"})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.authority()
}

func (r *release) authority() map[string][]byte {
	r.t.Helper()
	secrets := r.cluster.Client().CoreV1().Secrets(namespace)
	secret, err := secrets.Get(r.t.Context(), "plimsoll-node-agent-authority", metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return secret.Data
}

// manifest is what a revision of the release installed.
func (r *release) manifest(revision string) string {
	r.t.Helper()
	return r.run("get", "manifest", "plimsoll", "--namespace="+namespace, "--revision="+revision)
}

// checkRemoved: of what values install, the definitions alone are there after the removal.
func (r *release) checkRemoved(values string) {
	r.t.Helper()
	for _, object := range mustRender(r.t, namespace, values) {
		eventually(r.t, "removal of "+key(object), func(ctx context.Context) error {
			_, err := r.live(ctx, object)
			switch {
			case object.GetKind() == "CustomResourceDefinition":
				return err
			case apierrors.IsNotFound(err):
				return nil
			}
			return fmt.Errorf("it is there still: %w", errors.Join(err))
		})
	}
}

// deleteDefinitions leaves the cluster as it was, for the next test.
func (r *release) deleteDefinitions() {
	r.t.Helper()
	_, err := r.cluster.Kubectl(context.WithoutCancel(r.t.Context()), "delete", "customresourcedefinitions",
		"--selector=app.kubernetes.io/part-of=plimsoll", "--ignore-not-found", "--wait")
	if err != nil {
		r.t.Error(err)
	}
}
