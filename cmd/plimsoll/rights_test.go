package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/admission"
	"github.com/plimsoll-dev/plimsoll/internal/process/kubelets"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/upkeep"
)

// horizontalDir is the installation without the vertical side.
var horizontalDir = filepath.Join(configDir, "horizontal")

// roleKey is a role; those of the cluster have no namespace.
type roleKey struct{ namespace, name string }

// rolesOf are the rules of each role among the objects.
func rolesOf(objects []runtime.Object) map[roleKey][]rbacv1.PolicyRule {
	found := map[roleKey][]rbacv1.PolicyRule{}
	for _, object := range objects {
		switch role := object.(type) {
		case *rbacv1.ClusterRole:
			found[roleKey{"", role.Name}] = role.Rules
		case *rbacv1.Role:
			found[roleKey{role.Namespace, role.Name}] = role.Rules
		}
	}
	return found
}

// granted is what the objects grant each service account, in the form of grants; what is granted in a namespace
// alone begins with its name and a colon.
func granted(t *testing.T, objects []runtime.Object) map[string][]string {
	t.Helper()
	all, found := rolesOf(objects), map[string][]string{}
	add := func(prefix string, role roleKey, subjects []rbacv1.Subject) {
		if all[role] == nil {
			t.Errorf("a binding of a role that is not there: %v", role)
		}
		for _, subject := range subjects {
			if subject.Kind != rbacv1.ServiceAccountKind {
				t.Errorf("%v is granted %v", subject, role)
			}
			for _, grant := range grants(all[role]) {
				found[subject.Name] = append(found[subject.Name], prefix+grant)
			}
		}
	}
	for _, object := range objects {
		switch binding := object.(type) {
		case *rbacv1.ClusterRoleBinding:
			add("", roleKey{"", binding.RoleRef.Name}, binding.Subjects)
		case *rbacv1.RoleBinding:
			key := roleKey{binding.Namespace, binding.RoleRef.Name}
			if binding.RoleRef.Kind == "ClusterRole" {
				key.namespace = ""
			}
			add(binding.Namespace+":", key, binding.Subjects)
		}
	}
	return found
}

// TestIdentityForKubelets: whoever has a node has the token that its kubelet is sent. Its account may get
// nodes/metrics and nothing else, no pod runs as it, and the controller may have tokens of no other.
func TestIdentityForKubelets(t *testing.T) {
	for _, dir := range []string{configDir, horizontalDir, filepath.Join(configDir, "separate")} {
		objects := rendered(t, dir)
		_, account, found := strings.Cut(kubelets.DefaultAccount, "/")
		if !found {
			t.Fatal(kubelets.DefaultAccount)
		}
		rights := granted(t, objects)
		if got := rights[account]; !slices.Equal(got, []string{" nodes/metrics get"}) {
			t.Errorf("%s: %s may %q", dir, account, got)
		}
		for name, rights := range rights {
			if name != account &&
				slices.ContainsFunc(rights, func(r string) bool { return strings.Contains(r, " nodes/metrics ") }) {
				t.Errorf("%s: %s may read kubelets, too", dir, name)
			}
		}
		for key, all := range rolesOf(objects) {
			for _, rule := range all {
				if slices.Contains(rule.Resources, "serviceaccounts/token") &&
					(key.namespace == "" || !slices.Equal(rule.ResourceNames, []string{account})) {
					t.Errorf("%s: %v may have tokens of %q", dir, key, rule.ResourceNames)
				}
			}
		}
		if users := runAs(objects)[account]; len(users) > 0 || len(runAs(objects)) == 0 {
			t.Errorf("%s: %q run as %s", dir, users, account)
		}
	}
}

// runAs are the Deployments of each account.
func runAs(objects []runtime.Object) map[string][]string {
	users := map[string][]string{}
	for _, object := range objects {
		if deployment, ok := object.(*appsv1.Deployment); ok {
			account := deployment.Spec.Template.Spec.ServiceAccountName
			users[account] = append(users[account], deployment.Name)
		}
	}
	return users
}

