//go:build helm

package chart

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
)

// TestServerTakesEachSet: helm lints each set, prints what the library renders, and the API server takes all of it,
// without a field that it does not know.
func TestServerTakesEachSet(t *testing.T) {
	h := newHelm(t)
	installPrometheusDefinitions(t, h.cluster)
	sets := valueSets(t)
	for _, set := range sets {
		makeNamespaces(t, h, mustRender(t, set.namespace, set.values))
	}
	for _, set := range sets {
		t.Run(set.name, func(t *testing.T) {
			file := "testdata/" + set.name + ".yaml"
			h := &helm{t: t, cluster: h.cluster, home: h.home}
			h.run("lint", "--strict", "--values="+file, chartDir)
			printed := h.run("template", "plimsoll", chartDir, "--namespace="+set.namespace, "--values="+file)
			objects := decode(t, set.name, printed)
			slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(key(a), key(b)) })
			rendered := mustRender(t, set.namespace, set.values)
			if diff := cmp.Diff(texts(t, rendered), texts(t, objects)); diff != "" {
				t.Errorf("(-library +helm):\n%s", diff)
			}
			_, err := h.cluster.KubectlInput(t.Context(), printed,
				"apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename=-")
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// makeNamespaces makes those that objects are in: a dry run makes none.
func makeNamespaces(t *testing.T, h *helm, objects []*unstructured.Unstructured) {
	t.Helper()
	namespaces := h.cluster.Client().CoreV1().Namespaces()
	for _, object := range objects {
		name := object.GetNamespace()
		if name == "" {
			continue
		}
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := namespaces.Create(t.Context(), made, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.deleteNamespace(name) })
	}
}

// TestProgramTakesTheArguments: each pod's arguments are flags that the program has.
func TestProgramTakesTheArguments(t *testing.T) {
	binary, err := parts.Program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range valueSets(t) {
		for _, object := range mustRender(t, set.namespace, set.values) {
			// Those of plimsoll-scalers are tested in its own module, which takes minutes to compile.
			isOurs := object.GetKind() == "Deployment" || object.GetKind() == "DaemonSet"
			if !isOurs || object.GetName() == "plimsoll-scalers" {
				continue
			}
			// --help is printed only once all flags have been read.
			args := append(argumentsOf(t, object), "--help")
			out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
			if err != nil {
				t.Errorf("%s, %s: %q: %v\n%s", set.name, key(object), args, err, out)
			}
		}
	}
}

// argumentsOf are those of the one container of a Deployment or DaemonSet.
func argumentsOf(t *testing.T, object *unstructured.Unstructured) []string {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("%s: %v, %v", key(object), containers, err)
	}
	args, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	if err != nil {
		t.Fatal(err)
	}
	return args
}

// TestOldKubernetes: what is too old is refused, and a vendor's suffix is not taken for a version before.
func TestOldKubernetes(t *testing.T) {
	h := newHelm(t)
	out, err := h.try("template", "plimsoll", chartDir, "--kube-version=1.29.9")
	if err == nil || !strings.Contains(out, "incompatible with Kubernetes v1.29.9") {
		t.Errorf("%v\n%s", err, out)
	}
	h.run("template", "plimsoll", chartDir, "--kube-version=1.30.4-gke.100")
}
