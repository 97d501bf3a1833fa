package faults

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

const (
	account   = "system:serviceaccount:plimsoll-system:plimsoll-controller"
	installed = "plimsoll-system"
)

// The permissions of the controller's service account are those that it needs and no others, by the API server's RBAC.
func TestRightsOfTheServiceAccount(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	impersonated := s.Cluster.RESTConfig()
	impersonated.Impersonate = rest.ImpersonationConfig{
		UserName: account, Groups: []string{"system:serviceaccounts",
			"system:serviceaccounts:" + installed, "system:authenticated"},
	}
	client, err := kubernetes.NewForConfig(impersonated)
	if err != nil {
		t.Fatal(err)
	}
	// Each is: verb, group/resource/subresource, namespace.
	for want, actions := range map[bool][]string{
		true: {
			"watch autoscaling/horizontalpodautoscalers ", "update autoscaling/horizontalpodautoscalers/status " + s.Name,
			"watch plimsoll.dev/workloadautoscalers ", "update plimsoll.dev/workloadautoscalers/status " + s.Name,
			"get apps/deployments/scale " + s.Name, "update apps/deployments/scale " + s.Name,
			"update trouble.example/gadgets/scale " + s.Name, "watch /pods ", "list metrics.k8s.io/pods " + s.Name,
			"get custom.metrics.k8s.io/services/requests_per_second " + s.Name, "list external.metrics.k8s.io/queue_length " +
				s.Name,
			"list /nodes ", "watch /nodes ",
			"patch autoscaling.k8s.io/verticalpodautoscalers/status " + s.Name, "create /pods/eviction " + s.Name,
			"patch /pods/resize " + s.Name, "create /events " + s.Name, "create coordination.k8s.io/leases " + installed,
		},
		false: {
			"update autoscaling/horizontalpodautoscalers " + s.Name, "patch autoscaling/horizontalpodautoscalers " + s.Name,
			"create autoscaling/horizontalpodautoscalers " + s.Name, "delete autoscaling/horizontalpodautoscalers " + s.Name,
			"update plimsoll.dev/workloadautoscalers " + s.Name, "patch plimsoll.dev/workloadautoscalers " + s.Name,
			"patch plimsoll.dev/workloadautoscalers/status " + s.Name,
			"create plimsoll.dev/workloadautoscalers " + s.Name, "delete plimsoll.dev/workloadautoscalers " + s.Name,
			"get /secrets " + installed, "list /secrets ", "list /configmaps ", "get /nodes ", "list /namespaces ",
			"update apps/deployments " + s.Name, "patch apps/deployments " + s.Name, "delete apps/deployments " + s.Name,
			"create /pods " + s.Name, "delete /pods " + s.Name, "update /pods " + s.Name,
			"create /pods/exec " + s.Name, "create /serviceaccounts/token " + installed, "impersonate /users ",
			"create rbac.authorization.k8s.io/clusterrolebindings ", "escalate rbac.authorization.k8s.io/clusterroles ",
			"create coordination.k8s.io/leases " + s.Name, "update coordination.k8s.io/leases kube-system", "delete /events " +
				s.Name,
			"update /nodes/status ", "get /nodes/proxy ", "get /nodes/stats ", "get /nodes/log ", "create /nodes/metrics ",
			"get /nodes/metrics ",
		},
	} {
		for _, action := range actions {
			review := reviewOf(action)
			got, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status.Allowed != want {
				t.Errorf("%s: allowed %v, want %v (%s)", action, got.Status.Allowed, want, got.Status.Reason)
			}
		}
	}
}

// reviewOf reads "verb group/resource/subresource namespace".
func reviewOf(action string) *authorizationv1.SelfSubjectAccessReview {
	words := strings.Split(action, " ")
	path := append(strings.Split(words[1], "/"), "")
	return &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: words[0], Group: path[0], Resource: path[1], Subresource: path[2], Namespace: words[2],
		},
	}}
}

// config/ is taken as it stands by an API server that enforces the Pod Security that config/'s namespace names, and so
// are the pods of its Deployment.
func TestInstallationIsAdmitted(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t) // Plimsoll's namespace, as config/ has it, is there
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(root, "config")
	out, err := s.Cluster.Kubectl(t.Context(), "apply", "--server-side", "--dry-run=server", "-k", config)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := s.Cluster.Kubectl(t.Context(), "apply", "--server-side", "--dry-run=server", "-k",
		filepath.Join(config, "horizontal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []string{"vpa-webhook", "verticalpodautoscaler", "plimsoll-updater",
		"plimsoll-admission-controller"} {
		if strings.Contains(alone, object) || !strings.Contains(out, object) {
			t.Errorf("%s is in config/horizontal, or not in config/:\n%s\n%s", object, alone, out)
		}
	}
	for _, object := range []string{"deployment.apps/plimsoll-controller", "service/plimsoll-controller-metrics",
		"clusterrole.rbac.authorization.k8s.io/plimsoll-controller", "workloadautoscalers.plimsoll.dev"} {
		if !strings.Contains(out, object) || !strings.Contains(alone, object) {
			t.Errorf("%s is not in both:\n%s\n%s", object, out, alone)
		}
	}
	namespace, err := s.Client.CoreV1().Namespaces().Get(t.Context(), installed, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if level := namespace.Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
		t.Errorf("the namespace enforces %q", level)
	}
	// A dry run makes no priority class, without which no pod that names it is admitted.
	s.Kubectl("apply", "--server-side", "-f", filepath.Join(config, "base", "priorityclass.yaml"))
	// Pod Security judges pods, and only warns about what makes them.
	pod := podOf(t, s, config)
	if _, err := s.Cluster.KubectlInput(t.Context(), pod, "create", "--dry-run=server", "-f", "-"); err != nil {
		t.Errorf("the Deployment's pod is not admitted: %v\n%s", err, pod)
	}
	careless := strings.Replace(pod, `"allowPrivilegeEscalation":false`, `"allowPrivilegeEscalation":true`, 1)
	_, err = s.Cluster.KubectlInput(t.Context(), careless, "create", "--dry-run=server", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
		t.Errorf("a pod that may gain privileges: %v", err)
	}
}

// podOf is a pod after the template of the Deployment in config/.
func podOf(t *testing.T, s *harness.Namespace, config string) string {
	t.Helper()
	rendered, err := s.Cluster.Kubectl(t.Context(), "kustomize", config)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		var deployment appsv1.Deployment
		// Other kinds have other fields.
		if err := yaml.Unmarshal([]byte(document), &deployment); err != nil || deployment.Kind != "Deployment" {
			continue
		}
		pod, err := json.Marshal(corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: "as-installed", Namespace: installed},
			Spec:       deployment.Spec.Template.Spec,
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(pod)
	}
	t.Fatal("config/ has no Deployment")
	return ""
}