// TestNoPermissionToRegisterWebhooks: to create a webhook configuration is to read and to change every request of the
// cluster. The one that there is ships.
func TestNoPermissionToRegisterWebhooks(t *testing.T) {
	for key, all := range rolesOf(installed(t)) {
		for _, rule := range all {
			registers := func(resource string) bool {
				return strings.Contains(resource, "webhookconfigurations") ||
					resource == "*" && slices.Contains(rule.APIGroups, "*")
			}
			if !slices.ContainsFunc(rule.Resources, registers) {
				continue
			}
			slices.Sort(rule.Verbs)
			if !slices.Equal(rule.Verbs, []string{"get", "patch"}) ||
				!slices.Equal(rule.ResourceNames, []string{"vpa-webhook-config"}) {
				t.Errorf("%v may %v %v %v", key, rule.Verbs, rule.Resources, rule.ResourceNames)
			}
		}
	}
	configured[*admissionregistrationv1.MutatingWebhookConfiguration](t, "vpa-webhook-config")
}

// TestShippedRegistrationIsTheServers: what ships is what the server of config/ writes, but for the authority and the
// path, so that nothing flips when config/ is applied again.
func TestShippedRegistrationIsTheServers(t *testing.T) {
	deployment := configured[*appsv1.Deployment](t, "plimsoll-admission-controller")
	flags := &admission.Flags{}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Add(fs)
	if err := fs.Parse(deployment.Spec.Template.Spec.Containers[0].Args[1:]); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NAMESPACE", deployment.Namespace)
	if err := flags.Complete(); err != nil {
		t.Fatal(err)
	}
	want := configured[*admissionregistrationv1.MutatingWebhookConfiguration](t, upkeep.ConfigurationName).Webhooks
	shipped := configured[*admissionregistrationv1.MutatingWebhookConfiguration](t, upkeep.ConfigurationName)
	shipped.Webhooks = nil
	client := fake.NewClientset(shipped)
	registration := flags.Config().NewRegistration(client)
	if err := registration.Ensure(t.Context(), []byte("ca"), "/secret"); err != nil {
		t.Fatal(err)
	}
	got, err := registration.Client.Get(t.Context(), upkeep.ConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := &got.Webhooks[0].ClientConfig
	if string(c.CABundle) != "ca" || *c.Service.Path != "/secret" {
		t.Errorf("%+v", c)
	}
	c.CABundle, c.Service.Path = nil, nil
	if diff := cmp.Diff(want, got.Webhooks); diff != "" {
		t.Errorf("(-ships +writes):\n%s", diff)
	}
}

// TestHorizontalAlone: without the vertical side there are none of its rights, objects and processes.
func TestHorizontalAlone(t *testing.T) {
	objects := rendered(t, horizontalDir)
	rights := granted(t, objects)
	for name, rights := range rights {
		if slices.ContainsFunc(rights, isVertical) {
			t.Errorf("%s may %q", name, rights)
		}
	}
	if accounts, want := slices.Sorted(maps.Keys(rights)),
		[]string{"plimsoll-controller", "plimsoll-kubelet-reader"}; !slices.Equal(accounts, want) {
		t.Errorf("rights of %q, want of %q", accounts, want)
	}
	for _, object := range objects {
		switch object := object.(type) {
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			t.Errorf("webhooks: %s", object.Name)
		case *appsv1.Deployment:
			if object.Name != "plimsoll-controller" ||
				!slices.Contains(object.Spec.Template.Spec.Containers[0].Args, "--components=horizontal") {
				t.Errorf("%s runs %q", object.Name, object.Spec.Template.Spec.Containers[0].Args)
			}
		}
	}
	// Everything has all of it.
	everything := map[string]bool{}
	for _, object := range installed(t) {
		everything[identity(t, object)] = true
	}
	for _, object := range objects {
		if id := identity(t, object); !everything[id] {
			t.Errorf("config/ has no %s", id)
		}
	}
}

// TestMetricSourcesAreGrantedApart: to find the servers of metrics takes a right, and to read credentials another. No
// installation has one of them by itself.
func TestMetricSourcesAreGrantedApart(t *testing.T) {
	for dir, want := range map[string][]string{
		filepath.Join(configDir, "sources"):            {" services get list watch"},
		filepath.Join(configDir, "sources", "secrets"): {" secrets get"},
	} {
		rights := granted(t, rendered(t, dir))
		if got := rights["plimsoll-controller"]; len(rights) != 1 || !slices.Equal(got, want) {
			t.Errorf("%s grants %q", dir, rights)
		}
	}
	for _, dir := range []string{configDir, horizontalDir} {
		for _, right := range granted(t, rendered(t, dir))["plimsoll-controller"] {
			if strings.Contains(right, " services ") || strings.Contains(right, " secrets ") {
				t.Errorf("%s grants %q", dir, right)
			}
		}
	}
}

// isVertical reports whether only the vertical side needs the right.
func isVertical(right string) bool {
	_, what, _ := strings.Cut(right, " ")
	resource, verbs, _ := strings.Cut(what, " ")
	writesPods := strings.HasPrefix(resource, "pods") && verbs != "list watch" && verbs != "list"
	return writesPods || strings.Contains(resource, "verticalpodautoscaler") || strings.Contains(resource, "webhook")
}

func identity(t *testing.T, object runtime.Object) string {
	t.Helper()
	accessor, ok := object.(metav1.Object)
	if !ok {
		t.Fatalf("%T", object)
	}
	kind := object.GetObjectKind().GroupVersionKind()
	return kind.Kind + " " + accessor.GetNamespace() + "/" + accessor.GetName()
}

// TestDeploymentsOutliveTheirCluster: nothing preempts them for the pods that they add, drains leave one of two, zones
// are shared, and only who must may connect.
func TestDeploymentsOutliveTheirCluster(t *testing.T) {
	class := configured[*schedulingv1.PriorityClass](t, "plimsoll-critical")
	if class.GlobalDefault || class.Value <= 0 {
		t.Errorf("%+v", class)
	}
	for name, open := range map[string][]string{
		"plimsoll-controller":           {"metrics: own namespace, metrics=enabled"},
		"plimsoll-admission-controller": {"webhook: anybody", "metrics: own namespace, metrics=enabled"},
	} {
		deployment := configured[*appsv1.Deployment](t, name)
		pod := deployment.Spec.Template
		if pod.Spec.PriorityClassName != class.Name {
			t.Errorf("%s: priority class %q", name, pod.Spec.PriorityClassName)
		}
		budget := configured[*policyv1.PodDisruptionBudget](t, name)
		if budget.Spec.MinAvailable.IntValue() != 1 || *deployment.Spec.Replicas != 2 ||
			*budget.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
			t.Errorf("%s: %+v", name, budget.Spec)
		}
		spread := pod.Spec.TopologySpreadConstraints
		if len(spread) != 1 || spread[0].TopologyKey != corev1.LabelTopologyZone ||
			spread[0].WhenUnsatisfiable != corev1.ScheduleAnyway {
			t.Errorf("%s: %+v", name, spread)
		}
		policy := configured[*networkingv1.NetworkPolicy](t, name)
		for _, selector := range []*metav1.LabelSelector{budget.Spec.Selector, spread[0].LabelSelector,
			&policy.Spec.PodSelector, deployment.Spec.Selector} {
			if diff := cmp.Diff(pod.Labels, selector.MatchLabels); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if diff := cmp.Diff(open, openTo(policy)); diff != "" {
			t.Errorf("%s is open to others (-want +got):\n%s", name, diff)
		}
	}
}

// openTo says who may connect to which port.
func openTo(policy *networkingv1.NetworkPolicy) []string {
	var open []string
	for _, rule := range policy.Spec.Ingress {
		var from []string
		for _, peer := range rule.From {
			switch {
			case peer.NamespaceSelector != nil:
				from = append(from, metav1.FormatLabelSelector(peer.NamespaceSelector))
			case peer.PodSelector != nil && len(peer.PodSelector.MatchLabels) == 0:
				from = append(from, "own namespace")
			}
		}
		if len(rule.From) == 0 {
			from = []string{"anybody"}
		}
		for _, port := range rule.Ports {
			open = append(open, port.Port.String()+": "+strings.Join(from, ", "))
		}
	}
	return open
}
